"""What one link knows about its broker: existing destinations, and its limit of message sizes; I/O thread."""

from typing import Final

from jmsbridge_rabbitmq.broker.queue_kinds import QueueKinds

__all__ = ["KnownDestinations"]

_MOST_QUEUES: Final = 10_000
_NO_LIMIT: Final = 1 << 62


class KnownDestinations:
    """A cache of existing destinations.

    ``waiting`` has the delay queues, each with the time until which it certainly exists; ``proven`` are queues to
    which a send was confirmed; ``message_limit`` is the largest body that the broker accepts.
    """

    def __init__(self, kinds: QueueKinds) -> None:
        self.kinds = kinds
        self.queues: set[str] = set()
        self.exchanges: set[str] = set()
        self.proven: set[str] = set()
        self.waiting: dict[tuple[int, str, bool], float] = {}
        self.message_limit = _NO_LIMIT

    def remember(self, queue: str) -> None:
        """Note that a queue exists."""
        if len(self.queues) >= _MOST_QUEUES:
            self.queues.clear()  # they are checked again
            self.kinds.forget(None)
        self.queues.add(queue)

    def prove(self, queue: str) -> None:
        """Note that a queue accepts messages."""
        if len(self.proven) >= _MOST_QUEUES:
            self.proven.clear()
        self.proven.add(queue)

    def forget(self, exchange: str, key: str) -> None:
        """A destination may not exist any more: check before the next use."""
        if exchange:
            self.exchanges.discard(exchange)
        else:
            self.queues.discard(key)
            self.kinds.forget(key)
            self.proven.discard(key)
