"""Properties as the reader sees them: without those that brokers add, with those that AMQP keeps elsewhere. Pure."""

from typing import Any, Final
from uuid import UUID

from jmsbridge.spi import DEAD_LETTER_ORIGIN, Byte, Char, Float, Long, Short
from jmsbridge_amqp.messages.conventions import DUPLICATE, GROUP, REPLY_GROUP, SEQUENCE, USER, is_of_broker

__all__ = ["NOTES_OF_CORE", "duplicate_id", "origin", "shown"]

_TYPES: Final = frozenset({bool, Byte, Short, int, Long, Float, float, str, type(None)})
NOTES_OF_CORE: Final = ("_AMQ_ORIG_QUEUE", "_AMQ_ORIG_ADDRESS", "_AMQ_ORIG_ROUTING_TYPE")
"""The properties in which Artemis notes where a dead letter of another protocol comes from; for ``origin``."""


def shown(
    table: dict[str, Any], others: dict[Any, Any], user: bytes | None, group: list[Any], came_from: str | None
) -> dict[str, Any]:
    """The properties to show.

    ``others`` are those with names of brokers or of types that JMS does not have; ``group`` is group id, sequence and
    reply-to group id; ``came_from`` says where a dead letter was.
    """
    found: dict[str, Any] = {} if came_from is None else {DEAD_LETTER_ORIGIN: came_from}
    found |= table
    for name, value in others.items():
        if type(name) is not str or is_of_broker(name):
            continue
        if type(value) in _TYPES:
            found[name] = value
        elif isinstance(value, (Char, UUID)):
            found[name] = str.__str__(value) if isinstance(value, Char) else str(value)
    if user is not None:
        found[USER] = user.decode("utf-8", "backslashreplace")
    group_id, sequence, reply_group = group
    if group_id is not None:
        found[GROUP] = group_id
    if sequence or (sequence is not None and group_id is not None):  # OpenWire's client always has one
        found[SEQUENCE] = sequence - (1 << 32 if sequence >= 1 << 31 else 0)
    if reply_group is not None:
        found[REPLY_GROUP] = reply_group
    return found


def duplicate_id(others: dict[Any, Any]) -> str | None:
    """The duplicate id of a message that went through Artemis."""
    value = others.get(DUPLICATE)
    return value if isinstance(value, str) else None


def origin(table: dict[Any, Any], queue: str, address: str, routing: str) -> tuple[bool, str | None]:
    """Whether Artemis dead-lettered a message, and from where, by its notes under these names."""
    from_queue, from_address = table.get(queue), table.get(address)
    if not isinstance(from_queue, str):
        return from_address is not None, None
    if table.get(routing) == 0 and isinstance(from_address, str):  # 0 is multicast
        return True, f"topic:{from_address}/{from_queue}"
    return True, f"queue:{from_queue}"
