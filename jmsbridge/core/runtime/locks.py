"""Locks with a rank, so that tests can check the lock order.

In production ``ranked`` returns plain ``threading.Lock`` objects. With ``JMSBRIDGE_DEBUG_LOCKS=order`` every
acquisition checks that the thread holds no lock of the same or a higher rank; with ``yield`` other threads also get a
chance to run before each acquisition.
"""

import os
import random
import threading
import time
from enum import IntEnum
from typing import cast

__all__ = ["CHECKS", "OrderedLock", "Rank", "assert_unlocked", "ranked"]


class Rank(IntEnum):
    """Lock order: a thread takes locks in order of rising rank only."""

    CONNECTION = 1
    SESSION = 2
    CONSUMER = 3
    INBOX = 4
    LEAF = 5


_DEBUG = os.environ.get("JMSBRIDGE_DEBUG_LOCKS", "")

CHECKS = bool(_DEBUG)
"""Whether this process checks internal invariants."""

_held = threading.local()


def _stack() -> list[Rank]:
    stack: list[Rank] | None = getattr(_held, "ranks", None)
    if stack is None:
        stack = _held.ranks = []
    return stack


class OrderedLock:
    """A lock that fails when it is taken out of order. For tests only: an interrupt may leave it held."""

    def __init__(self, rank: Rank, *, yielding: bool = False) -> None:
        self._lock = threading.Lock()
        self._rank = rank
        self._yielding = yielding
        self._owner: int | None = None

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Take the lock; AssertionError if the thread holds one of the same or a higher rank."""
        stack = _stack()
        assert not stack or stack[-1] < self._rank, f"lock order: {self._rank!r} wanted while {stack!r} held"
        if self._yielding and random.random() < 0.2:
            time.sleep(0)
        if not self._lock.acquire(blocking, timeout):
            return False
        stack.append(self._rank)
        self._owner = threading.get_ident()
        return True

    def release(self) -> None:
        """Release the lock."""
        self._owner = None
        _stack().remove(self._rank)
        self._lock.release()

    def _is_owned(self) -> bool:  # asked by threading.Condition
        return self._owner == threading.get_ident()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *error: object) -> None:
        self.release()


def ranked(rank: Rank) -> threading.Lock:
    """A new lock of this rank."""
    if CHECKS:
        return cast(threading.Lock, OrderedLock(rank, yielding="yield" in _DEBUG))
    return threading.Lock()


def assert_unlocked() -> None:
    """In debug mode, fail if the calling thread holds a ranked lock; called before user code and the SPI."""
    if CHECKS:
        assert not _stack(), f"calling out while holding {_stack()!r}"
