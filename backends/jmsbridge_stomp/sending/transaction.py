"""The transaction of a channel: its sends, on ActiveMQ Classic with its acknowledgements. For the I/O thread.

COMMIT is written when no frame before it can be refused any more, because a transaction with a refused message would
otherwise commit without it. In general each frame asks for a receipt. On Artemis, where acknowledgements take effect at
once in any case, it is enough if the last message has one.

Where the broker refuses the commit then, frames ask for none (see ``CommitRule``). But a frame that it cannot read as
what it should be, such as an acknowledgement of what it does not know, does not stop a commit. So the next transaction
is begun first: the answer to that comes behind the ERROR of such a frame, and only then COMMIT is written.

Classic keeps each message that was acknowledged in a transaction, and at every COMMIT it looks for each unsettled one
among these, until any transaction of the connection is aborted. So one is begun and aborted now and then. Its memory
has the messages even then, until the socket ends; but not if the consumer subscribed anew before (see ``Receiver``).

At COMMIT Classic also forgets the messages that other open transactions of the connection have acknowledged: if one of
those were then aborted, they could not be acknowledged again. So acknowledgements are written at the commit, and the
transactions of a socket that several channels share end one after the other (see ``Turns``).
"""

import logging
from collections.abc import Callable, Collection
from itertools import count
from typing import Final

from jmsbridge.spi import BackendError, ChannelLost, LinkLost, Ticket, TransactionRolledBack
from jmsbridge.transport.tickets import CallbackTicket
from jmsbridge_stomp.connection.errors import Refusal
from jmsbridge_stomp.connection.stomp_socket import StompSocket
from jmsbridge_stomp.sending.outgoing import Outgoing
from jmsbridge_stomp.sending.sender import Receipts, Sender
from jmsbridge_stomp.sending.turns import Turns

__all__ = ["Transaction"]

log = logging.getLogger("jmsbridge.stomp")

_numbers = count(1)  # several channels may share a socket
_MOST_KEPT: Final = 200_000  # comparisons in a commit: 1 ms of the broker
_EACH_KEPT: Final = 100  # for each message, even if none is unsettled


class Transaction:
    """One at a time. ``ended`` is called when the next one may begin."""

    def __init__(self, sender: Sender, broker: Callable[[], str], ended: Callable[[], None]) -> None:
        self.is_ending = False
        self._sender = sender
        self._broker = broker
        self._ended = ended
        self._when_over: list[Callable[[bool], None]] = []
        self.when_connected = sender.when_connected
        sender.stray = self._strayed
        self._id: str | None = None
        self._next: tuple[StompSocket | None, str] | None = None  # begun at the end of the one before, over this socket
        self._receipts = Receipts.EACH
        self._error: BackendError | None = None
        self._accepted: list[tuple[Collection[bytes], object, int]] = []  # what ``accept`` got
        self._turns: Turns | None = None  # where it is its turn to end

    def send(self, outgoing: Outgoing, *, is_last: bool) -> None:
        """Write a message; its ticket is answered now, since the commit will confirm it.

        ``is_last`` says that no other message is to be written at once.
        """
        name, receipts = self._begun(), self._receipts
        asks = receipts is Receipts.EACH
        if receipts is Receipts.LAST:
            asks = self._sender.remember(outgoing.address) or is_last
        ticket, outgoing.ticket = outgoing.ticket, CallbackTicket(self._sent) if asks else None
        outgoing.data = f"transaction:{name}\n".encode() + outgoing.data
        if not self._is_refused:
            self._sender.write(outgoing)
        if ticket is not None:
            ticket.succeed()

    def accept(self, acks: Collection[bytes], receiver: object, unsettled: int, over: Callable[[bool], None]) -> None:
        """Acknowledge messages that came over its socket; ``over`` is told whether it was committed.

        ``unsettled`` is how many others of the same receiver are not acknowledged.
        """
        self._begun()
        self._accepted.append((acks, receiver, unsettled))
        self._when_over.append(over)

    def _acknowledge(self) -> None:
        accepted, self._accepted = self._accepted, []
        socket = self._sender.current
        if socket is None or self._is_refused:
            return
        line = f"transaction:{self._id}\n".encode()
        answered = None if self._receipts is Receipts.NONE else self._answered
        for acks, receiver, unsettled in accepted:
            socket.kept[receiver] = socket.kept.get(receiver, 0) + len(acks) * (unsettled + _EACH_KEPT)
            for ack in acks:
                self._sender.acknowledge(ack + line, answered)

    def _begun(self) -> str:
        """Its name; it begins with its first frame."""
        if self._id is not None:
            return self._id
        begun, self._next = self._next, None
        self._receipts = self._sender.receipts
        self._sender.refusal = None
        if begun is not None and begun[0] is self._sender.current:
            self._id = begun[1]
        else:
            self._id = f"jb{next(_numbers)}"
            self._sender.ask("BEGIN", self._id, self._answered)
        return self._id

    @property
    def _is_refused(self) -> bool:
        """Whether the broker refused a frame of it, so that it can only be rolled back."""
        return self._error is not None or self._sender.refusal is not None

    def _answered(self, error: Refusal | BackendError | None) -> None:
        if error is not None:
            self._sent(error if isinstance(error, BackendError) else BackendError(str(error)))

    def _sent(self, error: BackendError | None) -> None:
        self._error = self._error or error

    def _strayed(self, refusal: Refusal) -> None:
        """The broker refused a frame that asked for no receipt: one of the transaction's."""
        if self._id is None:
            log.warning("%s reports an error: %s", self._broker(), refusal)
        else:
            self._answered(refusal)

    def commit(self, ticket: Ticket) -> None:
        """Commit when no frame of it can be refused any more; roll back if one was."""
        if self._id is None:
            ticket.succeed()
            return
        self.is_ending = True
        if self._sender.turns is None:
            self._commit_in_turn(ticket)
        else:  # the sends first: while a queue is full, the broker does not answer them
            self._sender.when_idle(lambda: self._in_turn(lambda: self._commit_in_turn(ticket)))

    def _in_turn(self, task: Callable[[], None]) -> None:
        """Run this when no other transaction of a shared socket is ending; ``_leave_turn`` follows."""
        turns = self._sender.turns
        if turns is None:
            task()
            return

        def granted() -> None:
            self._turns = turns
            task()

        turns.take(granted)

    def _leave_turn(self) -> None:
        turns, self._turns = self._turns, None
        if turns is not None:
            turns.leave()

    def _commit_in_turn(self, ticket: Ticket) -> None:
        self._acknowledge()
        if self._receipts is Receipts.NONE and not self._is_refused and self._sender.is_connected:
            self._begin_next(lambda: self._commit(ticket))
        else:
            self._sender.when_idle(lambda: self._commit(ticket))

    def _begin_next(self, then: Callable[[], None]) -> None:
        name, socket = f"jb{next(_numbers)}", self._sender.current

        def begun(error: Refusal | BackendError | None) -> None:
            if error is None:
                self._next = socket, name
            self._answered(error)
            then()

        self._sender.ask("BEGIN", name, begun)

    def _commit(self, ticket: Ticket) -> None:
        error = self._failure()
        if self._id is None:  # the channel was closed meanwhile
            ticket.fail(TransactionRolledBack("the channel was closed before the commit"))
            self._leave_turn()
            return
        if error is not None:
            self._abort(lambda: ticket.fail(error))
            return

        def answered(error: Refusal | BackendError | None) -> None:
            reported, asked = self._error, self._receipts is not Receipts.NONE
            self._over(committed=error is None)
            if isinstance(error, Refusal):
                self._refused(ticket, error, asked=asked)
            elif error is not None:
                ticket.fail(error)
            elif reported is not None:  # so the rule does not hold
                text = f"{self._broker()} committed a transaction after it had refused a message of it ({reported})"
                ticket.fail(BackendError(text, in_doubt=True))
            else:
                ticket.succeed()
            self._ended()

        self._sender.ask("COMMIT", self._id, answered)

    def _refused(self, ticket: Ticket, refusal: Refusal, *, asked: bool) -> None:
        """The broker refused the commit. Until the socket ends it keeps that transaction, and what its messages use."""
        text = f"{self._broker()} refused the commit ({refusal})"
        if asked or self._sender.renew():
            ticket.fail(TransactionRolledBack(text))
        else:
            lost = ChannelLost(text)
            ticket.fail(lost)
            self._sender.lose(lost)

    def _failure(self) -> BackendError | None:
        """Why the transaction cannot be committed."""
        error: object = self._error or self._sender.refusal
        if error is None:
            return None
        what = "" if isinstance(error, LinkLost) else "a message of the transaction was refused: "
        made = TransactionRolledBack(f"{what}{error}")
        made.__cause__ = error if isinstance(error, BaseException) else None
        return made

    def rollback(self, ticket: Ticket) -> None:
        """Forget the sends."""
        if self._id is None:
            ticket.succeed()
            return
        self.is_ending = True
        self._in_turn(lambda: self._abort(ticket.succeed))

    def _abort(self, then: Callable[[], None]) -> None:
        """Abort it; it is rolled back as well if the broker refuses that, or ends the socket."""
        name = self._id

        def aborted(error: object = None) -> None:
            if self._error is not None and self._sender.refusal is None and self._receipts is Receipts.NONE:
                self._sender.renew()  # more errors of its frames may come
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
        self._accepted.clear()
        tasks, self._when_over = self._when_over, []
        if tasks:
            self._free(committed=committed)
        for task in tasks:
            task(committed)
        self._leave_turn()

    def _free(self, *, committed: bool) -> None:
        """Let the broker forget what was acknowledged."""
        socket = self._sender.current
        if socket is None:
            return
        if not committed:
            socket.kept.clear()
        elif sum(socket.kept.values()) >= _MOST_KEPT and socket.is_open:
            socket.kept.clear()
            name = f"jb{next(_numbers)}"
            for command in ("BEGIN", "ABORT"):
                socket.tell(command, [("transaction", name)])

    @property
    def is_open(self) -> bool:
        """Whether it has begun."""
        return self._id is not None

    def end(self, error: BackendError) -> None:
        """The channel is lost, and with it the transaction."""
        self._error = self._error or error
