"""The headers that a selector may use, and their values in an envelope (section 3.8.1.1)."""

from collections.abc import Callable
from functools import partial
from typing import Final

from jmsbridge.spi.envelope import Envelope
from jmsbridge.values import Long

__all__ = ["DELIVERY_COUNT", "HEADERS", "Lookup", "is_forbidden_header", "lookup_in", "needs_message"]

Lookup = Callable[[str], object]
"""Returns the canonical value for a name, or None."""

DELIVERY_COUNT: Final = "JMSXDeliveryCount"


def _correlation_id(envelope: Envelope) -> object:
    # A correlation id of bytes cannot be compared with any literal.
    value = envelope.correlation_id
    return value if isinstance(value, str) else None


HEADERS: Final[dict[str, Callable[[Envelope], object]]] = {
    "JMSDeliveryMode": lambda envelope: "PERSISTENT" if envelope.persistent else "NON_PERSISTENT",
    "JMSPriority": lambda envelope: envelope.priority,
    "JMSMessageID": lambda envelope: envelope.message_id,
    "JMSTimestamp": lambda envelope: Long(envelope.timestamp),
    "JMSCorrelationID": _correlation_id,
    "JMSType": lambda envelope: envelope.jms_type,
}
"""The six headers allowed in selectors. JMSDeliveryMode is compared as text, never as 1 or 2."""


def is_forbidden_header(name: str) -> bool:
    """True for header names other than the six; ``JMSX…`` and ``JMS_…`` are properties."""
    return name.startswith("JMS") and not name.startswith(("JMSX", "JMS_")) and name not in HEADERS


def needs_message(names: frozenset[str]) -> bool:
    """True if one of the names is not a property: a header or the delivery count."""
    return DELIVERY_COUNT in names or not names.isdisjoint(HEADERS)


def lookup_in(envelope: Envelope, delivery_count: int) -> Lookup:
    """A lookup of headers, the delivery count and properties."""
    return partial(_find, envelope, delivery_count)


def _find(envelope: Envelope, delivery_count: int, name: str) -> object:
    header = HEADERS.get(name)
    if header is not None:
        return header(envelope)
    if name == DELIVERY_COUNT:
        return delivery_count
    return envelope.properties.get(name)
