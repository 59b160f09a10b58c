"""Writes messages over a socket of its own, which is connected for the first of them. For the I/O thread.

Where acknowledgements belong to transactions, the channel's subscriptions are on this socket as well. So a refused
message, which ends the socket on Artemis, costs no other channel anything, and a broker that reads no messages for a
while still reads acknowledgements.
"""

import time
from collections.abc import Callable
from enum import Enum, auto

from jmsbridge.spi import Address, BackendError, ChannelLost, SendRefused
from jmsbridge.transport.network.link_life import ignored
from jmsbridge_stomp.connection.errors import Refusal, connect_error, fails_alone, refused
from jmsbridge_stomp.connection.stomp_socket import Answered, StompSocket
from jmsbridge_stomp.facts import LinkFacts
from jmsbridge_stomp.sending.commit_rule import CommitRule
from jmsbridge_stomp.sending.outgoing import Outgoing
from jmsbridge_stomp.sending.turns import Turns

__all__ = ["Connected", "Receipts", "Sender"]

_MOST = 10_000  # unanswered messages
_MOST_KNOWN = 1_000  # destinations


class Receipts(Enum):
    """Which messages of a transaction ask for a receipt."""

    EACH = auto()
    LAST = auto()
    """Those that no other one follows at once, and the first one to each destination, which it may create."""
    NONE = auto()


Connected = Callable[[StompSocket | None, BackendError | None], None]
"""Gets the socket, or the error."""


class Sender:
    """``ready`` is called when more can be written; ``lost`` gets the error if messages without an answer were lost.

    ``shared`` is a socket to use instead of its own. ``rule`` is asked over its own socket before that is used.
    """

    def __init__(
        self,
        facts: LinkFacts,
        ready: Callable[[], None],
        lost: Callable[[BackendError], None],
        shared: StompSocket | None = None,
        rule: CommitRule | None = None,
    ) -> None:
        self.refusal: Refusal | None = None
        """With what the broker ended the socket since this was last set to None."""
        self.stray: Callable[[Refusal], None] | None = None
        """Gets an ERROR that names no frame, on its own socket."""
        self._facts = facts
        self._life = facts.sockets.life
        self._ready = ready
        self.lose = lost
        """Gives up the channel, with this error."""
        self._shared = shared
        self._socket = shared
        self._rule = rule
        self._is_asking = False  # the rule, over the socket
        if shared is not None:
            shared.when_emptied.append(ready)
        self._unanswered = 0
        self._known: set[Address] = set()  # where messages were sent over the socket
        self._when_connected: list[Connected] = []
        self._when_idle: list[Callable[[], None]] = []
        self._ended = False

    @property
    def socket(self) -> StompSocket | None:
        """The socket, if it can take a message now; else ``ready`` is called later. Connects at first."""
        socket = self._socket
        if socket is None:
            if not self._ended:
                self._connect()
            return None
        if not self.is_connected or self._unanswered >= _MOST or not socket.has_room:
            return None
        return socket

    @property
    def current(self) -> StompSocket | None:
        """The socket, whether or not it can take a message now."""
        return self._socket

    @property
    def is_connected(self) -> bool:
        """Whether there is a socket to the broker."""
        socket = self._socket
        return socket is not None and socket.is_open and not socket.is_refused and not self._is_asking

    @property
    def receipts(self) -> Receipts:
        """Which messages of the next transaction must ask for one.

        Over a shared socket each: a message without receipt stops the broker from reading it while a queue is full.
        """
        if self._rule is None or self._socket is self._shared:
            return Receipts.EACH
        if self._facts.product.answers_in_order:
            return Receipts.LAST
        return Receipts.NONE if self._rule.holds else Receipts.EACH

    @property
    def turns(self) -> Turns | None:
        """In what order the transactions of a shared socket end."""
        return self._shared.turns if self._shared is not None and self._socket is self._shared else None

    def remember(self, address: Address) -> bool:
        """A transaction sends a message there; whether it is the first one over this socket, as far as remembered."""
        if address in self._known:
            return False
        if len(self._known) < _MOST_KNOWN:
            self._known.add(address)
        return True

    def when_connected(self, task: Connected) -> None:
        """Call this with the socket once it is connected, or with the error. Connects at first."""
        if self._socket is not None and self._socket.is_open and not self._is_asking:
            task(self._socket, None)
        elif self._ended:
            task(None, ChannelLost("the channel is closed"))
        else:
            self._when_connected.append(task)
            if self._socket is None:
                self._connect()

    def _connected(self, error: BackendError | None) -> None:
        tasks, self._when_connected = self._when_connected, []
        for task in tasks:
            task(self._socket, error)

    def _connect(self) -> None:
        self._known.clear()
        socket = self._socket = self._facts.new_socket(self._socket_ended)
        socket.when_emptied.append(self._ready)

        def opened(headers: object, error: BaseException | None) -> None:
            if self._socket is not socket:
                socket.drop()
            elif error is None:
                self._ask_rule(socket)
            else:
                self._socket = None
                if fails_alone(error):
                    lost = _as_lost(connect_error(error, self._life.endpoint))
                    self._connected(lost)
                    self.lose(lost)
                else:
                    self._life.die(error)

        socket.connect(None, time.monotonic() + self._life.endpoint.connect_timeout, opened)

    def _ask_rule(self, socket: StompSocket) -> None:
        def asked() -> None:
            if self._socket is socket:
                self._is_asking = False
                socket.stray = self.stray
                self._connected(None)
                self._ready()

        if self._rule is None:
            asked()
        else:
            self._is_asking = True
            self._rule.ask(socket, asked)

    def write(self, outgoing: Outgoing) -> None:
        """Write a message, now that there is a socket."""
        assert self._socket is not None
        if outgoing.ticket is None:
            self._socket.send(outgoing.data, None)
            return
        self._unanswered += 1
        outgoing.writer = self
        self._socket.send(outgoing.data, outgoing)

    def answered(self, outgoing: Outgoing, answer: Refusal | BackendError | None) -> None:
        """The broker has answered a message."""
        ticket = outgoing.ticket
        assert ticket is not None
        self._unanswered -= 1
        if answer is None:
            ticket.succeed()
        elif isinstance(answer, Refusal):
            ticket.fail(refused(answer, outgoing.what, self._life.broker, SendRefused))
        else:
            ticket.fail(answer)
        self._look()

    def ask(self, command: str, transaction: str, answered: Answered) -> None:
        """Write a frame about a transaction."""
        assert self._socket is not None
        self._socket.ask(command, [("transaction", transaction)], self._counted(answered))

    def acknowledge(self, headers: bytes, answered: Answered | None) -> None:
        """Write ACK with these header lines."""
        assert self._socket is not None
        self._socket.acknowledge(headers, None if answered is None else self._counted(answered))

    def _counted(self, answered: Answered) -> Answered:
        self._unanswered += 1

        def heard(error: Refusal | BackendError | None) -> None:
            self._unanswered -= 1
            answered(error)
            self._look()

        return heard

    def _look(self) -> None:
        """An answer has come: there may be room, or nothing left to wait for."""
        if self._unanswered == _MOST - 1:
            self._life.thread.post(self._ready)
        if not self._unanswered and self._when_idle:
            waiting, self._when_idle = self._when_idle, []
            for task in waiting:
                task()

    def when_idle(self, task: Callable[[], None]) -> None:
        """Call this once every message was answered."""
        if self._unanswered:
            self._when_idle.append(task)
        else:
            task()

    # -- ends

    def _socket_ended(self, refusal: Refusal) -> None:
        """The broker refused a frame and ended the socket: what has no answer is in doubt."""
        socket, self._socket = self._socket, None
        self.refusal = refusal
        text = f"{self._life.broker} ended a socket, because it refused a message ({refusal})"
        if socket is not None and (socket.owed or socket.subscriptions):
            socket.answer_open(lambda doubt: ChannelLost(text, in_doubt=doubt))
            self.lose(ChannelLost(text))
        else:
            self._ready()
        self._look()

    def renew(self) -> bool:
        """Disconnect its own socket, and use another from the next frame on; False if there are subscriptions on it."""
        if self._socket is not None and self._socket.subscriptions:
            return False
        socket = self._take()
        if socket is not None:
            socket.stray = None
            socket.close(ignored)
        return True

    def end(self, error: Callable[[bool], BackendError]) -> None:
        """Answer everything: the channel or the link is lost; ``error`` is told whether the message was written."""
        self._ended = True
        socket = self._take()
        if socket is not None:
            socket.answer_open(error)
            socket.drop()
        self._connected(error(False))
        self._look()

    def _take(self) -> StompSocket | None:
        """Its own socket, which is not used any more."""
        socket, self._socket = self._socket, None
        if socket is None or socket is not self._shared:
            return socket
        socket.when_emptied.remove(self._ready)
        return None

    def close(self, done: Callable[[], None]) -> None:
        """Disconnect."""
        self._ended = True
        socket = self._take()
        if socket is None:
            done()
        else:
            socket.close(done)


def _as_lost(error: BackendError) -> ChannelLost:
    made = ChannelLost(str(error))
    made.__cause__ = error
    return made
