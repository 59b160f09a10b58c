"""Python threads that call Java: attached for the call, detached after it, waited for when their connection closes.

A Python thread that calls Java becomes a Java thread, and stays one after its end unless it is detached; one that is in
Java while the process ends blocks that end.
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
    """Holds a Java object, and may itself be forgotten on any thread: to let go of Java objects attaches a thread."""

    def __init__(self, java: Any) -> None:
        self.java = java

    def __del__(self) -> None:
        _dropped.append(self.java)


def release() -> None:
    """Let go of what was dropped; to be called on a thread that is in Java anyway."""
    _dropped.clear()


@cache
def _java_thread() -> Any:
    # Kept, because looking it up attaches the thread that asks.
    return jpype.JClass("java.lang.Thread")


def prepare() -> None:
    """To be called once on a thread that may be attached."""
    _java_thread()


@contextmanager
def attached() -> Iterator[None]:
    """The block may call Java; afterwards the thread is what it was before."""
    thread = _java_thread()
    fresh = not thread.isAttached()
    if fresh:
        thread.currentThread().setName(threading.current_thread().name)  # for who reads a dump of Java's threads
    try:
        yield
    finally:
        if fresh:
            thread.detach()


def wait_ended(owner: str = r"c\d+", patience: float = 10.0) -> list[str]:
    """Wait for the threads of listeners, of one connection or session or of all; the names of any that stay.

    Not for the caller's own, which is one of them when a listener closes another connection's.
    """
    lane = re.compile(rf"jmsbridge-{owner}(s\d+)?-(deliver|complete|exceptions)")
    mine = threading.current_thread()
    found = [thread for thread in threading.enumerate() if thread is not mine and lane.fullmatch(thread.name)]
    deadline = time.monotonic() + patience
    for thread in found:
        thread.join(max(0.0, deadline - time.monotonic()))
    return [thread.name for thread in found if thread.is_alive()]
