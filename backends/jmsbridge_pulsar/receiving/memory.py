"""What this process has acknowledged lately.

An acknowledgement reaches the broker within 100 ms and its disk up to a minute later, so that a broker which is killed
delivers acknowledged messages again, unmarked. Those that come again here are acknowledged again and not shown.
"""

import threading
import time
from collections import OrderedDict
from typing import Final

__all__ = ["Accepted", "Key", "accepted_of"]

_MOST: Final = 50_000  # ids of one subscription
_SUBSCRIPTIONS: Final = 1_000
_SECONDS: Final = 120.0

Key = tuple[int, int, int, int]
"""Ledger, entry, partition and the index in a batch."""


class Accepted:
    """The ids of one subscription; for any thread."""

    def __init__(self) -> None:
        self._times: OrderedDict[Key, float] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, key: Key) -> None:
        """It is being acknowledged."""
        now = time.monotonic()
        with self._lock:
            self._times[key] = now
            oldest = next(iter(self._times))
            if len(self._times) > _MOST or now - self._times[oldest] > _SECONDS:
                del self._times[oldest]

    def __contains__(self, key: Key) -> bool:
        if not self._times:
            return False
        with self._lock:
            added = self._times.get(key)
        return added is not None and time.monotonic() - added <= _SECONDS


_subscriptions: OrderedDict[tuple[str, str, str], Accepted] = OrderedDict()
_lock = threading.Lock()


def accepted_of(cluster: str, topic: str, subscription: str) -> Accepted:
    """Those of a subscription, on whatever link they were acknowledged."""
    with _lock:
        made = _subscriptions.setdefault((cluster, topic, subscription), Accepted())
        _subscriptions.move_to_end((cluster, topic, subscription))
        if len(_subscriptions) > _SUBSCRIPTIONS:
            _subscriptions.popitem(last=False)
    return made
