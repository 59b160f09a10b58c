"""An application as the whole work of a process: signals, exit codes, and a broker that is away at the start."""

import logging
import os
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from jmsbridge.core.runtime.signals import handling_stops
from jmsbridge.errors import (
    InvalidArgument,
    InvalidClientID,
    InvalidSelector,
    JMSException,
    JMSSecurity,
    UnsupportedFeature,
)

if TYPE_CHECKING:
    from jmsbridge.app.application import App

__all__ = ["FAILED", "OK", "UNFINISHED", "StopRequests", "run"]

log = logging.getLogger("jmsbridge.app")

OK = 0
FAILED = 1
UNFINISHED = 4

_TICK = 0.5
_PAUSE = 1.0  # before the second attempt to connect; doubles
_LONGEST_PAUSE = 30.0
_HOPELESS = (JMSSecurity, InvalidArgument, InvalidClientID, InvalidSelector, UnsupportedFeature)
"""Another attempt would fail as well."""

StopRequests: TypeAlias = "queue.SimpleQueue[str]"
"""Why to stop. ``run`` waits on it, because a signal handler may put something in, unlike setting an Event."""


def run(app: "App", start: Callable[[], None], wanted: StopRequests) -> int:
    """See ``App.run``."""
    try:
        with _signals(app, wanted):
            return _run(app, start, wanted)
    finally:
        while not wanted.empty():  # further requests were for this run, too
            wanted.get()


def _run(app: "App", start: Callable[[], None], wanted: StopRequests) -> int:
    try:
        if not _start(start, wanted):
            return OK
    except KeyboardInterrupt:  # from ``_signals``
        log.info("stopping: %s before there was a connection", wanted.get())
        return OK
    except JMSException as error:
        log.error("cannot start: %s", error)
        return FAILED
    why = _wait(app, wanted)
    log.info("stopping: %s", why or "the connection is lost for good")
    late = app.stop()
    if why is None:
        log.error("the connection is lost for good")
        return FAILED
    if late:
        log.error("not ended in time; their messages will be delivered again: %s", ", ".join(late))
        return UNFINISHED
    log.info("stopped: all listeners have ended")
    return OK


def _start(start: Callable[[], None], wanted: StopRequests) -> bool:
    """Start it, as often as it takes; False if it was asked to stop before."""
    pause = _PAUSE
    while True:
        try:
            start()
            return True
        except JMSException as error:
            if isinstance(error, _HOPELESS):
                raise
            log.warning("cannot start yet; next attempt in %g s: %s", pause, error)
        if _next(wanted, pause) is not None:
            return False
        pause = min(pause * 2, _LONGEST_PAUSE)


def _wait(app: "App", wanted: StopRequests) -> str | None:
    """Why it is to stop; None if its connection is lost for good."""
    while True:
        why = _next(wanted, _TICK)
        if why is not None:
            return why
        if app.has_failed:
            return None


def _next(wanted: "queue.SimpleQueue[str]", timeout: float) -> str | None:
    deadline = time.monotonic() + timeout
    while (left := deadline - time.monotonic()) > 0:
        try:
            return wanted.get(timeout=min(left, _TICK))
        except queue.Empty:
            continue  # in steps, so that a signal handler runs soon on every system
    return None


@contextmanager
def _signals(app: "App", wanted: StopRequests) -> Iterator[None]:
    """SIGTERM and SIGINT ask to stop, the second time they end the process; only in the main thread.

    They interrupt connecting, because a broker may be silent for long.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    seen: list[int] = []

    def handle(number: int, frame: Any) -> None:
        if seen:
            os.write(2, b"stopped at once by a second signal; messages that were not settled come again\n")
            os._exit(128 + number)
        seen.append(number)
        wanted.put(signal.Signals(number).name)
        if app.is_connecting:
            raise KeyboardInterrupt

    with handling_stops(handle):
        yield
