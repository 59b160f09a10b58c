"""Starting threads from any thread, the main thread included."""

import _thread
import logging
import threading
from collections.abc import Callable

from jmsbridge.core.runtime.interrupts import in_main_thread

__all__ = ["start_thread"]

log = logging.getLogger("jmsbridge.threads")


def start_thread(name: str, run: Callable[[], None]) -> None:
    """Start a daemon thread; RuntimeError where the system allows no more.

    ``threading.Thread.start`` is not fit for the main thread: a signal handler that raises in it may keep the new
    thread from running.
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
        log.critical("%s: the thread cannot be started", thread.name, exc_info=True)
