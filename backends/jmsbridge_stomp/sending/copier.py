"""Sends copies of received messages, over a socket of its own. For the I/O thread."""

from collections import deque
from collections.abc import Callable

from jmsbridge.spi import BackendError, Envelope, Ticket
from jmsbridge.transport.deliveries.copies import TimedTicket
from jmsbridge.transport.deliveries.expiry import now_ms
from jmsbridge_stomp.facts import LinkFacts
from jmsbridge_stomp.sending.outgoing import Outgoing
from jmsbridge_stomp.sending.sender import Sender

__all__ = ["Copier"]


class Copier:
    """One per link; its socket is connected for the first copy."""

    def __init__(self, facts: LinkFacts) -> None:
        self._facts = facts
        self._life = facts.sockets.life
        self._waiting: deque[Outgoing] = deque()
        self._sender = self._new_sender()

    def _new_sender(self) -> Sender:
        return Sender(self._facts, self._work, self._lost)

    def send(self, envelope: Envelope, ticket: Ticket) -> None:
        """Send a message; without an answer within ``DEADLINE`` the ticket fails, and what was not written is dropped.

        An answer that comes later is ignored.
        """
        try:
            data = self._facts.encoder.encode(envelope, now_ms(), is_copy=True)
        except (BackendError, ValueError) as error:
            ticket.fail(error if isinstance(error, BackendError) else BackendError(f"{envelope.address}: {error}"))
            return

        def is_in_doubt() -> bool:
            if outgoing not in self._waiting:
                return True
            self._waiting.remove(outgoing)
            return False

        timed = TimedTicket(self._life, ticket, str(envelope.address), is_in_doubt)
        outgoing = Outgoing(envelope.address, data, timed)
        self._waiting.append(outgoing)
        self._work()

    def _work(self) -> None:
        while self._waiting and self._sender.socket is not None:
            self._sender.write(self._waiting.popleft())

    def _lost(self, error: BackendError) -> None:
        self._sender.end(lambda _: error)
        self._sender = self._new_sender()
        self._fail_waiting(error)

    def _fail_waiting(self, error: BackendError) -> None:
        waiting, self._waiting = self._waiting, deque()
        for outgoing in waiting:
            outgoing.fail(error)

    def close(self, done: Callable[[], None]) -> None:
        """Disconnect."""
        self._sender.close(done)

    def end(self) -> None:
        """The link is lost."""
        self._sender.end(self._life.lost)
        self._fail_waiting(self._life.lost())
