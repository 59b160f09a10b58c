"""Headers and properties of many messages at once, a list for each: a fraction of the cost of one message at a time."""

from collections.abc import Mapping, Sequence
from typing import Any

from jmsbridge.core.modes import DeliveryMode
from jmsbridge.destinations import Destination
from jmsbridge.documents.values import to_base64
from jmsbridge.message import Message

__all__ = ["MODES", "delivery_counts", "header_columns", "property_values"]

MODES: dict[int, str] = {DeliveryMode.NON_PERSISTENT: "NON_PERSISTENT", DeliveryMode.PERSISTENT: "PERSISTENT"}
_DELIVERY_COUNT = "JMSXDeliveryCount"


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
