"""The messages that a connection returned to a broker without FAIL: one that comes again is marked and counted.

Other connections get such a message as the broker delivers it, unmarked.
"""

from collections.abc import Iterable

from jmsbridge.core.receiving.delivery import Delivery
from jmsbridge.core.runtime.locks import Rank, ranked
from jmsbridge.spi import Outcome

__all__ = ["ReturnedDeliveries"]

_MOST = 50_000  # messages that are remembered, though other connections may get them


class ReturnedDeliveries:
    """Those of one connection. Thread-safe."""

    def __init__(self) -> None:
        self._lock = ranked(Rank.LEAF)  # guards _known
        self._known: dict[tuple[str | None, str | None], tuple[int, int]] = {}
        """By line and message id: the number of the next delivery, and how many have failed; oldest first."""

    def add(self, deliveries: Iterable[Delivery], outcome: Outcome) -> None:
        """These are about to be returned, as FAILED or REQUEUED."""
        with self._lock:
            for delivery in deliveries:
                if None in _key(delivery):  # it does not come again, or cannot be recognised
                    continue
                number = delivery.arrival.delivery_count + delivery.uncounted + (outcome is Outcome.REQUEUED)
                self._known.pop(_key(delivery), None)
                self._known[_key(delivery)] = number, delivery.failures
            while len(self._known) > _MOST:
                del self._known[next(iter(self._known))]

    def mark(self, delivery: Delivery) -> None:
        """Mark and count it if it came before."""
        with self._lock:
            known = self._known.pop(_key(delivery), None)
        if known is not None:
            number, failures = known
            delivery.uncounted = max(delivery.uncounted, number - delivery.arrival.delivery_count)
            delivery.local_failures = max(delivery.local_failures, failures - (delivery.arrival.failures or 0))


def _key(delivery: Delivery) -> tuple[str | None, str | None]:
    return delivery.inbox.line, delivery.arrival.envelope.message_id
