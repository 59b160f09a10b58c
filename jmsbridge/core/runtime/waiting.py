"""Waits for an answer or for a change of state; a signal handler may interrupt any of them safely.

``threading.Condition`` is not safe in the main thread: an interrupted ``wait`` may return without holding the lock.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from jmsbridge.spi import BackendError, Cancels, Channel, Ticket

__all__ = ["LONGEST_WAIT", "AnswerMissing", "Gate", "OneAnswer", "WaitSet", "Waiter", "cancel", "wait_answered"]

LONGEST_WAIT = 1.0
"""Seconds after which every wait checks again by itself, in case the thread that should wake it was interrupted."""


class AnswerMissing(BackendError):
    """The broker did not answer in time; whether it did what was asked is unknown."""


class OneAnswer:
    """A ticket of which the first answer counts; subclasses set both attributes, and say in ``_tell`` what follows."""

    __slots__ = ("answered", "error")
    answered: bool
    error: BackendError | None

    def succeed(self) -> None:
        """The broker did it."""
        if not self.answered:
            self.answered = True
            self._tell()

    def fail(self, error: BackendError) -> None:
        """The broker did not do it, or it is in doubt."""
        if not self.answered:
            self.error = error
            self.answered = True
            self._tell()

    def _tell(self) -> None:
        raise NotImplementedError


class Waiter(OneAnswer):
    """A ticket for whose answer one thread waits."""

    __slots__ = ("_gate",)

    def __init__(self) -> None:
        self._gate: threading.Lock | None = None  # while the thread waits
        self.answered = False
        self.error = None

    def _tell(self) -> None:
        if self._gate is not None:
            with contextlib.suppress(RuntimeError):  # answered twice in the same moment
                self._gate.release()

    def wait_answer(self, timeout: float, what: str) -> None:
        """Wait for success; raise the error, or AnswerMissing after ``timeout`` seconds."""
        if not self.answered and not self._is_answered_within(timeout):
            raise AnswerMissing(f"no answer to {what} within {timeout:.3g} s; its outcome is unknown", in_doubt=True)
        if self.error is not None:
            raise self.error

    def _is_answered_within(self, timeout: float) -> bool:
        gate = threading.Lock()
        gate.acquire()
        self._gate = gate  # before ``answered`` is read: an answer from now on opens it
        return self.answered or gate.acquire(timeout=timeout)


def wait_answered(ask: Callable[[Ticket], None], timeout: float, what: str) -> None:
    """Call a verb of the backend and wait for its answer: raises its error, or AnswerMissing after ``timeout`` s."""
    waiter = Waiter()
    ask(waiter)
    waiter.wait_answer(timeout, what)


def cancel(channel: Channel | None, tickets: Sequence[Ticket]) -> None:
    """Cancel the sends of which nothing was written yet, if the backend can; their tickets are then answered."""
    if tickets and isinstance(channel, Cancels):
        with contextlib.suppress(BackendError):  # a dead link answers all of them
            channel.cancel(tickets)


class Gate(Protocol):
    """What a waiter waits at: a lock, or something that wakes a task."""

    def release(self) -> None:
        """Let it check again; RuntimeError if it has been told and has not checked yet."""


class WaitSet:
    """The threads, and tasks, that wait for some state to change. Needs no lock: call ``notify`` after a change.

    A waiter registers before it checks the state, so that it does not miss a change between the check and the wait.
    """

    __slots__ = ("gates",)

    def __init__(self) -> None:
        self.gates: list[Gate] = []
        """One for each waiting thread or task; empty if there is none."""

    def notify(self) -> None:
        """The state has changed: all waiting threads check again."""
        for gate in tuple(self.gates):
            try:
                gate.release()
            except RuntimeError:  # already notified, and has not checked yet
                continue

    def wait_for(self, is_so: Callable[[], bool], timeout: float | None) -> bool:
        """Wait until ``is_so()``; False if it is not after ``timeout`` seconds (None: wait for ever).

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
