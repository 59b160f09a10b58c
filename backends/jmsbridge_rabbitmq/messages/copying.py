"""The property list for a copy of a received message: a delayed one, a dead letter, or one at its queue's tail."""

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
    """The raw list for sending the same message again, for example to a delay queue.

    It omits what would change its route or get it refused (expiration, user id, the headers CC and BCC), and the counts
    of the queue that it leaves. ``message_id`` is set if the message has none (to match a basic.return). A malformed
    list is replaced by an empty one.
    """
    return encode(_copied(data, message_id, _NOT_IN_COPIES, b""))


def dead_copy(data: bytes, message_id: str | None, notes: Mapping[str, Any]) -> bytes:
    """The list for a dead letter: it does not expire, and has ``notes`` among its properties."""
    return encode(_copied(data, message_id, _NOT_IN_DEAD, _IS_DEAD + encode_properties(notes)))


def fresh_copy(data: bytes, message_id: str | None, deliveries: int, now: int) -> bytes:
    """The list for a copy at the tail of its queue, where the broker counts from 0, after ``deliveries`` deliveries.

    It expires when the original would have; ``now`` is the time in milliseconds.
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
    """The expiration for a copy: what is left of it if its end is known, else all of it."""
    if found.expiration is None or found.headers is None:
        return found.expiration
    end = decode_table(found.headers)[0].get("JMSExpiration")
    return str(max(end - now, 1)) if type(end) is Long else found.expiration
