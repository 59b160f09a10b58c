"""Headers that encoding and decoding share. Pure."""

from functools import lru_cache
from typing import Final

__all__ = ["FAULT", "SIDE", "TYPES", "is_plain_name"]

SIDE: Final = "jb_message"
"""JSON with what STOMP has no header for: see ``encoding.Side``."""
TYPES: Final = "jb_types"
"""JSON with the types of properties other than text."""
FAULT: Final = "JMS_jmsbridge_fault"
"""The property with the reason why a message could not be decoded."""

_RESERVED: Final = frozenset(
    {
        *("ack", "amq-msg-type", "breadcrumbId", "browser", "content-length", "content-type", "correlation-id"),
        *("destination", "destination-type", "durable-subscription-name", "expires", "heart-beat", "host", "id"),
        *("ingress-timestamp", "login", "message", "message-id", "original-destination", "originalExpiration"),
        *("passcode", "persistent", "priority", "receipt", "receipt-id", "redelivered", "reply-to", "scheduledJobId"),
        *("selector", "server", "session", "subscription", "subscription-type", "timestamp", "transaction"),
        *("transformation", "transformation-error", "type", "version"),
    }
)
"""Headers of STOMP and of brokers: a property of such a name is carried in ``SIDE``."""

_PREFIXES: Final = ("JMS", "_AMQ", "__AMQ", "__HDR_", "AMQ_", "jb_", "activemq.", "dlq")


_SHORT: Final = 64  # characters of a name that is remembered


def is_plain_name(name: str) -> bool:
    """Whether a header of this name is a property of the message, for every program."""
    return _decide_once(name) if len(name) <= _SHORT else _decide(name)


def _decide(name: str) -> bool:
    return name not in _RESERVED and not name.startswith(_PREFIXES) and name.replace("$", "_").isidentifier()


_decide_once: Final = lru_cache(1024)(_decide)
