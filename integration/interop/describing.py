"""A message as the Java programs of the interop tests describe one: plain JSON, every value with its Java type."""

from typing import Any

from jmsbridge import BytesMessage, Destination, MapMessage, Message, ObjectMessage, StreamMessage, TextMessage
from jmsbridge.codecs.javatext import boolean_text, double_text, float_text
from jmsbridge.values import Byte, Char, Double, Float, Int, Long, Short

__all__ = ["Description", "describe", "typed"]

Description = dict[str, Any]

_NAMES: dict[type, str] = {
    Byte: "Byte",
    Short: "Short",
    int: "Integer",
    Int: "Integer",
    Long: "Long",
    str: "String",
    Char: "Character",
}


def typed(value: Any) -> Any:
    """A value as [Java class, its text]; None as it is, bytes in hexadecimal digits."""
    if value is None:
        return None
    if isinstance(value, bool):
        return ["Boolean", boolean_text(value)]
    if isinstance(value, bytes):
        return ["bytes", value.hex()]
    if isinstance(value, Float):
        return ["Float", float_text(value)]
    if isinstance(value, (float, Double)):
        return ["Double", double_text(value)]
    return [_NAMES[type(value)], str(value)]


def describe(message: Message) -> Description:
    """The message, field by field, with the keys of the Java side."""
    reply_to = message.jms_reply_to
    kind, body = _body(message)
    return {
        "kind": kind,
        "body": body,
        "properties": {
            name: typed(value) for name, value in sorted(message.properties.items()) if name != "JMSXDeliveryCount"
        },
        "correlation_id": message.jms_correlation_id,
        "delivery_mode": message.jms_delivery_mode,
        "expiration": message.jms_expiration,
        "message_id": message.jms_message_id,
        "priority": message.jms_priority,
        "redelivered": message.jms_redelivered,
        "reply_to": None if reply_to is None else _named(reply_to),
        "timestamp": message.jms_timestamp,
        "type": message.jms_type,
    }


def _body(message: Message) -> tuple[str, Any]:
    if isinstance(message, TextMessage):
        return "TextMessage", typed(message.text)
    if isinstance(message, BytesMessage):
        return "BytesMessage", typed(message.get_body(bytes) or b"")
    if isinstance(message, MapMessage):
        return "MapMessage", {name: typed(message.get_object(name)) for name in message.map_names}
    if isinstance(message, StreamMessage):
        message.reset()
        return "StreamMessage", [typed(message.read_object()) for _ in range(_FIELDS)]
    if isinstance(message, ObjectMessage):
        return "ObjectMessage", typed(message.java_stream)
    return "Message", None


def _named(destination: Destination) -> list[Any]:
    address = destination.address
    return ["topic" if address.topic else "queue", address.temporary, address.name]


_FIELDS = 11  # fields of every stream message here; reading beyond the last is an error
