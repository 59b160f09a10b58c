"""One message that a subscription has received: the token of its arrival."""

from typing import Any

from jmsbridge.spi import Envelope
from jmsbridge_pulsar.receiving.memory import Key

__all__ = ["Delivery", "key_of"]


class Delivery:
    """``message`` is the library's object, which keeps its bytes."""

    __slots__ = ("count", "envelope", "key", "message")

    def __init__(self, message: Any, key: Key, envelope: Envelope, count: int) -> None:
        self.message = message
        self.key = key
        self.envelope = envelope
        self.count = count


def key_of(message: Any) -> Key:
    """What tells a message from every other one of its topic."""
    made = message.message_id()
    return made.ledger_id(), made.entry_id(), made.partition(), made.batch_index(), message.publish_timestamp()
