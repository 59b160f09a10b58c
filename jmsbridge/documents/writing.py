"""A message as plain values; ``reading`` makes the message again."""

from collections.abc import Callable
from typing import Any

from jmsbridge.documents.columns import header_columns
from jmsbridge.documents.values import to_base64, to_json
from jmsbridge.message import (
    BytesMessage,
    MapMessage,
    Message,
    ObjectMessage,
    StreamMessage,
    TextMessage,
)
from jmsbridge.values import wrap

__all__ = ["body_of", "headers_of", "kind_of", "properties_of", "to_document"]


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
    kind = _BY_CLASS.get(type(message))
    if kind is not None:
        return kind
    return next((kind for kind, (cls, _) in _KINDS.items() if isinstance(message, cls)), "message")


def headers_of(message: Message) -> dict[str, Any]:
    """The headers that are set, under their names in the API."""
    return {name: value for name, (value,) in header_columns([message]).items() if value is not None}


def properties_of(message: Message) -> dict[str, Any]:
    """The properties in JSON's types, by name."""
    return {name: to_json(message.get_object_property(name)) for name in message.property_names}


def body_of(message: Message) -> Any:
    """The body in JSON's types."""
    kind = _KINDS.get(kind_of(message))
    return None if kind is None else kind[1](message)


_KINDS: dict[str, tuple[type[Message], Callable[[Any], Any]]] = {
    "text": (TextMessage, lambda message: message.text),
    "bytes": (BytesMessage, lambda message: to_base64(message.get_body(bytes) or b"")),
    "map": (MapMessage, lambda message: {name: to_json(value) for name, value in message.body.items()}),
    "stream": (StreamMessage, lambda message: [to_json(wrap(field)) for field in message._items]),
    "object": (ObjectMessage, lambda message: to_json(message.object)),
}
_BY_CLASS = {cls: kind for kind, (cls, _) in _KINDS.items()}
