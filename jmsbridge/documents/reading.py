"""A message from plain values: the other direction of ``writing``."""

import time
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from jmsbridge.config.suggest import nearest
from jmsbridge.destinations import Destination
from jmsbridge.documents.columns import MODES
from jmsbridge.documents.names import destination_named
from jmsbridge.documents.values import from_base64, from_json
from jmsbridge.message import Message
from jmsbridge.messages.names import DELIVERY_COUNT, check_passed
from jmsbridge.session import Session
from jmsbridge.values import canonical_property

__all__ = ["BadDocument", "Outgoing", "from_document", "set_properties"]

_MODES = {name: mode for mode, name in MODES.items()}


class BadDocument(ValueError):
    """Plain values that are not a message."""


class Outgoing(msgspec.Struct, frozen=True):
    """A message to send, with the destination and settings of its document. ``expired``: its time to live is over."""

    message: Message
    destination: Destination | None = None
    options: dict[str, Any] = {}
    delivery_delay: float = 0.0
    expired: bool = False


def from_document(document: dict[str, Any], session: Session) -> Outgoing:
    """The message of what ``to_document`` gave; BadDocument says what is wrong."""
    for name in document:
        if name not in _MEMBERS:
            raise BadDocument(f"unknown member {name!r}: {nearest(name, _MEMBERS, 'members')}")
    try:
        message = _message(document, session)
        set_properties(message, {name: from_json(value) for name, value in _object(document, "properties").items()})
        return _addressed(message, _object(document, "headers"))
    except BadDocument:
        raise
    except (ValueError, TypeError) as error:
        raise BadDocument(str(error)) from error


def set_properties(message: Message, values: Mapping[str, Any]) -> None:
    """Set properties of a message that is passed on: names and types that other providers allow and a setter refuses.

    ValueError for a name that is a header's, or empty; MessageFormatException for a value that no property can have.
    """
    for name, value in values.items():
        if name == DELIVERY_COUNT:
            continue  # set by the provider
        check_passed(name)
        message._properties[name] = canonical_property(value)


_MEMBERS = ("kind", "headers", "properties", "body")


def _object(document: dict[str, Any], name: str) -> dict[str, Any]:
    value = document.get(name) or {}
    if not isinstance(value, dict):
        raise BadDocument(f"{name!r} must be an object")
    return value


def _message(document: dict[str, Any], session: Session) -> Message:
    body = document.get("body")
    kind = document.get("kind", "text" if isinstance(body, str) else "map" if isinstance(body, dict) else "message")
    maker = _MAKERS.get(kind)
    if maker is None:
        raise BadDocument(f"unknown kind {kind!r}: {nearest(str(kind), _MAKERS, 'kinds')}")
    return maker(session, body)


def _plain_message(session: Session, body: Any) -> Message:
    if body is not None:
        raise BadDocument("a plain message cannot have a body: give its kind, bytes, stream or object")
    return session.create_message()


def _text_message(session: Session, body: Any) -> Message:
    if not isinstance(body, str | None):
        raise BadDocument("the body of a text message must be text or null")
    return session.create_text_message(body)


def _bytes_message(session: Session, body: Any) -> Message:
    message = session.create_bytes_message()
    message.write_bytes(body if isinstance(body, bytes) else from_base64(body))
    return message


def _map_message(session: Session, body: Any) -> Message:
    if not isinstance(body, dict):
        raise BadDocument("the body of a map message must be an object of fields")
    message = session.create_map_message()
    for name, value in body.items():
        message.set_object(name, from_json(value))
    return message


def _stream_message(session: Session, body: Any) -> Message:
    if not isinstance(body, list):
        raise BadDocument("the body of a stream message must be a list of fields")
    message = session.create_stream_message()
    for value in body:
        message.write_object(from_json(value))
    return message


_MAKERS: dict[str, Callable[[Session, Any], Message]] = {
    "message": _plain_message,
    "text": _text_message,
    "bytes": _bytes_message,
    "map": _map_message,
    "stream": _stream_message,
    "object": lambda session, body: session.create_object_message(from_json(body)),
}


def _addressed(message: Message, headers: dict[str, Any]) -> Outgoing:
    for name in headers:
        if name not in _HEADERS:
            raise BadDocument(f"unknown header {name!r}: {nearest(name, _HEADERS, 'headers')}")
    correlation_id = headers.get("jms_correlation_id")
    if isinstance(correlation_id, dict):
        message.jms_correlation_id_as_bytes = from_json(correlation_id)
    elif correlation_id is not None:
        message.jms_correlation_id = _text(headers, "jms_correlation_id")
    if headers.get("jms_reply_to") is not None:
        message.jms_reply_to = destination_named(_text(headers, "jms_reply_to"))
    if headers.get("jms_type") is not None:
        message.jms_type = _text(headers, "jms_type")
    options: dict[str, Any] = {}
    if headers.get("jms_delivery_mode") is not None:
        options["delivery_mode"] = _mode(headers["jms_delivery_mode"])
    if headers.get("jms_priority") is not None:
        options["priority"] = _number(headers, "jms_priority")
    now = time.time()
    expiration = _number(headers, "jms_expiration") / 1000
    if expiration:
        options["time_to_live"] = max(expiration - now, 0.001)
    to = headers.get("jms_destination")
    return Outgoing(
        message,
        None if to is None else destination_named(_text(headers, "jms_destination")),
        options,
        delivery_delay=max(_number(headers, "jms_delivery_time") / 1000 - now, 0.0),
        expired=0 < expiration <= now,
    )


_HEADERS = (
    "jms_message_id",  # set by the provider, like the next two: ignored
    "jms_timestamp",
    "jms_redelivered",
    "jms_destination",
    "jms_delivery_mode",
    "jms_priority",
    "jms_expiration",
    "jms_delivery_time",
    "jms_correlation_id",
    "jms_reply_to",
    "jms_type",
)


def _mode(name: Any) -> int:
    if name not in _MODES:
        raise BadDocument(f"jms_delivery_mode must be {' or '.join(_MODES)}, not {name!r}")
    return _MODES[name]


def _text(headers: dict[str, Any], name: str) -> str:
    if not isinstance(headers[name], str):
        raise BadDocument(f"{name} must be text")
    return str(headers[name])


def _number(headers: dict[str, Any], name: str) -> int:
    value = headers.get(name) or 0
    if isinstance(value, bool) or not isinstance(value, int):
        raise BadDocument(f"{name} must be an integer")
    return value
