"""RabbitMQ's records about dead-lettering, as properties for the reader. Pure."""

from typing import Any, Final

from jmsbridge.spi import DEAD_LETTER_NOTES, DEAD_LETTER_ORIGIN, DEAD_LETTER_REASON, DEAD_LETTER_TIME, Long
from jmsbridge_rabbitmq.messages.conventions import WAITING
from jmsbridge_rabbitmq.messages.headers import DEAD

__all__ = ["is_dead", "notes"]

_REASONS: Final = {
    "rejected": "rejected by a consumer",
    "maxlen": "its queue was full",
    "delivery_limit": "it came back to its queue more often than the queue's delivery limit allows",
}
"""RabbitMQ's reasons in words; ``expired`` is used as it is."""


def is_dead(table: dict[str, Any]) -> bool:
    """Whether this is a dead letter, of jmsbridge or of the broker, which does not expire.

    The broker records the same for messages that waited in a delay queue, which are not dead letters.
    """
    return DEAD in table or bool(_deaths(table))


def notes(table: dict[str, Any], mine: dict[str, Any]) -> dict[str, Any]:
    """The properties for reason and origin of a dead letter: those in ``mine``, else from the broker's record."""
    if DEAD in table:
        return {name: mine[name] for name in DEAD_LETTER_NOTES if name in mine}
    last = _deaths(table)[:1]
    if not last or not isinstance(last[0], dict):
        return {}
    found: dict[str, Any] = {}
    reason, queue, time = (last[0].get(name) for name in ("reason", "queue", "time"))
    if isinstance(reason, str):
        found[DEAD_LETTER_REASON] = _REASONS.get(reason, reason)
    if isinstance(queue, str):
        found[DEAD_LETTER_ORIGIN] = f"queue:{queue}"
    if type(time) is Long:
        found[DEAD_LETTER_TIME] = time
    return found


def _deaths(table: dict[str, Any]) -> list[Any]:
    """The broker's records of dead-lettering, the last one first, without those of delay queues."""
    deaths = table.get("x-death")
    return [each for each in deaths if not _has_waited(each)] if isinstance(deaths, list) else []


def _has_waited(death: Any) -> bool:
    queue = death.get("queue") if isinstance(death, dict) else None
    return isinstance(queue, str) and queue.startswith(WAITING)
