"""Handlers for the signals that ask a process to end."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["handling_stops"]


@contextmanager
def handling_stops(handle: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    """Have SIGTERM and SIGINT call ``handle`` until the block ends. Only for the main thread.

    A child that is forked meanwhile has nothing to stop in order: there they do what they did before.
    """
    owner = os.getpid()

    def handle_here(number: int, frame: FrameType | None) -> None:
        if os.getpid() == owner:
            handle(number, frame)
            return
        signal.signal(number, before[signal.Signals(number)] or signal.SIG_DFL)
        os.kill(os.getpid(), number)

    before = {number: signal.signal(number, handle_here) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
