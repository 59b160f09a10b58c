"""Python threads that call Java: attached for the call, detached after it, awaited when their connection closes.

A Python thread that calls Java becomes a Java thread, and remains one after its end unless it is detached; one that is
inside Java while the process ends blocks the process.
"""

import re
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import jpype

__all__ = ["Held", "attached", "prepare", "release", "wait_ended"]

_dropped: deque[Any] = deque()


class Held:
    """References a Java object and may be dropped on any thread, although releasing Java objects attaches a thread."""

    def __init__(self, java: Any) -> None:
        self.java = java

    def __del__(self) -> None:
        _dropped.append(self.java)


def release() -> None:
    """Release the dropped Java objects; to be called on a thread that is attached anyway."""
    _dropped.clear()


@cache
def _java_thread() -> Any:
    # Kept, because looking it up attaches the calling thread.
    return jpype.JClass("java.lang.Thread")


def prepare() -> None:
    """Look up the Java classes; to be called once, on a thread that may be attached."""
    _java_thread()


@contextmanager
def attached() -> Iterator[None]:
    """The block may call Java; afterwards the thread is detached again, if it was before."""
    thread = _java_thread()
    fresh = not thread.isAttached()
    if fresh:
        thread.currentThread().setName(threading.current_thread().name)  # for dumps of Java's threads
    try:
        yield
    finally:
        if fresh:
            thread.detach()


def wait_ended(owner: str = r"c\d+", patience: float = 10.0) -> list[str]:
    """Wait for the threads of listeners of a connection, of a session or of all; return the names of those that stay.

    The calling thread is left out, which is a listener's if a listener closes another connection.
    """
    lane = re.compile(rf"jmsbridge-{owner}(s\d+)?-(deliver|complete|exceptions)")
    mine = threading.current_thread()
    found = [thread for thread in threading.enumerate() if thread is not mine and lane.fullmatch(thread.name)]
    deadline = time.monotonic() + patience
    for thread in found:
        thread.join(max(0.0, deadline - time.monotonic()))
    return [thread.name for thread in found if thread.is_alive()]
