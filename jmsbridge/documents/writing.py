"""A message as plain values; ``reading`` makes the message again."""

from collections.abc import Callable
from typing import Any

from jmsbridge import (
    BytesMessage,
    DeliveryMode,
    Destination,
    MapMessage,
    Message,
    ObjectMessage,
    StreamMessage,
    TextMessage,
)
from jmsbridge.documents.values import to_base64, to_json
from jmsbridge.values import wrap

__all__ = ["MODES", "body_of", "headers_of", "kind_of", "properties_of", "to_document"]

MODES: dict[int, str] = {DeliveryMode.NON_PERSISTENT: "NON_PERSISTENT", DeliveryMode.PERSISTENT: "PERSISTENT"}


def to_document(message: Message) -> dict[str, Any]:
    """The whole message: kind, headers, properties and body."""
    return {
        "kind": kind_of(message),
        "headers": headers_of(message),
        "properties": properties_of(message),
        "body": body_of(message),
    }


def kind_of(message: Message) -> str:
    """The kind of a message, as one word."""
    for kind, (cls, _) in _KINDS.items():
        if isinstance(message, cls):
            return kind
    return "message"


def headers_of(message: Message) -> dict[str, Any]:
    """The headers that are set, under their names in the API."""
    headers = {
        "jms_message_id": message.jms_message_id,
        "jms_destination": _address(message.jms_destination),
        "jms_timestamp": message.jms_timestamp or None,
        "jms_delivery_mode": MODES.get(message.jms_delivery_mode),
        "jms_priority": message.jms_priority,
        "jms_expiration": message.jms_expiration or None,
        "jms_delivery_time": message.jms_delivery_time or None,
        "jms_redelivered": message.jms_redelivered or None,
        "jms_correlation_id": _correlation_id(message),
        "jms_reply_to": _address(message.jms_reply_to),
        "jms_type": message.jms_type,
    }
    return {name: value for name, value in headers.items() if value is not None}


def properties_of(message: Message) -> dict[str, Any]:
    """The properties in JSON's types, by name."""
    return {name: to_json(message.get_object_property(name)) for name in message.property_names}


def body_of(message: Message) -> Any:
    """The body in JSON's types."""
    for cls, read in _KINDS.values():
        if isinstance(message, cls):
            return read(message)
    return None


def _address(where: Destination | None) -> str | None:
    return None if where is None else str(where.address)


def _correlation_id(message: Message) -> Any:
    value = message._correlation_id  # the public property shows bytes as text, but the difference matters here
    return {"bytes": to_base64(value)} if isinstance(value, bytes) else value


_KINDS: dict[str, tuple[type[Message], Callable[[Any], Any]]] = {
    "text": (TextMessage, lambda message: message.text),
    "bytes": (BytesMessage, lambda message: to_base64(message.get_body(bytes) or b"")),
    "map": (MapMessage, lambda message: {name: to_json(value) for name, value in message.body.items()}),
    "stream": (StreamMessage, lambda message: [to_json(wrap(field)) for field in message._items]),
    "object": (ObjectMessage, lambda message: to_json(message.object)),
}
