"""What this process has of a subscription, and what it has acknowledged or lost lately.

An acknowledgement reaches the broker within 0.2 s and its disk up to a minute later, so that a broker which is killed
delivers acknowledged messages again, unmarked. Those that come again here are acknowledged again and not shown.

A broker also forgets who has which messages when their topic moves, and does not count it as a delivery when a
connection is lost. So it may send what one consumer of this process has, or had, to another one, as if it were new.
"""

import itertools
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

from jmsbridge.transport.network.forking import held_at_fork

__all__ = ["Key", "Known", "Lately", "known_of"]

_MOST: Final = 200_000  # ids of all subscriptions
_SUBSCRIPTIONS: Final = 1_000
_SECONDS: Final = 120.0

Key = tuple[int, int, int, int, int]
"""Ledger, entry, partition, index in a batch, and when it was published: a broker that lost its data counts anew."""

_numbers = itertools.count()
_times: OrderedDict[tuple[int, Key], float] = OrderedDict()  # the oldest first
_lock = held_at_fork(threading.Lock())


class Lately:
    """Ids that were added lately; for any thread."""

    def __init__(self) -> None:
        self._number = next(_numbers)

    def add(self, *keys: Key) -> None:
        """Add these, or know them for as long again."""
        number, now = self._number, time.monotonic()
        with _lock:
            for key in keys:
                entry = number, key
                if entry in _times:
                    _times.move_to_end(entry)
                _times[entry] = now
            while _times and (len(_times) > _MOST or now - next(iter(_times.values())) > _SECONDS):
                _times.popitem(last=False)

    def __contains__(self, key: Key) -> bool:
        added = _times.get((self._number, key))
        return added is not None and time.monotonic() - added <= _SECONDS


class Known:
    """The messages of one subscription; for any thread. ``holder`` is the object that stands for a message here."""

    def __init__(self) -> None:
        self.accepted = Lately()
        self._lost = Lately()
        self._has_lost = False
        self._held: dict[Key, object] = {}  # the latest holder of each

    def take(self, key: Key, holder: object) -> bool:
        """A consumer has it; whether one has or had it already, and has not settled it."""
        had = key in self._held or (self._has_lost and key in self._lost)
        self._held[key] = holder
        return had

    def let_go(self, key: Key, holder: object) -> None:
        """It is settled, or nobody has seen it."""
        if self._held.get(key) is holder:
            self._held.pop(key, None)

    def lose(self, holders: Iterable[tuple[Key, object]]) -> None:
        """A consumer returns these, or its link is lost and they were not settled."""
        for key, holder in holders:
            self._has_lost = True
            self._lost.add(key)
            self.let_go(key, holder)


_subscriptions: OrderedDict[tuple[str, str, str], Known] = OrderedDict()


def known_of(cluster: str, topic: str, subscription: str) -> Known:
    """The messages of a subscription, on whatever link they came."""
    with _lock:
        made = _subscriptions.setdefault((cluster, topic, subscription), Known())
        _subscriptions.move_to_end((cluster, topic, subscription))
        if len(_subscriptions) > _SUBSCRIPTIONS:
            _subscriptions.popitem(last=False)
    return made
