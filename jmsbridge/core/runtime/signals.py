"""Handlers for the signals that ask a process to end."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["handling_stops"]


@contextmanager
def handling_stops(handle: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    """Have SIGTERM and SIGINT call ``handle`` until the block ends. Only for the main thread."""
    before = {number: signal.signal(number, handle) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
