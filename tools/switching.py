"""A pytest plugin of this checkout: threads switch as often as possible, in order to provoke races.

Use: ``python -m pytest -p tools.switching …``. The interpreter may switch threads after every microsecond; every lock
made from now on yields, the embedded broker's included; the locks of the core check their order too
(``tools/invariants.py``).
"""

import random
import sys
import threading
import time
from types import TracebackType

import pytest

from tools.invariants import check_invariants

__all__ = ["INTERVAL", "YieldingLock", "pytest_configure", "pytest_report_header", "pytest_unconfigure"]

INTERVAL = 1e-6
"""Seconds; Python's own is 5 ms."""
_SHARE = 0.2

_make = threading.Lock
_interval = sys.getswitchinterval()
_patch = pytest.MonkeyPatch()
_chance = random.Random()  # A separate generator, because tests seed the global one.


class YieldingLock:
    """A lock that lets other threads run before it is taken and after it is released."""

    def __init__(self) -> None:
        self._lock = _make()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """As ``threading.Lock``."""
        _perhaps_yield()
        return self._lock.acquire(blocking, timeout)

    def release(self) -> None:
        """As ``threading.Lock``."""
        self._lock.release()
        _perhaps_yield()

    def locked(self) -> bool:
        """As ``threading.Lock``."""
        return self._lock.locked()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def _perhaps_yield() -> None:
    if _chance.random() < _SHARE:
        time.sleep(0)


def pytest_configure(config: pytest.Config) -> None:
    """Begin; in each worker of pytest-xdist too."""
    sys.setswitchinterval(INTERVAL)
    _patch.setattr(threading, "Lock", YieldingLock)
    check_invariants(_patch)


def pytest_unconfigure(config: pytest.Config) -> None:
    """End."""
    _patch.undo()
    sys.setswitchinterval(_interval)


def pytest_report_header(config: pytest.Config) -> str:
    """Say so."""
    return f"threads: switched every {sys.getswitchinterval():g} s, locks yield and check their order"
