"""Passes the verbs of a subscription to the I/O thread, in call order."""

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from jmsbridge.spi import BackendError, Ticket
from jmsbridge.transport.network.io_thread import Mailbox
from jmsbridge.transport.network.link_life import LinkLife

__all__ = ["Commands"]


class _Command(NamedTuple):
    ticket: Ticket | None
    run: Callable[[], None]


class Commands:
    """``refusal`` returns the error for commands that can no longer be run although the link lives, else None."""

    def __init__(self, life: LinkLife, refusal: Callable[[], BackendError | None]) -> None:
        self._life = life
        self._refusal = refusal
        self._box: Mailbox[_Command] = Mailbox(life.thread, self._work, self._refuse)

    def put(self, ticket: Ticket | None, run: Callable[[], None]) -> None:
        """Run this on the I/O thread. If that is no longer possible, the ticket fails."""
        self._box.put(_Command(ticket, run))

    def refuse_all(self) -> None:
        """The link is lost: fail the tickets of commands that were not run."""
        self._box.refuse_all()

    def _work(self, commands: deque[_Command]) -> None:
        while commands:
            command = commands.popleft()
            error = self._refusal()
            if error is None:
                command.run()
            elif command.ticket is not None:
                command.ticket.fail(error)

    def _refuse(self, command: _Command) -> None:
        if command.ticket is not None:
            command.ticket.fail(self._life.lost_early())
