"""Names and values that encoding and decoding share: annotations, and properties with a special meaning. Pure."""

from typing import Final

from jmsbridge.spi import BodyKind

__all__ = [
    "CONTENT_TYPES",
    "DELIVERY_COUNT",
    "DELIVERY_TIME",
    "DESTINATION",
    "DUPLICATE",
    "EXPIRATION",
    "GROUP",
    "KIND",
    "KINDS",
    "MOVED",
    "OBJECT_TYPE",
    "REPLY_GROUP",
    "REPLY_TO",
    "SEQUENCE",
    "SETTINGS",
    "TTL",
    "TYPED",
    "USER",
    "is_of_broker",
]

KIND: Final = "x-opt-jms-msg-type"
DESTINATION: Final = "x-opt-jms-dest"
REPLY_TO: Final = "x-opt-jms-reply-to"
DELIVERY_TIME: Final = "x-opt-delivery-time"
EXPIRATION: Final = "x-opt-jmsbridge-expiration"
"""When a delayed message expires, beside its field for that: ActiveMQ Classic makes the field later by the delay."""

KINDS: Final = {
    BodyKind.NONE: 0,
    BodyKind.OBJECT: 1,
    BodyKind.MAP: 2,
    BodyKind.BYTES: 3,
    BodyKind.STREAM: 4,
    BodyKind.TEXT: 5,
}
"""The byte of ``x-opt-jms-msg-type``."""

OBJECT_TYPE: Final = "application/x-java-serialized-object"
CONTENT_TYPES: Final = {BodyKind.BYTES: "application/octet-stream", BodyKind.OBJECT: OBJECT_TYPE}

GROUP: Final = "JMSXGroupID"
SEQUENCE: Final = "JMSXGroupSeq"
USER: Final = "JMSXUserID"
DELIVERY_COUNT: Final = "JMSXDeliveryCount"
TTL: Final = "JMS_AMQP_TTL"
REPLY_GROUP: Final = "JMS_AMQP_REPLY_TO_GROUP_ID"
TYPED: Final = "JMS_AMQP_TYPED_ENCODING"
_ACK_TYPE: Final = "JMS_AMQP_ACK_TYPE"
MOVED: Final = frozenset({GROUP, SEQUENCE, REPLY_GROUP})
"""Properties that are fields of the properties section."""

SETTINGS: Final = frozenset({USER, DELIVERY_COUNT, TTL, TYPED, _ACK_TYPE})
"""Properties that are not sent: the provider's, and the settings of Qpid JMS."""

DUPLICATE: Final = "_AMQ_DUPL_ID"
"""Artemis's property for the detection of duplicates."""

_OF_BROKER: Final = frozenset({"NATIVE_MESSAGE_ID", "scheduledJobId", DELIVERY_COUNT})


def is_of_broker(name: str) -> bool:
    """Whether a broker adds this application property when a message crosses protocols or waits."""
    return name in _OF_BROKER or name.startswith(("JMS_AMQP_", "__HDR_", "_AMQ_"))
