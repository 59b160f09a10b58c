"""What this process has acknowledged lately.

An acknowledgement reaches the broker within 100 ms and its disk up to a minute later, so that a broker which is killed
delivers acknowledged messages again, unmarked. Those that come again here are acknowledged again and not shown.
"""

import itertools
import threading
import time
from collections import OrderedDict
from typing import Final

__all__ = ["Accepted", "Key", "accepted_of"]

_MOST: Final = 200_000  # ids of all subscriptions
_SUBSCRIPTIONS: Final = 1_000
_SECONDS: Final = 120.0

Key = tuple[int, int, int, int, int]
"""Ledger, entry, partition, index in a batch, and when it was published: a broker that lost its data counts anew."""

_numbers = itertools.count()
_times: OrderedDict[tuple[int, Key], float] = OrderedDict()  # the oldest first
_lock = threading.Lock()


class Accepted:
    """The ids of one subscription; for any thread."""

    def __init__(self) -> None:
        self._number = next(_numbers)

    def add(self, key: Key) -> None:
        """It is being acknowledged."""
        entry, now = (self._number, key), time.monotonic()
        with _lock:
            if entry in _times:
                _times.move_to_end(entry)
            _times[entry] = now
            while len(_times) > _MOST or now - next(iter(_times.values())) > _SECONDS:
                _times.popitem(last=False)

    def __contains__(self, key: Key) -> bool:
        added = _times.get((self._number, key))
        return added is not None and time.monotonic() - added <= _SECONDS


_subscriptions: OrderedDict[tuple[str, str, str], Accepted] = OrderedDict()


def accepted_of(cluster: str, topic: str, subscription: str) -> Accepted:
    """Those of a subscription, on whatever link they were acknowledged."""
    with _lock:
        made = _subscriptions.setdefault((cluster, topic, subscription), Accepted())
        _subscriptions.move_to_end((cluster, topic, subscription))
        if len(_subscriptions) > _SUBSCRIPTIONS:
            _subscriptions.popitem(last=False)
    return made
