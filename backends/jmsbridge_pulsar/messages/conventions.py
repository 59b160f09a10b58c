"""Names and values of message properties, as Starlight for JMS has them. Pure."""

from functools import lru_cache
from typing import Final

import msgspec

from jmsbridge.spi import BodyKind
from jmsbridge.transport.literal_names import is_unicode

__all__ = [
    "CONNECTION",
    "CORRELATION",
    "DELIVERIES",
    "DELIVERY_TIME",
    "EXPIRATION",
    "FAULT",
    "GROUP",
    "ID",
    "JMS_TYPE",
    "KIND",
    "KINDS",
    "KIND_NAMES",
    "LONGEST_CACHED",
    "MODE",
    "PRIORITY",
    "REPLY_KIND",
    "REPLY_TO",
    "SEQUENCE",
    "SIDE",
    "TYPE_SUFFIX",
    "Side",
    "type_name",
    "type_name_once",
]

KIND: Final = "JMSPulsarMessageType"
ID: Final = "JMSMessageId"
"""The id that the sender chose; without it, the id is Pulsar's."""
REPLY_TO: Final = "JMSReplyTo"
REPLY_KIND: Final = "JMSReplyToType"
JMS_TYPE: Final = "JMSType"
CORRELATION: Final = "JMSCorrelationID"
MODE: Final = "JMSDeliveryMode"
PRIORITY: Final = "JMSPriority"
DELIVERY_TIME: Final = "JMSDeliveryTime"
EXPIRATION: Final = "JMSExpiration"
CONNECTION: Final = "JMSConnectionID"
"""The connection that sent the message, for no-local."""
DELIVERIES: Final = "JMSXDeliveryCount"
"""On the wire only if a Java program received the message and sent it on: see ``decoding``."""
GROUP: Final = "JMSXGroupID"
SEQUENCE: Final = "JMSXGroupSeq"
SIDE: Final = "JMS_jmsbridge"
"""JSON, only in messages with something that Starlight has no place for: see ``Side``."""
FAULT: Final = "JMS_jmsbridge_fault"
"""The property with the reason why a message could not be decoded."""

KINDS: Final = {
    BodyKind.NONE: "header",
    BodyKind.TEXT: "text",
    BodyKind.BYTES: "bytes",
    BodyKind.MAP: "map",
    BodyKind.STREAM: "stream",
    BodyKind.OBJECT: "object",
}
"""The values of ``KIND``. There must not be others: Java would show a message without body."""
KIND_NAMES: Final = {name: kind for kind, name in KINDS.items()}
TYPE_SUFFIX: Final = "_jsmtype"
"""What follows a property's name in the name of the property that has its type; so spelt in all Java programs."""

_OF_PROVIDER: Final = frozenset(
    {
        *(KIND, ID, REPLY_TO, REPLY_KIND, JMS_TYPE, CORRELATION, MODE, PRIORITY, DELIVERY_TIME, EXPIRATION),
        *(CONNECTION, DELIVERIES, SIDE, "JMSTX"),
    }
)
LONGEST_CACHED: Final = 64
"""Characters of the longest name for which ``type_name_once`` may be called."""


class Side(msgspec.Struct, omit_defaults=True):
    """What is in the property ``SIDE``."""

    no_id: bool = False
    """The sender disabled message ids."""
    id: str | None = None
    type: str | None = None
    temporary: bool | None = None
    """Whether the reply-to destination is temporary, if its name does not say so."""
    properties: dict[str, str] = {}
    """Properties that are null, that have a name of the provider's, or are not Unicode."""
    types: str = ""
    """Their types: see ``jmsbridge.transport.typed_values``."""


def type_name(name: str) -> str:
    """The name of the property with the type of the property ``name``; empty if that is not one of the application."""
    return "" if name in _OF_PROVIDER or name.endswith(TYPE_SUFFIX) or not is_unicode(name) else name + TYPE_SUFFIX


type_name_once: Final = lru_cache(1024)(type_name)
