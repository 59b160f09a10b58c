"""Locks with a rank: a thread takes them in order of rising rank only, and holds none while it calls user code."""

import threading
from enum import IntEnum

__all__ = ["Rank", "new_lock", "ranked"]


class Rank(IntEnum):
    """Lock order: a thread takes locks in order of rising rank only."""

    CONNECTION = 1
    SESSION = 2
    CONSUMER = 3
    INBOX = 4
    LEAF = 5


def new_lock(rank: Rank) -> threading.Lock:
    """A plain lock. ``tools/switching.py`` puts one here that checks the order of locks."""
    return threading.Lock()


def ranked(rank: Rank) -> threading.Lock:
    """A new lock of this rank."""
    return new_lock(rank)
