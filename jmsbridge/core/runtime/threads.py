"""Starting threads from any thread, the main thread included."""

import _thread
import logging
import threading
from collections.abc import Callable

from jmsbridge.core.runtime.interrupts import in_main_thread

__all__ = ["cannot_start", "start_thread"]

log = logging.getLogger("jmsbridge.threads")


def start_thread(name: str, run: Callable[[], None]) -> None:
    """Start a daemon thread; RuntimeError if the system cannot start more.

    ``threading.Thread.start`` is not safe in the main thread: if a signal handler raises in it, the new thread may
    never run.
    """
    thread = threading.Thread(target=run, name=name, daemon=True)
    if in_main_thread():
        _thread.start_new_thread(_start, (thread,))
    else:
        thread.start()


def _start(thread: threading.Thread) -> None:
    try:
        thread.start()
    except RuntimeError:
        cannot_start(thread.name)


def cannot_start(name: str) -> None:
    """Log the RuntimeError of a thread whose work comes later; while Python ends, as 3.12 starts none, say nothing."""
    if threading.main_thread().is_alive():
        log.critical("%s: the thread cannot be started", name, exc_info=True)
