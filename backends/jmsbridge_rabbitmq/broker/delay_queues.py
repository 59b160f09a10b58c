"""Delivery delay without a plugin: messages wait in a queue per length of delay, which dead-letters them to the target.

One queue for all delays would not work, because RabbitMQ expires messages only at the head. Delays are rounded up to
two significant digits, so there are at most ninety queues per power of ten; unused ones expire. Connections with quorum
queues use separate delay queues, because a queue has one type.
"""

from typing import Any, Final

from jmsbridge.spi import NotSupported
from jmsbridge_rabbitmq.broker.conversations import Ask, Conversation
from jmsbridge_rabbitmq.messages.conventions import WAITING

__all__ = ["FRESH", "LONGEST", "bucket", "ensure_waiting", "name_of", "too_long"]

FRESH = 30.0
"""Seconds after its declaration for which a delay queue certainly exists; it outlives its messages by another 30."""
_SPARE = 60_000
_DAY = 86_400_000
LONGEST: Final = 310_000_000_000
"""Milliseconds, rounded like delays; RabbitMQ allows ten years, 315,360,000,000 ms, for a queue's ``x-expires``."""


def too_long(delay: int, where: str, broker: str) -> NotSupported:
    """The error for a delay beyond ``LONGEST``."""
    return NotSupported(
        f"{where}: a delay of {delay / _DAY:,.0f} days exceeds the limit of {broker}, {LONGEST // _DAY:,} days"
    )


def bucket(delay: int) -> int:
    """The delay in ms, rounded up to two significant digits; at least 10 ms."""
    step = 1
    while delay > 99 * step:
        step *= 10
    return max(10, -(-delay // step) * step)


def name_of(delay: int, exchange: str, quorum: bool = False) -> str:
    """The name of the exchange and queue where messages for ``exchange`` wait."""
    return f"{WAITING}{delay}.{'quorum.' if quorum else ''}{exchange or 'queues'}"


def ensure_waiting(delay: int, exchange: str, quorum: bool = False) -> Conversation:
    """Create a delay queue with its exchange, or keep them alive."""
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
    # after the queue: if the broker refuses one of the two, a queue alone expires, but an exchange would stay
    yield Ask("exchange_declare", {"exchange": name, "exchange_type": "fanout", "durable": True, "auto_delete": True})
    yield Ask("queue_bind", {"queue": name, "exchange": name, "routing_key": ""})
