"""One message that a subscription has received: the token of its arrival."""

from collections.abc import Callable
from typing import Any

from jmsbridge.spi import Address, Envelope
from jmsbridge_pulsar.messages.conventions import KIND
from jmsbridge_pulsar.messages.decoding import decode
from jmsbridge_pulsar.messages.names import Names
from jmsbridge_pulsar.receiving.memory import Key

__all__ = ["Delivery", "encrypted_in", "envelope_of", "key_of", "read_text"]


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


def envelope_of(message: Any, key: Key, properties: dict[str, str] | None, address: Address, names: Names) -> Envelope:
    """The message, with its ``key_of`` and the ``read_text`` of its properties, as received from ``address``."""
    # asking costs 8 us, and bodies of other kinds cannot be decoded then
    is_raw = properties is None or properties.get(KIND, "bytes") == "bytes"
    return decode(
        fault="encrypted, and jmsbridge has no keys" if is_raw and encrypted_in(message) else None,
        body=message.data(),
        is_null=message.has_null_value(),
        properties=properties,
        key=read_text(message.partition_key) or None,
        event_time=message.event_timestamp(),
        message_id=key[:4],
        address=address,
        names=names,
    )


def encrypted_in(message: Any) -> int:
    """How many messages of one entry this is because they are encrypted; 0 if it is not."""
    context = message.encryption_context()
    return max(1, context.batch_size()) if context is not None and context.is_decryption_failed() else 0


def read_text(read: Callable[[], Any]) -> Any:
    """What this method of a message returns; None if it is not in UTF-8."""
    try:
        return read()
    except UnicodeDecodeError:
        return None
