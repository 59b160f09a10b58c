"""Waiting for an answer or for a change of state; a signal handler may interrupt any wait and leaves nothing behind.

``threading.Condition`` is not fit for the main thread: interrupted inside ``wait`` it may come back without its lock.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Sequence

from jmsbridge.spi import BackendError, Cancels, Channel, Ticket

__all__ = ["LONGEST_WAIT", "AnswerMissing", "WaitSet", "Waiter", "cancel"]

LONGEST_WAIT = 1.0
"""Seconds after which every wait looks again by itself: whoever should have woken it may have been interrupted."""


class AnswerMissing(BackendError):
    """The broker did not answer in time; whether it did what was asked is unknown."""


class Waiter:
    """A ticket that one thread waits for."""

    __slots__ = ("_answer", "answered", "error")

    def __init__(self) -> None:
        self._answer = threading.Lock()
        self._answer.acquire()
        self.answered = False
        self.error: BackendError | None = None

    def succeed(self) -> None:
        """The broker did it."""
        if not self.answered:
            self.answered = True
            try:
                self._answer.release()
            except RuntimeError:  # answered twice in the same moment
                return

    def fail(self, error: BackendError) -> None:
        """The broker did not."""
        if not self.answered:
            self.error = error
            self.answered = True
            try:
                self._answer.release()
            except RuntimeError:
                return

    def wait_answer(self, timeout: float, what: str) -> None:
        """Return when the answer is yes; raise the answer when it is no, AnswerMissing after ``timeout`` seconds."""
        if not self.answered and not self._answer.acquire(timeout=timeout):
            raise AnswerMissing(f"no answer to {what} within {timeout:.3g} s; its outcome is unknown", in_doubt=True)
        if self.error is not None:
            raise self.error


def cancel(channel: Channel | None, tickets: Sequence[Ticket]) -> None:
    """Nobody waits for these sends any longer: those of which nothing was written are answered, where the backend can
    take them back.
    """
    if tickets and isinstance(channel, Cancels):
        with contextlib.suppress(BackendError):  # a dead link answers all of them
            channel.cancel(tickets)


class WaitSet:
    """The threads that wait for a change of some state. Needs no lock: who changes the state calls ``notify`` after it.

    A waiter announces itself before it looks at the state, so that no change between look and sleep is missed.
    """

    __slots__ = ("gates",)

    def __init__(self) -> None:
        self.gates: list[threading.Lock] = []
        """One for each thread that waits; empty while none does."""

    def notify(self) -> None:
        """The state has changed: everybody looks again."""
        for gate in tuple(self.gates):
            try:
                gate.release()
            except RuntimeError:  # was told already and has not looked yet
                continue

    def wait_for(self, is_so: Callable[[], bool], timeout: float | None) -> bool:
        """Wait until ``is_so()``; False when it is not so after ``timeout`` seconds (None: for ever).

        ``is_so`` may take a lock; the caller holds none.
        """
        if is_so():
            return True
        deadline = None if timeout is None else time.monotonic() + timeout
        gate = threading.Lock()
        gate.acquire()
        try:
            self.gates.append(gate)
            while not is_so():
                left = LONGEST_WAIT if deadline is None else min(LONGEST_WAIT, deadline - time.monotonic())
                if left <= 0:
                    return False
                gate.acquire(timeout=left)
            return True
        finally:
            if gate in self.gates:
                self.gates.remove(gate)
