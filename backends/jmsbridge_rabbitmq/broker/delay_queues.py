"""Delivery delay without a plugin: messages wait in queues by length of delay and are dead-lettered to their target.

One queue for all delays would not do: RabbitMQ expires messages only at the head. Delays are rounded up to two
significant digits, so there are ninety queues per power of ten at most; each goes when it was not asked for in a while.
Connections with quorum queues have waiting queues of their own: a queue has one type, and programs may differ in it.
"""

from typing import Any, Final

from jmsbridge.spi import NotSupported
from jmsbridge_rabbitmq.broker.conversations import Ask, Conversation
from jmsbridge_rabbitmq.messages.conventions import WAITING

__all__ = ["FRESH", "LONGEST", "bucket", "ensure_waiting", "name_of", "too_long"]

FRESH = 30.0
"""Seconds for which an asked-for waiting queue is certainly there; it outlives its messages by another 30."""
_SPARE = 60_000
_DAY = 86_400_000
LONGEST: Final = 310_000_000_000
"""Milliseconds, rounded as delays are: RabbitMQ takes ten years, 315,360,000,000 ms, for a queue's ``x-expires``."""


def too_long(delay: int, where: str, broker: str) -> NotSupported:
    """For a delay over ``LONGEST``; said before anything is made."""
    return NotSupported(
        f"{where}: a delay of {delay / _DAY:,.0f} days; in {broker} a message waits {LONGEST // _DAY:,} days at most"
    )


def bucket(delay: int) -> int:
    """The delay in ms, rounded up to two significant digits; 10 ms at least."""
    step = 1
    while delay > 99 * step:
        step *= 10
    return max(10, -(-delay // step) * step)


def name_of(delay: int, exchange: str, quorum: bool = False) -> str:
    """The exchange, and the queue, where messages for ``exchange`` wait."""
    return f"{WAITING}{delay}.{'quorum.' if quorum else ''}{exchange or 'queues'}"


def ensure_waiting(delay: int, exchange: str, quorum: bool = False) -> Conversation:
    """Make the waiting place, or keep it alive."""
    name = name_of(delay, exchange, quorum)
    arguments: dict[str, Any] = {
        "x-message-ttl": delay,
        "x-dead-letter-exchange": exchange,
        "x-expires": delay + _SPARE,
    }
    if quorum:
        safe = {"x-dead-letter-strategy": "at-least-once", "x-overflow": "reject-publish"}
        arguments |= {"x-queue-type": "quorum", **safe}
    yield Ask("queue_declare", {"queue": name, "durable": True, "arguments": arguments})
    # after the queue: should the broker refuse one of the two, the queue goes by itself, and the exchange would not
    yield Ask("exchange_declare", {"exchange": name, "exchange_type": "fanout", "durable": True, "auto_delete": True})
    yield Ask("queue_bind", {"queue": name, "exchange": name, "routing_key": ""})
