"""Answers a ticket exactly once (promise 1 of ``jmsbridge.spi.backend``)."""

from collections.abc import Callable

from jmsbridge.spi import BackendError, Ticket

__all__ = ["Answer", "CallbackTicket"]


class Answer:
    """``with Answer(ticket): …`` succeeds the ticket, or fails it with the ``BackendError`` raised inside.

    Without a ticket the error is raised. Any other exception is a defect: it is raised and the ticket is not answered.
    """

    __slots__ = ("_ticket",)

    def __init__(self, ticket: Ticket | None) -> None:
        self._ticket = ticket

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if self._ticket is None:
            return False
        if error is None:
            self._ticket.succeed()
        elif isinstance(error, BackendError):
            self._ticket.fail(error)
        return isinstance(error, BackendError)


class CallbackTicket:
    """A ticket of the backend's own: ``done`` gets None, or the error."""

    __slots__ = ("_done",)

    def __init__(self, done: Callable[[BackendError | None], None]) -> None:
        self._done = done

    def succeed(self) -> None:
        """The broker did it."""
        self._done(None)

    def fail(self, error: BackendError) -> None:
        """The broker did not do it, or may not have."""
        self._done(error)
