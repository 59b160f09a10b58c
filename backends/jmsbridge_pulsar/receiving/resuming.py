"""Where a consumer goes on after its topic has moved, if it leaves nothing at the broker, and on new partitions.

The broker forgets such a subscription when it unloads the topic, and the library makes it anew: at the end of the
topic, unless it says after which message. For a reader the library knows that once a message has come; until then it is
the last one there was when the consumer was opened. On a partition that did not exist then it is the first one.

A shared subscription begins before everything that consumers of this process have not settled, or not seen yet. What
consumers elsewhere have settled may come again then, so all that was published before is marked as redelivered.
"""

import threading
import weakref
from typing import Final

from jmsbridge.transport.deliveries.expiry import now_ms
from jmsbridge.transport.network.forking import held_at_fork
from jmsbridge_pulsar.receiving.delivery import Delivery
from jmsbridge_pulsar.receiving.memory import Key

__all__ = ["Beginning", "Place", "Progress"]

Place = tuple[int, int]
"""Ledger and entry of a message."""

_FIRST: Final = -1, -1  # before every message
_lock = held_at_fork(threading.Lock())
_all: "weakref.WeakSet[Progress]" = weakref.WeakSet()


class Beginning:
    """Of one consumer; for any thread. See ``Begins``; partition -1 is a topic without partitions."""

    def __init__(self) -> None:
        self._seen: dict[int, Place | None] = {}  # by partition, the message before the next one, as far as it is known
        self._is_open = False

    def asks(self, partition: int) -> bool:
        """See ``Begins``."""
        return not self._is_open and partition not in self._seen

    def learn(self, partition: int, last: Place | None) -> None:
        """See ``Begins``."""
        self._seen.setdefault(partition, last)

    def open(self) -> None:
        """The consumer is open on all partitions that there are."""
        self._is_open = True

    def close(self) -> None:
        """The consumer has ended."""
        self._is_open = False

    def start(self, partition: int) -> Place | None:
        """See ``Begins``."""
        return self._seen.setdefault(partition, _FIRST) if self._is_open else None


class Progress(Beginning):
    """How far one consumer of a shared subscription has come."""

    def __init__(self, subscription: tuple[str, str, str]) -> None:
        super().__init__()
        self.unsettled: dict[Key, Delivery] = {}
        """What the application, or the facade, has."""
        self._subscription = subscription
        self._moved_at = 0  # milliseconds since the epoch
        with _lock:
            _all.add(self)

    def see(self, key: Key) -> bool:
        """A message has come; returns whether it may have come before, to a consumer elsewhere."""
        before, seen = _before(key), self._seen.get(key[2])
        if seen is None or before > seen:
            self._seen[key[2]] = before
        return key[4] < self._moved_at

    def start(self, partition: int) -> Place | None:
        """See ``Begins``: before what any consumer of this process has not settled or not seen."""
        if not self._is_open:
            return None
        if partition not in self._seen:  # it is new
            return super().start(partition)
        with _lock:
            same = [each for each in _all if each._is_open and each._subscription == self._subscription]
        places = [place for each in same for place in each._open_places(partition)]
        for each in same:
            each._moved_at = now_ms()
        return min(places, default=None)

    def _open_places(self, partition: int) -> list[Place]:
        places = [_before(key) for key in list(self.unsettled) if key[2] == partition]
        seen = self._seen.get(partition)
        return places if seen is None else [*places, seen]


def _before(key: Key) -> Place:
    """The place before the message's: it may be one of several in its entry, of which others are to come."""
    return key[0], key[1] - 1
