"""The frame of a channel whose verbs wait in one queue for the I/O thread: sends, and all else in call order with them.

The backend serves the queue, subscribes, and ends what it has at the broker.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Collection, Sequence
from typing import Any, Generic, Protocol, TypeVar

from jmsbridge.spi import BackendError, ChannelLost, Envelope, NotSupported, SendRefused, Ticket
from jmsbridge.transport.network.io_thread import Mailbox
from jmsbridge.transport.network.link_life import Done, LinkLife

__all__ = ["BUSY", "Command", "Message", "QueuedChannel", "QueuedTransaction"]

BUSY = 64
"""After so many sends in one batch, the I/O thread looks for more without a wake-up (``Mailbox.watch``)."""


class Message(Protocol):
    """An encoded message in the queue."""

    ticket: Ticket | None

    def fail(self, error: BackendError) -> None:
        """The broker does not have it, or it is in doubt."""


class Command:
    """A verb to run, and its ticket, if the caller waits for it."""

    __slots__ = ("run", "ticket")

    def __init__(self, ticket: Ticket | None, run: Callable[[], None]) -> None:
        self.ticket = ticket
        self.run = run

    def fail(self, error: BackendError) -> None:
        """It cannot be run any more."""
        if self.ticket is not None:
            self.ticket.fail(error)


class QueuedTransaction(Protocol):
    """A channel's transaction, on the I/O thread."""

    @property
    def is_ending(self) -> bool:
        """Whether the queue must wait until it has ended; the channel's ``_go_on`` is called then."""

    def commit(self, ticket: Ticket) -> None:
        """Make it effective."""

    def rollback(self, ticket: Ticket) -> None:
        """Forget it."""


M = TypeVar("M", bound=Message)
X = TypeVar("X", bound=QueuedTransaction)


class QueuedChannel(ABC, Generic[M, X]):
    """Verbs from any thread; the rest belongs to the I/O thread.

    ``transaction`` is that of a transacted channel. The backend sets ``_lost`` once the channel is lost or closed.
    """

    def __init__(self, life: LinkLife) -> None:
        self.transaction: X | None = None
        self._life = life
        self._box: Mailbox[M | Command] = Mailbox(life.thread, self._look, self._refuse)
        self._lost: BackendError | None = None
        self._finishing: list[Done] = []  # what waits for the channel to be closed
        self._closed = False

    # -- verbs

    def check(self) -> None:
        """Raise if the channel or its link is lost."""
        self._life.check()
        if self._lost is not None:
            raise ChannelLost(str(self._lost))

    def send(self, envelope: Envelope, ticket: Ticket | None) -> None:
        """Encode the message and pass it to the I/O thread."""
        if ticket is None:
            self.check()
        try:
            message = self._encode(envelope, ticket)
        except (BackendError, ValueError) as error:
            refused = error if isinstance(error, BackendError) else SendRefused(f"{envelope.address}: {error}")
            if ticket is None:
                raise refused from error
            ticket.fail(refused)
            return
        self._put(message)

    def put(self, ticket: Ticket | None, run: Callable[[], None]) -> None:
        """Run this on the I/O thread, in call order with all other verbs."""
        self._put(Command(ticket, run))

    def _put(self, item: M | Command) -> None:
        self._box.put(item)
        if self._lost is not None:  # the link, which may end at this moment, need not know the channel any more
            self._box.refuse_all()

    def cancel(self, tickets: Sequence[Ticket]) -> None:
        """Cancel sends that were not written."""
        wanted = {id(ticket) for ticket in tickets}

        def cancel(done: Done) -> None:
            items = self._box.items
            for item in [] if self._is_over else list(items):
                if not isinstance(item, Command) and item.ticket is not None and id(item.ticket) in wanted:
                    items.remove(item)
                    self._cancel(item)
            self._cancel_later(wanted)
            done(None, None)

        self._life.wait(cancel, "cancelling sends")

    def commit(self, ticket: Ticket) -> None:
        """Make the transaction effective."""
        self._end_transaction(ticket, commits=True)

    def rollback(self, ticket: Ticket) -> None:
        """Forget the transaction."""
        self._end_transaction(ticket, commits=False)

    def _end_transaction(self, ticket: Ticket, *, commits: bool) -> None:
        transaction = self.transaction
        if transaction is None:
            ticket.fail(NotSupported("this channel has no transactions"))
        else:
            self.put(ticket, lambda: (transaction.commit if commits else transaction.rollback)(ticket))

    def close(self) -> None:
        """Roll back, return unsettled messages, and end what the channel has at the broker."""
        if self._closed:
            return
        self._life.wait_closing(self.finish, "closing a channel")
        self._closed = True  # last, so that an interrupted close can be repeated

    # -- what a backend does, on the I/O thread unless it says otherwise

    @abstractmethod
    def _encode(self, envelope: Envelope, ticket: Ticket | None) -> M:
        """The message as it waits in the queue; BackendError or ValueError if it cannot be sent. Any thread."""

    @abstractmethod
    def _serve(self, items: deque[Any]) -> None:
        """Write messages and run commands, as far as that is possible now; ``_go_on`` is called when it is again."""

    @abstractmethod
    def _cancel(self, message: M) -> None:
        """Answer a message that was taken out of the queue with SendCancelled."""

    def _cancel_later(self, wanted: Collection[int]) -> None:
        """Cancel messages that have left the queue and are not written; tickets by their ``id``."""

    @abstractmethod
    def _finish(self, done: Done) -> None:
        """The queue is empty: roll back, then end what the channel has at the broker."""

    # -- the queue

    @property
    def _is_over(self) -> bool:
        """Whether items are refused, perhaps by another thread at this moment."""
        return self._lost is not None or self._life.is_over

    def _look(self, items: deque[M | Command]) -> None:
        if self._lost is None:
            self._serve(items)
        else:
            self._box.refuse_all()

    def _refuse(self, item: M | Command) -> None:
        item.fail(self._life.lost() if self._lost is None else ChannelLost(str(self._lost)))

    def _go_on(self) -> None:
        """There is room, or a transaction has ended: serve what waits, then close if that is asked."""
        self._box.work()
        self._finish_waiting()

    def _finish_waiting(self) -> None:
        waiting, self._finishing = self._finishing, []
        for done in waiting:
            self.finish(done)

    def finish(self, done: Done) -> None:
        """Close: write what waits, then ``_finish``."""
        if self._is_over:
            done(None, None)
            return
        self._box.work()
        if (self.transaction is not None and self.transaction.is_ending) or self._box.items:
            self._finishing.append(done)
        else:
            self._finish(done)
