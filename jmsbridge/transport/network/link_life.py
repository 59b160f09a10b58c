"""The life of a link: requests with a deadline, and one end at which all requests are answered and ``lost`` is called.

The backend implements how to connect and what to close; this module decides when, and which errors callers get.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from jmsbridge.spi import BackendError, ConnectFailed, Endpoint, LinkEvents, LinkLost
from jmsbridge.transport.network.diagnosis import SILENT
from jmsbridge.transport.network.io_thread import IoThread

__all__ = ["DEADLINE", "Done", "LinkLife", "Wire", "after_all", "ignored"]

log = logging.getLogger("jmsbridge.transport")

DEADLINE = 30.0
"""Seconds within which the broker must answer a request; otherwise the link is given up."""
_JOINING = 5.0  # seconds for the I/O thread to end once its sockets are closed
_AFTER_LATE = 0.5  # seconds that a close waits for a broker that was too slow for another, ``close_timeout`` before
_SILENT = 0.9  # a broker silent for this part of ``close_timeout`` is given up

Done = Callable[[Any, BackendError | None], None]
"""Gets the result or the error; called on the I/O thread."""


class Wire(Protocol):
    """What a backend implements for ``LinkLife``; called on the I/O thread, except ``silence``."""

    def batch(self, task: Callable[[], None]) -> None:
        """Run work, and join what it writes into one write per socket."""

    def explain(self, error: BaseException) -> LinkLost:
        """Explain in words why the link ended."""

    def answer_all(self) -> None:
        """The link is lost: answer every open ticket and request."""

    def break_off(self, error: BaseException) -> None:
        """Close every socket at once, and ``IoThread.stop`` when all are closed."""

    def silence(self) -> float:
        """For how many seconds the broker has owed an answer and sent nothing; from any thread."""


class LinkLife:
    """A link from the first attempt to connect to its end. Methods are for any thread unless they say "I/O thread".

    ``broker`` is the broker's name in error messages; the backend sets it when it knows more. ``when_lost`` is called
    before ``Wire.answer_all``, and then dropped, so that messages in use do not keep the link. While ``is_private`` is
    set, ``LinkEvents.lost`` is not called: the facade does not have the link yet, and ``open`` raises instead.
    """

    def __init__(self, name: str, broker: str, endpoint: Endpoint, events: LinkEvents, wire: Wire) -> None:
        self.broker = broker
        self.endpoint = endpoint
        self.is_private = False
        self.when_lost: list[Callable[[], None]] = []
        self.thread = IoThread(name, wire.batch, self.die)
        self._events = events
        self._wire = wire
        self._waits: set[_Wait] = set()
        self._closing = False
        self._dead = False
        self._slow_until = 0.0  # the ``time.monotonic()`` until which other closes wait only ``_AFTER_LATE``
        self._lock = threading.RLock()  # guards _closing and _dead; a signal handler may enter it again

    # -- connecting

    def open(self, start: Callable[[Done], None], deadline: float | None = None) -> None:
        """``connect``; if that fails, nothing is left open, and no loss is reported."""
        self.is_private = True
        try:
            self.connect(start, deadline)
            self.check()
        except BaseException as error:
            self.close(lambda: self.die(LinkLost("the link was not opened")))
            if isinstance(error, LinkLost):
                raise ConnectFailed(f"{self.endpoint}: {error}") from error
            raise
        self.is_private = False
        self.check()  # again: until now no loss was reported

    def connect(self, start: Callable[[Done], None], deadline: float | None = None) -> None:
        """Start the thread and connect, within the endpoint's ``connect_timeout``.

        ``deadline`` is the ``time.monotonic()`` at which that time ends, if it has begun already: after a redirect.
        """
        timeout = self.endpoint.connect_timeout
        left = timeout if deadline is None else deadline - time.monotonic()
        wait = _Wait()
        self._waits.add(wait)

        def begin() -> None:
            if self._closing:  # by another thread, which does not wait for this one if it was not running yet
                self.die(LinkLost("the link was closed"))
            else:
                start(wait.done)

        self.thread.start(begin)
        late = ConnectFailed(f"{self.endpoint}: no answer within {timeout:g} s; {SILENT}")
        wait.result(max(0.0, left + 1.0), late)
        self._waits.discard(wait)

    def refuse(self, error: BackendError, done: Done) -> None:
        """Connecting failed; I/O thread."""
        self.thread.ended = LinkLost(str(error))
        self.thread.stop()
        done(None, error)

    # -- asking, from any thread but the I/O thread

    @property
    def is_over(self) -> bool:
        """Whether the link has ended."""
        return self.thread.ended is not None

    def check(self) -> None:
        """Raise LinkLost if the link has ended."""
        if self.thread.ended is not None:
            raise self.lost()

    def wait(self, start: Callable[[Done], None], what: str, *, patience: float = DEADLINE) -> Any:
        """Start something on the I/O thread and wait for its result.

        If the broker does not answer within ``patience`` seconds, the link is given up.
        """
        wait = _Wait()
        self._waits.add(wait)

        def begin() -> None:
            if self._closing:  # what is begun now would find closed channels
                wait.done(None, LinkLost("the link was closed"))
            else:
                start(wait.done)

        try:
            self.check()
            self.thread.post(begin)
            late = LinkLost(f"{what}: no answer from {self.broker} within {patience:.3g} s", in_doubt=True)
            try:
                return wait.result(patience, late)
            except LinkLost as error:
                if error is late:
                    self.thread.post(lambda: self.die(late))
                raise
        finally:
            self._waits.discard(wait)

    def wait_closing(self, start: Callable[[Done], None], what: str, *, optional: bool = True) -> None:
        """Start closing something on the I/O thread and wait for it, at most ``close_timeout`` seconds.

        The time for which the broker has already owed an answer counts. If the broker sends nothing at all, the link is
        given up; if it is only slow, the close is finished later, and the next ones, also that of the link, wait only a
        moment, because a connection has many sessions and consumers. With ``optional`` neither is an error, nor is the
        loss of the link.
        """
        timeout = self.endpoint.close_timeout
        late = BackendError(f"{what}: no answer from {self.broker} within {timeout:.3g} s", in_doubt=True)
        wait = _Wait()
        self._waits.add(wait)
        try:
            self.check()
            self.thread.post(lambda: start(wait.done))
            wait.result(self._closing_patience(), late)
        except BackendError as error:
            if error is late:
                log.info("%s", late)
                self._slow_until = time.monotonic() + timeout
                if self._wire.silence() >= _SILENT * timeout:
                    self.thread.post(lambda: self.die(LinkLost(str(late), in_doubt=True)))
            if not optional or not (error is late or isinstance(error, LinkLost)):
                raise
        finally:
            self._waits.discard(wait)

    def _closing_patience(self) -> float:
        timeout = self.endpoint.close_timeout
        patience = timeout if time.monotonic() >= self._slow_until else min(timeout, _AFTER_LATE)
        return max(0.0, patience - self._wire.silence())

    def lost(self, in_doubt: bool = False) -> LinkLost:
        """The error for open requests; it is in doubt if the broker may have received them."""
        return _copy(self.thread.ended, in_doubt=in_doubt)

    # -- the end

    def die(self, error: BaseException) -> None:
        """Answer all open requests, report the loss, and close the sockets; I/O thread."""
        with self._lock:
            is_first, self._dead = not self._dead, True
        if is_first:
            if self._closing:
                self.thread.ended = LinkLost("the link was closed")
            else:
                self.thread.ended = error if isinstance(error, LinkLost) else self._wire.explain(error)
            try:
                tasks, self.when_lost = self.when_lost, []
                for task in tasks:
                    task()
                self._wire.answer_all()
            except Exception:  # a mistake in the backend must not hide the loss
                log.exception("unexpected error while open requests were answered")
            for wait in list(self._waits):
                wait.done(None, self.lost(in_doubt=True))
            if not self._closing and not self.is_private:
                self._events.lost(self.lost())
        self._wire.break_off(error)

    def close(self, start: Callable[[], None]) -> None:
        """Close the link, starting with ``start`` on the I/O thread, within ``close_timeout``; idempotent."""
        with self._lock:
            self._closing = True
        if self.thread.ended is None:
            self.thread.post(lambda: self._close(start))  # each time, so that an interrupted close can be repeated
        self.thread.join(self.endpoint.close_timeout + _JOINING)

    def _close(self, start: Callable[[], None]) -> None:
        self.thread.call_later(self._closing_patience(), self._close_late)
        start()

    def _close_late(self) -> None:
        if not self._dead:
            timeout = self.endpoint.close_timeout
            log.info("closing %s: no answer from %s within %.3g s", self.endpoint, self.broker, timeout)
        self.die(LinkLost("the link was closed"))


def after_all(starts: Iterable[Callable[[Done], object]], then: Callable[[], None]) -> None:
    """Start each of these, and call ``then`` when all are done, whatever their results; I/O thread."""
    waiting = list(starts)
    left = len(waiting) + 1

    def done(*_: object) -> None:
        nonlocal left
        left -= 1
        if not left:
            then()

    for start in waiting:
        start(done)
    done()


def ignored(*_: object) -> None:
    """For an answer that no caller waits for."""


class _Wait:
    """Waits for one answer from the I/O thread.

    It uses a plain lock: a signal handler that raises while a thread waits for an Event or Condition may leave that
    locked, and the I/O thread would then block for ever.
    """

    def __init__(self) -> None:
        self._answer: tuple[Any, BackendError | None] | None = None
        self._unanswered = threading.Lock()
        self._unanswered.acquire()

    def done(self, result: Any, error: BackendError | None) -> None:
        """The first answer counts; I/O thread."""
        if self._answer is None:
            self._answer = result, error
            self._unanswered.release()

    def result(self, timeout: float, late: BackendError) -> Any:
        """The result, or its error, or ``late``."""
        self._unanswered.acquire(timeout=timeout)
        if self._answer is None:
            raise late
        result, error = self._answer
        if error is not None:
            raise error
        return result


def _copy(lost: BackendError | None, *, in_doubt: bool) -> LinkLost:
    made = LinkLost(str(lost), in_doubt=in_doubt)
    made.__cause__ = lost.__cause__ if lost is not None else None
    return made
