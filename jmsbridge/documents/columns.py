"""Headers and properties of many messages at once, a list for each: a fraction of the cost of one message at a time.

And the size of one, which is asked of each that is received.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from jmsbridge.core.modes import DeliveryMode
from jmsbridge.destinations import Destination
from jmsbridge.documents.values import to_base64
from jmsbridge.message import BytesMessage, MapMessage, Message, ObjectMessage, StreamMessage, TextMessage

__all__ = ["MODES", "delivery_counts", "header_columns", "property_values", "size_of"]

MODES: dict[int, str] = {DeliveryMode.NON_PERSISTENT: "NON_PERSISTENT", DeliveryMode.PERSISTENT: "PERSISTENT"}
_DELIVERY_COUNT = "JMSXDeliveryCount"
_NUMBER = 8
"""Bytes of a value that is neither text nor data."""


def header_columns(messages: Sequence[Message]) -> dict[str, list[Any]]:
    """Each header under its name in the API, with a value for each message: None where it is not set."""
    for each in messages:
        if each._gate is not None:
            each._refuse()
    # Read from the slots: eleven getters would cost as much as receiving the message does.
    return {
        "jms_message_id": [each._message_id for each in messages],
        "jms_destination": _addresses([each._destination for each in messages]),
        "jms_timestamp": [each._timestamp or None for each in messages],
        "jms_delivery_mode": [MODES.get(each._delivery_mode) for each in messages],
        "jms_priority": [each._priority for each in messages],
        "jms_expiration": [each._expiration or None for each in messages],
        "jms_delivery_time": [each._delivery_time or None for each in messages],
        "jms_redelivered": [each._redelivered or None for each in messages],
        "jms_correlation_id": [_correlation_id(each._correlation_id) for each in messages],
        "jms_reply_to": _addresses([each._reply_to for each in messages]),
        "jms_type": [each._type for each in messages],
    }


def property_values(messages: Sequence[Message]) -> list[Mapping[str, Any]]:
    """The properties of each message as they were sent, with their typed values; not to be changed."""
    for each in messages:
        if each._gate is not None:
            each._refuse()
    return [each._properties for each in messages]


def delivery_counts(messages: Sequence[Message]) -> list[int | None]:
    """How often each message was delivered; None if it was not."""
    return [each._delivery_count or _sent_count(each) for each in messages]


def size_of(message: Message) -> int:
    """About how many bytes a message has in its body and properties."""
    if message._gate is not None:
        message._refuse()
    size = _size(message._properties.items()) if message._properties else 0
    if isinstance(message, TextMessage):
        return size + len(message.text or "")
    if isinstance(message, BytesMessage):
        return size + message.body_length
    if isinstance(message, MapMessage):
        return size + _size(message._fields.items())
    if isinstance(message, StreamMessage):
        return size + _size(("", each) for each in message._items)
    return size + len(message.java_stream or b"") if isinstance(message, ObjectMessage) else size


def _size(named: Iterable[tuple[str, Any]]) -> int:
    return sum(
        len(name) + (len(value) if isinstance(value, str | bytes) else _size_of_value(value)) for name, value in named
    )


def _size_of_value(value: Any) -> int:
    return _NUMBER if value is None or isinstance(value, int | float) else len(str(value))


def _sent_count(message: Message) -> int | None:
    return message.get_int_property(_DELIVERY_COUNT) if message.property_exists(_DELIVERY_COUNT) else None


def _addresses(destinations: Sequence[Destination | None]) -> list[str | None]:
    """Their texts; neighbours mostly share one destination object, and then its text."""
    texts: list[str | None] = []
    last: Destination | None = None
    text: str | None = None
    for each in destinations:
        if each is not last:
            last, text = each, None if each is None else str(each.address)
        texts.append(text)
    return texts


def _correlation_id(value: str | bytes | None) -> Any:
    # The public property shows bytes as text, but the difference matters here.
    return {"bytes": to_base64(value)} if isinstance(value, bytes) else value
