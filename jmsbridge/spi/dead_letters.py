"""The properties of dead letters, which every backend writes and the command line reads."""

from typing import Any, Final

from jmsbridge.spi.envelope import Envelope, Interest
from jmsbridge.values import Long

__all__ = [
    "DEAD_LETTER_DELIVERIES",
    "DEAD_LETTER_EXPIRED",
    "DEAD_LETTER_NOTES",
    "DEAD_LETTER_ORIGIN",
    "DEAD_LETTER_QUEUE",
    "DEAD_LETTER_REASON",
    "DEAD_LETTER_TIME",
    "dead_letter_notes",
    "rejected_to",
]

DEAD_LETTER_REASON: Final = "JMS_jmsbridge_dead_letter_reason"
"""Why the message is a dead letter, in words: ``rejected after 7 deliveries``, ``expired``."""
DEAD_LETTER_EXPIRED: Final = "expired"
"""The reason of messages that expired."""
DEAD_LETTER_ORIGIN: Final = "JMS_jmsbridge_dead_letter_origin"
"""Where it came from: ``queue:orders``, or ``topic:news/audit``, where ``audit`` is the subscription's name."""
DEAD_LETTER_DELIVERIES: Final = "JMS_jmsbridge_dead_letter_deliveries"
"""How often it was delivered, as far as the broker counts; an int."""
DEAD_LETTER_TIME: Final = "JMS_jmsbridge_dead_letter_time"
"""When it became a dead letter, in milliseconds since the epoch; a long."""
DEAD_LETTER_QUEUE: Final = "JMS_jmsbridge_dead_letter_queue"
"""The queue through which it can be sent again to the subscription that it came from, where the broker has one."""

DEAD_LETTER_NOTES: Final = frozenset(
    {DEAD_LETTER_REASON, DEAD_LETTER_ORIGIN, DEAD_LETTER_DELIVERIES, DEAD_LETTER_TIME, DEAD_LETTER_QUEUE}
)


def dead_letter_notes(
    reason: str | None, origin: str | None, deliveries: int, now: int, queue: str | None = None
) -> dict[str, Any]:
    """The properties. Without ``reason`` it was rejected; ``origin`` is None if it came from the dead letters."""
    if reason is None:
        reason = f"rejected after {deliveries} {'delivery' if deliveries == 1 else 'deliveries'}"
    notes: dict[str, Any] = {
        DEAD_LETTER_REASON: reason,
        DEAD_LETTER_DELIVERIES: min(deliveries, 0x7FFFFFFF),
        DEAD_LETTER_TIME: Long(now),
    }
    if origin is not None:
        notes[DEAD_LETTER_ORIGIN] = origin
    if queue is not None:
        notes[DEAD_LETTER_QUEUE] = queue
    return notes


def rejected_to(interest: Interest, envelope: Envelope, now: int) -> tuple[str | None, str | None]:
    """The queue to which REJECTED moves a message now (None: the backend's own), and the reason to write."""
    if interest.expired and 0 < envelope.expiration <= now:
        return interest.expired, DEAD_LETTER_EXPIRED
    return interest.dead_letters, None
