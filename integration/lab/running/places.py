"""Where brokers are kept: the user's cache folder, or `$JMSBRIDGE_BROKERS_CACHE`."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import platformdirs

from integration.lab.errors import BrokerFailed

__all__ = ["file_lock", "installations", "root", "runs"]


def root() -> Path:
    """The folder for all files of the launcher; it is outside the checkout."""
    chosen = os.environ.get("JMSBRIDGE_BROKERS_CACHE")
    path = Path(chosen).expanduser() if chosen else platformdirs.user_cache_path("jmsbridge") / "brokers"
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path.resolve()


def installations() -> Path:
    """Where fetched brokers are unpacked, one folder each."""
    return _folder("installed")


def runs() -> Path:
    """Where started brokers keep data, logs and state, one folder each."""
    return _folder("runs")


@contextmanager
def file_lock(name: str, timeout: float = 900.0) -> Iterator[None]:
    """Hold a lock between processes; it is freed when its holder ends. BrokerFailed after `timeout` seconds."""
    path = _folder("locks") / f"{name}.lock"
    deadline = time.monotonic() + timeout
    with path.open("a") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise BrokerFailed(f"another process has held {path} for {timeout:g} s") from None
                time.sleep(0.05)  # sleep: waiting for a file lock has no time-out
        yield


def _folder(name: str) -> Path:
    path = root() / name
    path.mkdir(mode=0o700, exist_ok=True)
    return path
