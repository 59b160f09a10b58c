"""Long work in short slices, between which other threads get the broker's lock."""

import time
from collections.abc import Callable
from time import perf_counter
from typing import Final

from jmsbridge_embedded.memory.queues.state import BrokerState

__all__ = ["PAUSE", "do_slice", "in_slices"]

_SLICE: Final = 0.001
"""Seconds of work under the lock, at most."""

PAUSE: Final = 0.0001
"""Seconds between two slices. Releasing the lock is not enough: a waiting thread also needs the interpreter's lock,
which a busy thread keeps for 5 ms."""


def in_slices(state: BrokerState, step: Callable[[], bool]) -> None:
    """Call ``step`` with the broker's lock held until it returns False; the lock is released between slices."""
    more = True
    while more:
        with state.lock:
            if state.step is not None:
                state.repair()
            more = do_slice(step)
            state.step = None
        if more:
            time.sleep(PAUSE)  # sleep: gives way


def do_slice(step: Callable[[], bool]) -> bool:
    """Call ``step`` for about a millisecond; return whether there is more to do."""
    until = perf_counter() + _SLICE
    while step():
        if perf_counter() >= until:
            return True
    return False
