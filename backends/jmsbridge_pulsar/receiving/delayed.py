"""Delayed messages that wait here: the broker sends them at once where a subscription is not shared."""

import heapq
import itertools
import logging
from typing import Final

from jmsbridge.spi import Address, Arrival
from jmsbridge.transport.deliveries.expiry import now_ms

__all__ = ["Delayed"]

_MESSAGES: Final = 10_000
_BYTES: Final = 64 * 1024 * 1024

log = logging.getLogger("jmsbridge.pulsar")


class Delayed:
    """Those of one consumer, in the order in which they are due. For one thread."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._waiting: list[tuple[int, int, Arrival]] = []
        self._numbers = itertools.count()
        self._bytes = 0
        self._is_told = False

    def add(self, arrival: Arrival) -> None:
        """Keep one until its delivery time."""
        heapq.heappush(self._waiting, (arrival.envelope.delivery_time, next(self._numbers), arrival))
        self._bytes += arrival.token.message.length()

    def due(self, most: int) -> list[Arrival]:
        """Those whose time has come; at most so many."""
        found: list[Arrival] = []
        while self._waiting and len(found) < most and self._waiting[0][0] <= now_ms():
            found.append(heapq.heappop(self._waiting)[2])
            self._bytes -= found[-1].token.message.length()
        return found

    def is_full(self) -> bool:
        """Whether nothing more may be taken until one of them is due; the log says so once."""
        if len(self._waiting) < _MESSAGES and self._bytes < _BYTES:
            return False
        if not self._is_told:
            self._is_told = True
            log.warning(
                "%s: %d delayed messages wait in this process, so the consumer gets nothing more until the first is "
                "due; with a shared subscription the broker keeps them",
                self._address,
                len(self._waiting),
            )
        return True
