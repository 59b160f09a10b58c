"""Keeps SQLite still while the process forks: the child would inherit locks which none of its threads releases."""

import threading
import time
import weakref
from types import TracebackType
from typing import Final

__all__ = ["Use", "pause_all", "resume_all"]

_PATIENCE: Final = 5.0  # seconds that a fork waits at most


class Use:
    """Held by the thread of a connection while it uses it, and never while it calls out."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        _living.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._lock.release()

    def pause(self, deadline: float) -> bool:
        """Wait until the connection is not used; whether that was so before the monotonic ``deadline``."""
        return self._lock.acquire(timeout=max(0.0, deadline - time.monotonic()))

    def resume(self) -> None:
        """It may be used again."""
        self._lock.release()


_living: "weakref.WeakSet[Use]" = weakref.WeakSet()
_paused: list[Use] = []


def pause_all() -> None:
    """Before a fork, while no file is opened: wait until no connection of this process is used."""
    deadline = time.monotonic() + _PATIENCE
    _paused.extend(use for use in list(_living) if use.pause(deadline))


def resume_all() -> None:
    """After the fork, in both processes."""
    while _paused:
        _paused.pop().resume()
