"""Messages that jmsbridge creates: from an arrived envelope, and from a plain body to be sent."""

from collections.abc import Callable, Mapping
from typing import Any

from jmsbridge.codecs.javaserial import JavaObject
from jmsbridge.destinations import Destination, destination_of
from jmsbridge.errors import MessageFormatException
from jmsbridge.messages.base import Message
from jmsbridge.messages.binary import BytesMessage
from jmsbridge.messages.mapping import MapMessage
from jmsbridge.messages.names import DELIVERY_COUNT
from jmsbridge.messages.objects import ObjectMessage
from jmsbridge.messages.stream import StreamMessage
from jmsbridge.messages.text import TextMessage
from jmsbridge.spi.envelope import Address, Envelope
from jmsbridge.values import Char

__all__ = ["message_for_body", "message_from_arrival"]

# By BodyKind.
_CLASSES: tuple[type[Message], ...] = (Message, TextMessage, BytesMessage, MapMessage, StreamMessage, ObjectMessage)
_MOST_DESTINATIONS = 1024
# Destinations are immutable, so messages share them. Threads may race here: at worst, one is created twice.
_destinations: dict[Address, Destination] = {}


def message_from_arrival(
    envelope: Envelope, redelivered: bool, delivery_count: int, acknowledger: Callable[[], Any] | None
) -> Message:
    """The message that the application gets: body and properties read-only, shared with the envelope until cleared.

    ``delivery_count`` is shown as JMSXDeliveryCount, 0 for a message that was not received; ``acknowledger`` is what
    ``acknowledge()`` calls.
    """
    kind = _CLASSES[envelope.kind]
    message = kind.__new__(kind)
    properties = envelope.properties
    # The provider's value overrides one that the sender has set.
    if delivery_count and DELIVERY_COUNT in properties:
        properties = {name: value for name, value in properties.items() if name != DELIVERY_COUNT}
    address, reply_to = envelope.address, envelope.reply_to
    message._gate = None
    message._acknowledger = acknowledger
    message._body_read_only = True
    message._correlation_id = envelope.correlation_id
    message._delivery_count = delivery_count
    message._delivery_mode = 2 if envelope.persistent else 1
    message._delivery_time = envelope.delivery_time or envelope.timestamp
    message._destination = _destinations.get(address) or _destination(address)
    message._expiration = envelope.expiration
    message._message_id = envelope.message_id
    message._priority = envelope.priority
    message._properties = properties
    message._properties_read_only = True
    message._redelivered = redelivered
    message._reply_to = None if reply_to is None else _destination(reply_to)
    message._timestamp = envelope.timestamp
    message._type = envelope.jms_type
    message._load(envelope.body)
    return message


def _destination(address: Address) -> Destination:
    found = _destinations.get(address)
    if found is None:
        if len(_destinations) >= _MOST_DESTINATIONS:
            _destinations.clear()
        found = _destinations[address] = destination_of(address)
    return found


def message_for_body(body: Any) -> Message:
    """The message for a plain body: text, bytes, a mapping, None (no body), or what an ObjectMessage carries."""
    if body is None:
        return Message()
    if isinstance(body, str) and not isinstance(body, Char):
        return TextMessage(body)
    if isinstance(body, (bytes, bytearray, memoryview)):
        message = BytesMessage()
        message.write_bytes(body)
        return message
    if isinstance(body, Mapping):
        fields = MapMessage()
        for name, value in body.items():
            fields.set_object(name, value)
        return fields
    if isinstance(body, (bool, int, float, Char, list, tuple, JavaObject)):
        return ObjectMessage(body)
    raise MessageFormatException(f"a {type(body).__name__!r} object is neither a message nor a body of one")
