"""Messages of other implementations, which a provider must be able to send (section 3.12)."""

import logging
from collections.abc import Callable
from inspect import getattr_static
from typing import Any, Protocol

from jmsbridge.destinations import Destination
from jmsbridge.errors import MessageEOF, MessageFormatException
from jmsbridge.messages.base import Message
from jmsbridge.messages.binary import BytesMessage
from jmsbridge.messages.mapping import MapMessage
from jmsbridge.messages.names import DELIVERY_COUNT
from jmsbridge.messages.objects import ObjectMessage
from jmsbridge.messages.stream import StreamMessage
from jmsbridge.messages.text import TextMessage

__all__ = ["ForeignMessage", "copy_foreign", "write_headers"]

log = logging.getLogger("jmsbridge.messages")


class ForeignMessage(Protocol):
    """What a message of another implementation offers at least, by the names of our ``Message``.

    Its kind shows in the names of its body, its headers are read and, after the send, written where they are there.
    """

    @property
    def jms_message_id(self) -> object:
        """Its id."""

    @property
    def property_names(self) -> object:
        """The names of its properties, or a method that gives them."""

    def get_object_property(self, name: str, /) -> Any:
        """One property."""


def copy_foreign(message: Any) -> Message:
    """A message of our own with the content of another implementation's, taken through its getters.

    It is one if it offers the names of our ``Message``; its kind shows in the names of its body. An error that a getter
    raises is the caller's to see. MessageFormatException for what is no message at all, None included.
    """
    if not all(_offers(message, name) for name in ("jms_message_id", "property_names", "get_object_property")):
        raise MessageFormatException(f"a message is needed, not {type(message).__name__}")
    copy = next((make for names, make in _BODIES if all(_offers(message, name) for name in names)), _plain)(message)
    _copy_correlation_id(message, copy)
    copy.jms_type = _read(message, "jms_type")
    reply_to = _read(message, "jms_reply_to")
    # Another implementation's destination means nothing to our broker; the specification lets it go.
    copy.jms_reply_to = reply_to if isinstance(reply_to, Destination) else None
    for name in _read(message, "property_names"):
        if name != DELIVERY_COUNT:
            copy.set_object_property(name, message.get_object_property(name))
    return copy


def write_headers(message: Message, foreign: Any) -> None:
    """Another provider's message gets the headers of its copy through its own setters (rule BO-8).

    One that it does not take is logged, and the message is sent all the same: an implementation of JMS 1.1 has no
    delivery time, say.
    """
    for name, value in (
        ("jms_destination", message._destination),
        ("jms_delivery_mode", message._delivery_mode),
        ("jms_message_id", message._message_id),
        ("jms_timestamp", message._timestamp),
        ("jms_priority", message._priority),
        ("jms_expiration", message._expiration),
        ("jms_delivery_time", message._delivery_time),
    ):
        try:
            setattr(foreign, name, value)
        except Exception as error:  # another provider's code
            log.warning("a foreign message of type %s does not take %s: %r", type(foreign).__name__, name, error)


def _copy_correlation_id(message: Any, copy: Message) -> None:
    """The text, or the bytes where there is no text, or none that could be made of them."""
    text = _read(message, "jms_correlation_id")
    copy.jms_correlation_id = text
    if (text is None or "\ufffd" in text) and _offers(message, "jms_correlation_id_as_bytes"):
        try:
            data = _read(message, "jms_correlation_id_as_bytes")
        except Exception as error:  # the specification leaves it to the other provider whether it has the bytes
            log.debug("a foreign message has no correlation id as bytes: %r", error)
        else:
            if data is not None:
                copy.jms_correlation_id_as_bytes = data


def _offers(message: Any, name: str) -> bool:
    """Whether the attribute is there, without running a getter."""
    return getattr_static(message, name, _ABSENT) is not _ABSENT


def _read(message: Any, name: str) -> Any:
    """An attribute, or the result of a method of that name."""
    value = getattr(message, name)
    return value() if callable(value) else value


def _plain(_: Any) -> Message:
    return Message()


def _text(message: Any) -> Message:
    return TextMessage(_read(message, "text"))


def _object(message: Any) -> Message:
    return ObjectMessage(_read(message, "object"))


def _map(message: Any) -> Message:
    copy = MapMessage()
    for name in _read(message, "map_names"):
        copy.set_object(name, message.get_object(name))
    return copy


def _bytes(message: Any) -> Message:
    copy = BytesMessage()
    message.reset()
    # Not by its length: the messages with which the Jakarta Messaging TCK tests providers always say 0.
    buffer = bytearray(_PIECE)
    while (count := message.read_bytes(buffer)) > 0:
        copy.write_bytes(buffer, 0, count)
    message.reset()
    return copy


def _stream(message: Any) -> Message:
    copy = StreamMessage()
    message.reset()
    while True:
        try:
            value = message.read_object()
        except MessageEOF:
            break
        copy.write_object(value)
    message.reset()
    return copy


_ABSENT = object()
_PIECE = 65536  # bytes of a foreign body read at a time
_BODIES: tuple[tuple[tuple[str, ...], Callable[[Any], Message]], ...] = (
    (("map_names", "get_object"), _map),
    (("body_length", "read_bytes"), _bytes),
    (("read_object", "read_bytes"), _stream),
    (("text",), _text),
    (("object",), _object),
)
