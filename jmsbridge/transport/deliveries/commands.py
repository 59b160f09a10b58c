"""Passes the verbs of a subscription to the I/O thread, in call order."""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from jmsbridge.spi import BackendError, Ticket
from jmsbridge.transport.network.io_thread import Mailbox
from jmsbridge.transport.network.link_life import LinkLife

__all__ = ["Commands"]


class _Command(NamedTuple):
    ticket: Ticket | None
    run: Callable[[], None]


class Commands:
    """``refusal`` returns the error for commands that can no longer be run although the link lives, else None.

    ``settle_accepted`` accepts messages, by their tokens; a call for each of them would be a good part of their cost.
    """

    def __init__(
        self,
        life: LinkLife,
        refusal: Callable[[], BackendError | None],
        settle_accepted: Callable[[Sequence[Any]], None],
    ) -> None:
        self._life = life
        self._refusal = refusal
        self._settle_accepted = settle_accepted
        self._box: Mailbox[_Command | Sequence[Any]] = Mailbox(life.thread, self._work, self._refuse)

    def put(self, ticket: Ticket | None, run: Callable[[], None]) -> None:
        """Run this on the I/O thread. If that is no longer possible, the ticket fails."""
        self._box.put(_Command(ticket, run), waits=False)

    def accept(self, tokens: Sequence[Any]) -> None:
        """Accept these messages on the I/O thread, if that is still possible."""
        self._box.put(tokens)

    def watch(self, awaited: int) -> None:
        """What is accepted within about a millisecond need not wake the I/O thread; on that thread.

        The last of ``awaited`` messages wakes it at once, if they are accepted one by one.
        """
        self._box.watch(awaited)

    def work(self) -> None:
        """Run what waits, before the subscription ends; on the I/O thread."""
        self._box.work()

    def refuse_all(self) -> None:
        """The link is lost: fail the tickets of commands that were not run."""
        self._box.refuse_all()

    def _work(self, commands: deque[_Command | Sequence[Any]]) -> None:
        while commands:
            command = commands.popleft()
            error = self._refusal()
            if not isinstance(command, _Command):
                if error is None:
                    self._settle_accepted([*command, *_further_accepted(commands)])
            elif error is None:
                command.run()
            elif command.ticket is not None:
                command.ticket.fail(error)

    def _refuse(self, command: _Command | Sequence[Any]) -> None:
        if isinstance(command, _Command) and command.ticket is not None:
            command.ticket.fail(self._life.lost())


def _further_accepted(commands: deque[_Command | Sequence[Any]]) -> list[Any]:
    """Remove and return what is accepted before the next other command."""
    tokens: list[Any] = []
    while commands and not isinstance(accepted := commands[0], _Command):
        tokens += accepted
        commands.popleft()
    return tokens
