"""Python threads that call Java: attached for the call, detached after it, waited for when their connection closes.

A Python thread that calls Java becomes a Java thread, and stays one after its end unless it is detached; one that is in
Java while the process ends blocks that end.
"""

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import jpype

__all__ = ["attached", "wait_ended"]

_PATIENCE = 10.0


@contextmanager
def attached() -> Iterator[None]:
    """The block may call Java; afterwards the thread is what it was before."""
    thread = jpype.JClass("java.lang.Thread")
    fresh = not thread.isAttached()
    try:
        yield
    finally:
        if fresh:
            thread.detach()


def wait_ended(connection: str = r"c\d+") -> list[str]:
    """Wait for the threads that jmsbridge runs listeners on, of one connection or of all; the names of any that stay.

    Not for the caller's own, which is one of them when a listener closes another connection's.
    """
    lane = re.compile(rf"jmsbridge-{connection}(s\d+)?-(deliver|complete|exceptions)")
    mine = threading.current_thread()
    found = [thread for thread in threading.enumerate() if thread is not mine and lane.fullmatch(thread.name)]
    deadline = time.monotonic() + _PATIENCE
    for thread in found:
        thread.join(max(0.0, deadline - time.monotonic()))
    return [thread.name for thread in found if thread.is_alive()]
