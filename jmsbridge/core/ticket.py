"""Tickets: the facade's side of an answer from the broker."""

import threading

from jmsbridge.spi import BackendError

__all__ = ["AnswerMissing", "Waiter"]


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
            self._answer.release()

    def fail(self, error: BackendError) -> None:
        """The broker did not."""
        if not self.answered:
            self.error = error
            self.answered = True
            self._answer.release()

    def wait_answer(self, timeout: float, what: str) -> None:
        """Return when the answer is yes; raise the answer when it is no, AnswerMissing after ``timeout`` seconds."""
        if not self.answered and not self._answer.acquire(timeout=timeout):
            raise AnswerMissing(f"no answer to {what} within {timeout:.3g} s; its outcome is unknown", in_doubt=True)
        if self.error is not None:
            raise self.error
