"""Messages of other JMS implementations, which a provider must be able to send (section 3.12)."""

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
    """The least that a message of another implementation offers, under the names of our ``Message``.

    The names of its body's methods tell its kind. Headers are read, and written after the send, where they exist.
    """

    @property
    def jms_message_id(self) -> object:
        """Its id."""

    @property
    def property_names(self) -> object:
        """The names of its properties, or a method that returns them."""

    def get_object_property(self, name: str, /) -> Any:
        """One property."""


def copy_foreign(message: Any) -> Message:
    """A message of our own with the content of another implementation's message, read through its getters.

    Errors of the getters are passed on. MessageFormatException for what is not a message (see ``ForeignMessage``).
    """
    if not all(_offers(message, name) for name in ("jms_message_id", "property_names", "get_object_property")):
        raise MessageFormatException(f"a message is needed, not {type(message).__name__}")
    copy = next(make for names, make in _BODIES if all(_offers(message, name) for name in names))(message)
    _copy_correlation_id(message, copy)
    copy.jms_type = _read(message, "jms_type")
    reply_to = _read(message, "jms_reply_to")
    # Another implementation's destination is useless on our broker; the specification allows us to drop it.
    copy.jms_reply_to = reply_to if isinstance(reply_to, Destination) else None
    for name in _read(message, "property_names"):
        if name != DELIVERY_COUNT:
            copy.set_object_property(name, message.get_object_property(name))
    return copy


def write_headers(message: Message, foreign: Any) -> None:
    """Write the headers of the copy that was sent into the foreign message, through its setters (rule BO-8).

    A header that it does not accept is logged only: an implementation of JMS 1.1 has no delivery time, for example.
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
            log.warning("cannot set %s on a foreign message of type %s: %r", name, type(foreign).__name__, error)


def _copy_correlation_id(message: Any, copy: Message) -> None:
    """Copy the text, or the bytes if there is no text or it was made from bytes that are not UTF-8."""
    text = _read(message, "jms_correlation_id")
    copy.jms_correlation_id = text
    if (text is None or "\ufffd" in text) and _offers(message, "jms_correlation_id_as_bytes"):
        try:
            data = _read(message, "jms_correlation_id_as_bytes")
        except Exception as error:  # the specification does not require the bytes
            log.debug("a foreign message has no correlation id as bytes: %r", error)
        else:
            if data is not None:
                copy.jms_correlation_id_as_bytes = data


def _offers(message: Any, name: str) -> bool:
    """Whether the attribute exists, without running a getter."""
    return getattr_static(message, name, _ABSENT) is not _ABSENT


def _read(message: Any, name: str) -> Any:
    """An attribute, or the result of a method of that name."""
    value = getattr(message, name)
    return value() if callable(value) else value


def _map(message: Any) -> Message:
    copy = MapMessage()
    for name in _read(message, "map_names"):
        copy.set_object(name, message.get_object(name))
    return copy


def _bytes(message: Any) -> Message:
    copy = BytesMessage()
    message.reset()
    # Does not use its length: the foreign messages of the Jakarta Messaging TCK always report 0.
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
    (("text",), lambda message: TextMessage(_read(message, "text"))),
    (("object",), lambda message: ObjectMessage(_read(message, "object"))),
    ((), lambda message: Message()),
)
