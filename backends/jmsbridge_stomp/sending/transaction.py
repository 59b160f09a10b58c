"""The transaction of a channel: its sends, on ActiveMQ Classic with its acknowledgements. For the I/O thread.

On Artemis acknowledgements take effect at once in any case. Each frame asks for a receipt, and COMMIT is written when
all have come, because a transaction with a refused message would otherwise commit without it.
"""

from collections.abc import Callable, Iterable
from itertools import count

from jmsbridge.spi import BackendError, ChannelLost, Ticket, TransactionRolledBack
from jmsbridge.transport.tickets import CallbackTicket
from jmsbridge_stomp.connection.errors import Refusal
from jmsbridge_stomp.sending.outgoing import Outgoing
from jmsbridge_stomp.sending.sender import Sender

__all__ = ["Transaction"]

_numbers = count(1)  # several channels may share a socket


class Transaction:
    """One at a time. ``ended`` is called when the next one may begin."""

    def __init__(self, sender: Sender, broker: Callable[[], str], ended: Callable[[], None]) -> None:
        self.is_ending = False
        self._sender = sender
        self._broker = broker
        self._ended = ended
        self._when_over: list[Callable[[bool], None]] = []
        self.when_connected = sender.when_connected
        self._id: str | None = None
        self._error: BackendError | None = None

    def send(self, outgoing: Outgoing) -> None:
        """Write a message; its ticket is answered now, since the commit will confirm it."""
        if self._id is None:
            self._begin()
        ticket, outgoing.ticket = outgoing.ticket, CallbackTicket(self._sent)
        assert self._id is not None
        outgoing.data = f"transaction:{self._id}\n".encode() + outgoing.data
        if self._error is None:
            self._sender.write(outgoing)
        if ticket is not None:
            ticket.succeed()

    def accept(self, acks: Iterable[bytes], over: Callable[[bool], None]) -> None:
        """Acknowledge messages that came over its socket; ``over`` is told whether it was committed."""
        if self._id is None:
            self._begin()
        self._when_over.append(over)
        if self._error is None:
            line = f"transaction:{self._id}\n".encode()
            for ack in acks:
                self._sender.acknowledge(ack + line, self._answered)

    def _begin(self) -> None:
        self._id = f"jb{next(_numbers)}"
        self._sender.refusal = None
        self._sender.ask("BEGIN", self._id, self._answered)

    def _answered(self, error: Refusal | BackendError | None) -> None:
        if error is not None:
            self._sent(error if isinstance(error, BackendError) else BackendError(str(error)))

    def _sent(self, error: BackendError | None) -> None:
        self._error = self._error or error

    def commit(self, ticket: Ticket) -> None:
        """Commit when all sends were answered; roll back if one was refused."""
        if self._id is None:
            ticket.succeed()
            return
        self.is_ending = True
        self._sender.when_idle(lambda: self._commit(ticket))

    def _commit(self, ticket: Ticket) -> None:
        error = self._failure()
        if self._id is None:  # the channel ended meanwhile
            return
        if error is not None:
            self._abort(lambda: ticket.fail(error))
            return

        def answered(error: Refusal | BackendError | None) -> None:
            self._over(committed=error is None)
            if error is None:
                ticket.succeed()
            elif isinstance(error, Refusal):
                ticket.fail(TransactionRolledBack(f"{self._broker()} refused the commit ({error})"))
            else:
                ticket.fail(error)
            self._ended()

        self._sender.ask("COMMIT", self._id, answered)

    def _failure(self) -> BackendError | None:
        """Why the transaction cannot be committed."""
        error: object = self._error or self._sender.refusal
        if error is None:
            return None
        made = TransactionRolledBack(f"a message of the transaction was refused: {error}")
        made.__cause__ = error if isinstance(error, BaseException) else None
        return made

    def rollback(self, ticket: Ticket) -> None:
        """Forget the sends."""
        if self._id is None:
            ticket.succeed()
            return
        self.is_ending = True
        self._abort(ticket.succeed)

    def _abort(self, then: Callable[[], None]) -> None:
        """Abort it; it is rolled back as well if the broker refuses that, or ends the socket."""
        name = self._id

        def aborted(error: object = None) -> None:
            self._over(committed=False)
            then()
            self._ended()

        if name is None or self._sender.refusal is not None or not self._sender.is_connected:
            aborted()
        else:
            self._sender.ask("ABORT", name, aborted)

    def _over(self, *, committed: bool) -> None:
        self._id = self._error = None
        self._sender.refusal = None
        self.is_ending = False
        tasks, self._when_over = self._when_over, []
        for task in tasks:
            task(committed)

    @property
    def is_open(self) -> bool:
        """Whether it has begun."""
        return self._id is not None

    def end(self, error: ChannelLost | BackendError) -> None:
        """The channel is lost, and with it the transaction."""
        self._error = self._error or error
