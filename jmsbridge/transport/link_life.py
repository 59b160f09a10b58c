"""One life of a link: asked with a deadline, dead once, every question answered, ``lost`` said once.

The backend says how to connect and what to close; this module says when, and what the callers hear.
"""

import threading
from collections.abc import Callable
from typing import Any, Protocol

from jmsbridge.spi import BackendError, ConnectFailed, Endpoint, LinkEvents, LinkLost
from jmsbridge.transport.io_thread import IoThread

__all__ = ["DEADLINE", "Done", "LinkLife", "Wire"]

DEADLINE = 30.0
"""Seconds within which the broker answers a question, or the link is given up."""
_JOINING = 5.0  # seconds for the I/O thread to end once it has let go of the broker
_SILENT = 0.9  # of the time for which a close waits: a broker that says nothing for so long is given up

Done = Callable[[Any, BackendError | None], None]
"""Gets the result, or the error; on the I/O thread."""


class Wire(Protocol):
    """What a link's life needs of its backend; called on the I/O thread, but for ``silence``."""

    def batch(self, task: Callable[[], None]) -> None:
        """Run work so that what it writes is one write per socket."""

    def explain(self, error: BaseException) -> LinkLost:
        """Why the link ended, in words."""

    def answer_all(self) -> None:
        """The link is dead: answer every open ticket and question."""

    def break_off(self, error: BaseException) -> None:
        """Close every socket at once, and ``IoThread.stop`` when all are closed."""

    def silence(self) -> float:
        """For how many seconds the broker has owed an answer and said nothing; from any thread."""


class LinkLife:
    """From the first attempt to connect to the death of the link. All but the I/O thread's own methods from any thread.

    ``broker`` is the broker's name in error messages; the backend sets it when it knows more. ``is_private`` is true as
    long as the facade does not have the link, so that its death is told by an exception of ``open`` alone.
    """

    def __init__(self, name: str, broker: str, endpoint: Endpoint, events: LinkEvents, wire: Wire) -> None:
        self.broker = broker
        self.endpoint = endpoint
        self.is_private = False
        self.thread = IoThread(name, wire.batch, self.die)
        self._events = events
        self._wire = wire
        self._waits: set[_Wait] = set()
        self._closing = False
        self._dead = False
        self._lock = threading.RLock()  # guards _closing and _dead; the handler of a signal may come here again

    # -- connecting

    def connect(self, start: Callable[[Done], None]) -> None:
        """Start the thread and connect, within the endpoint's ``connect_timeout``."""
        timeout = self.endpoint.connect_timeout
        wait = _Wait()
        self._waits.add(wait)
        self.thread.start(lambda: start(wait.done))
        wait.result(timeout + 1.0, ConnectFailed(f"{self.endpoint}: no answer within {timeout:g} s"))
        self._waits.discard(wait)

    def refuse(self, error: BackendError, done: Done) -> None:
        """The link could not be made; I/O thread."""
        self.thread.ended = LinkLost(str(error))
        self.thread.stop()
        done(None, error)

    # -- asking, from any thread but the I/O thread

    @property
    def is_over(self) -> bool:
        """Whether the link is dead."""
        return self.thread.ended is not None

    def check(self) -> None:
        """LinkLost when the link is dead."""
        if self.thread.ended is not None:
            raise self.lost_early()

    def wait(
        self, start: Callable[[Done], None], what: str, *, patience: float = DEADLINE, optional: bool = False
    ) -> Any:
        """Start something on the I/O thread and wait for its result; a broker that does not answer within ``patience``
        seconds is given up.

        ``optional`` says that the end of the link is as good an answer as any.
        """
        wait = _Wait()
        self._waits.add(wait)
        try:
            self.check()
            self.thread.post(lambda: start(wait.done))
            late = LinkLost(f"{what}: no answer from {self.broker} within {patience:.3g} s", in_doubt=True)
            try:
                return wait.result(patience, late)
            except LinkLost as error:
                if error is late:
                    self.thread.post(lambda: self.die(late))
                raise
        except LinkLost:
            if not optional:
                raise
            return None
        finally:
            self._waits.discard(wait)

    def wait_closing(self, start: Callable[[Done], None], what: str, *, optional: bool = True) -> None:
        """Start the end of something on the I/O thread and wait for it, no longer than ``close_timeout`` says.

        The time for which the broker already owes an answer counts. A broker that says nothing at all is given up; one
        that is only slow ends it later. Either is good enough where that is ``optional``, as is a link that ends
        meanwhile.
        """
        timeout = self.endpoint.close_timeout
        late = BackendError(f"{what}: no answer from {self.broker} within {timeout:.3g} s", in_doubt=True)
        wait = _Wait()
        self._waits.add(wait)
        try:
            self.check()
            self.thread.post(lambda: start(wait.done))
            wait.result(max(0.0, timeout - self._wire.silence()), late)
        except BackendError as error:
            if error is late and self._wire.silence() >= _SILENT * timeout:
                self.thread.post(lambda: self.die(LinkLost(str(late), in_doubt=True)))
            if not optional or not (error is late or isinstance(error, LinkLost)):
                raise
        finally:
            self._waits.discard(wait)

    def lost_early(self) -> LinkLost:
        """For what was not handed to the broker."""
        return _copy(self.thread.ended, in_doubt=False)

    def lost_late(self) -> LinkLost:
        """For what the broker may have got."""
        return _copy(self.thread.ended, in_doubt=True)

    # -- the end

    def die(self, error: BaseException) -> None:
        """Answer everything that is open, say so, and let go of the sockets; I/O thread."""
        with self._lock:
            is_first, self._dead = not self._dead, True
        if is_first:
            if self._closing:
                self.thread.ended = LinkLost("the link was closed")
            else:
                self.thread.ended = error if isinstance(error, LinkLost) else self._wire.explain(error)
            self._wire.answer_all()
            for wait in list(self._waits):
                wait.done(None, self.lost_late())
            if not self._closing and not self.is_private:
                self._events.lost(self.lost_early())
        self._wire.break_off(error)

    def close(self, start: Callable[[], None]) -> None:
        """End the link, beginning with ``start`` on the I/O thread; idempotent, within the ``close_timeout``."""
        with self._lock:
            self._closing = True
        if self.thread.ended is None:
            self.thread.post(lambda: self._close(start))  # each time, so that an interrupted close can be repeated
        self.thread.join(self.endpoint.close_timeout + _JOINING)

    def _close(self, start: Callable[[], None]) -> None:
        patience = max(0.0, self.endpoint.close_timeout - self._wire.silence())
        self.thread.call_later(patience, lambda: self.die(LinkLost("the link was closed")))
        start()


class _Wait:
    """One answer on its way from the I/O thread.

    A plain lock, because an interrupt while waiting for an event or a condition may leave it locked, and the I/O thread
    would then stop there for ever.
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
