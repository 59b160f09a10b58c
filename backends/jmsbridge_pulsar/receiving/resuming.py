"""Where a shared subscription that is not durable goes on after its topic has moved.

The broker forgets such a subscription when it unloads the topic. The consumers come back by themselves, and the first
of them makes the subscription anew: at the end of the topic, unless it says after which message. That is the one
before everything that consumers of this process have not settled, or not seen yet. What consumers elsewhere have
settled may come again then, so all that was published before is marked as redelivered.
"""

import threading
import weakref
from typing import Final

from jmsbridge.transport.deliveries.expiry import now_ms
from jmsbridge_pulsar.receiving.delivery import Delivery
from jmsbridge_pulsar.receiving.memory import Key

__all__ = ["Place", "Progress"]

Place = tuple[int, int]
"""Ledger and entry of a message."""

_WHOLE: Final = -1  # the partition of messages of a topic that has none
_lock = threading.Lock()
_all: "weakref.WeakSet[Progress]" = weakref.WeakSet()


class Progress:
    """How far one consumer of the subscription has come; for any thread."""

    def __init__(self, subscription: tuple[str, str, str]) -> None:
        self.unsettled: dict[Key, Delivery] = {}
        """What the application, or the facade, has."""
        self._subscription = subscription
        self._seen: dict[int, Place] = {}  # by partition, the message before the latest one that has come
        self._is_open = False
        self._moved_at = 0  # milliseconds since the epoch
        with _lock:
            _all.add(self)

    def begin(self, last: Place | None) -> None:
        """The consumer is open; ``last`` is the last message of the topic, if that is known."""
        self._is_open = True
        if last is not None:
            self._seen.setdefault(_WHOLE, last)

    def see(self, key: Key) -> bool:
        """A message has come; returns whether it may have come before, to a consumer elsewhere."""
        before = _before(key)
        if before > self._seen.get(key[2], ()):
            self._seen[key[2]] = before
        return key[4] < self._moved_at

    def close(self) -> None:
        """The consumer has ended."""
        self._is_open = False

    def start(self, partition: int) -> Place | None:
        """After which message the subscription begins, if it is made anew; None: at the end of the topic."""
        if not self._is_open:
            return None
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
