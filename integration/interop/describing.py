"""A message as the Java program of the interop tests describes one: plain JSON, every value with its Java type."""

from collections.abc import Iterator
from typing import Any

from jmsbridge import BytesMessage, Destination, MapMessage, Message, ObjectMessage, StreamMessage, TextMessage
from jmsbridge.codecs.javatext import boolean_text, double_text, float_text
from jmsbridge.errors import MessageEOF
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
    kind, body = _body(message)
    return {
        "kind": kind,
        "body": body,
        "properties": {
            name: typed(value) for name, value in sorted(message.properties.items()) if name != "JMSXDeliveryCount"
        },
        "correlation_id": message.jms_correlation_id,
        "correlation_bytes": typed(message.jms_correlation_id_as_bytes),
        "delivery_mode": message.jms_delivery_mode,
        "delivery_time": message.jms_delivery_time,
        "destination": _named(message.jms_destination),
        "expiration": message.jms_expiration,
        "message_id": message.jms_message_id,
        "priority": message.jms_priority,
        "redelivered": message.jms_redelivered,
        "reply_to": _named(message.jms_reply_to),
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
        return "StreamMessage", [typed(value) for value in _fields(message)]
    if isinstance(message, ObjectMessage):
        return "ObjectMessage", typed(message.java_stream)
    return "Message", None


def _fields(message: StreamMessage) -> Iterator[Any]:
    try:
        while True:
            yield message.read_object()
    except MessageEOF:
        return


def _named(destination: Destination | None) -> list[Any] | None:
    if destination is None:
        return None
    address = destination.address
    return ["topic" if address.topic else "queue", address.temporary, address.name]
