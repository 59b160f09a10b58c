"""The property list of a copy of a received message: one that waits, a dead letter, or one at its queue's tail."""

from collections.abc import Collection, Mapping
from typing import Any, Final

from jmsbridge.spi import DEAD_LETTER_NOTES, Long
from jmsbridge_rabbitmq.messages.headers import DEAD, DELIVERIES, encode_properties
from jmsbridge_rabbitmq.protocol.fields import Malformed, decode_table, field, without
from jmsbridge_rabbitmq.protocol.properties import Properties, decode, encode

__all__ = ["copy_for", "dead_copy", "fresh_copy"]

_NOT_IN_COPIES: Final = frozenset({"CC", "BCC", "x-delivery-count", "x-acquired-count"})
_NOT_IN_FRESH: Final = _NOT_IN_COPIES | {DELIVERIES}
_NOT_IN_DEAD: Final = _NOT_IN_COPIES | DEAD_LETTER_NOTES | {"JMSExpiration", DEAD, DELIVERIES}
_IS_DEAD: Final = field(DEAD, True)


def copy_for(data: bytes, message_id: str | None = None) -> bytes:
    """The raw list for sending the same message once more, to wait, say.

    Without what would change its way or get it refused there (expiration, user id, the CC and BCC headers) or belongs
    to the queue that it leaves (counts). ``message_id`` is set where the message has none (to match a return). A
    malformed list becomes a new, empty one.
    """
    return encode(_copied(data, message_id, _NOT_IN_COPIES, b""))


def dead_copy(data: bytes, message_id: str | None, notes: Mapping[str, Any]) -> bytes:
    """The same as a dead letter: it does not expire any more, and has ``notes`` among its properties."""
    return encode(_copied(data, message_id, _NOT_IN_DEAD, _IS_DEAD + encode_properties(notes)))


def fresh_copy(data: bytes, message_id: str | None, deliveries: int, now: int) -> bytes:
    """The same for the tail of its own queue, where the broker counts from 0; it was delivered ``deliveries`` times.

    It expires when it would have expired; ``now`` is the time in milliseconds.
    """
    copied = _copied(data, message_id, _NOT_IN_FRESH, field(DELIVERIES, deliveries))
    try:
        copied.expiration = _what_is_left(decode(data), now)
    except Malformed:
        copied.expiration = None
    return encode(copied)


def _copied(data: bytes, message_id: str | None, less: Collection[str], more: bytes) -> Properties:
    try:
        found = decode(data)
        if found.headers is not None:
            found.headers = without(found.headers, less)
    except Malformed:
        found = Properties(delivery_mode=2)
    if more:
        entries = (found.headers or b"")[4:] + more
        found.headers = len(entries).to_bytes(4, "big") + entries
    found.expiration = found.user_id = None
    if found.message_id is None:
        found.message_id = message_id
    return found


def _what_is_left(found: Properties, now: int) -> str | None:
    """The expiration for a message that is sent on: what is left of it where its end is known, else all of it."""
    if found.expiration is None or found.headers is None:
        return found.expiration
    end = decode_table(found.headers)[0].get("JMSExpiration")
    return str(max(end - now, 1)) if type(end) is Long else found.expiration
