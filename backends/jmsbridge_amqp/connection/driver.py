"""Drives proton on the I/O thread: gives it the bytes that arrive, handles its events, and writes its bytes.

Everything here but ``silence`` belongs to the I/O thread. proton's objects stay in this package's ``connection`` folder
as far as possible, and none leaves the thread, because their finalisers call C code.
"""

import logging
import time
from collections import deque
from collections.abc import Callable, Hashable
from typing import Any, Protocol

import proton

from jmsbridge.spi import BackendError, Endpoint, LinkEvents, LinkLost, Ticket
from jmsbridge.transport.network.link_life import LinkLife
from jmsbridge.transport.network.loop import Timer
from jmsbridge.transport.network.stream import ByteStream
from jmsbridge_amqp.connection.errors import WRONG_PROTOCOL, Failure, failure_of, loss
from jmsbridge_amqp.connection.proton_calls import Listener, best_calls

__all__ = ["Driver", "Droppable"]

log = logging.getLogger("jmsbridge.amqp")

_HIGH = 1 << 18  # with so many bytes waiting for the socket, proton is not asked for more
_LOW = 1 << 16  # so many bytes of messages are written before more messages are taken
_TICK = 5.0  # seconds between two checks of the heart-beats, at most
_FIRST = 8 + 512  # a header and the longest frame of the security layer
_AMQP_091 = b"AMQP\x00\x00\x09\x01"
_EMPTY_FRAME = bytes.fromhex("0000000802000000")


class Droppable(Protocol):
    """Holds objects of proton."""

    def drop(self) -> None:
        """Forget them."""


class Driver:
    """One connection: proton, its stream, and the life of the link, for which it is the ``Wire``."""

    rests = False
    """Whether the broker writes each outcome of a message by itself."""
    outcomes = owed = 0
    """How many came with the last bytes, and how many their sender still waits for."""
    in_transaction = False
    """Whether the last of them belongs to a transaction, so that nobody waits for a single one."""

    def __init__(self, name: str, endpoint: Endpoint, events: LinkEvents) -> None:
        self.life = LinkLife(name, "the broker", endpoint, events, self)
        self.calls = best_calls()
        self.links: dict[Hashable, Listener] = {}
        """Who gets the deliveries and flows of each link."""
        self.controls: dict[Hashable, Callable[[str], None]] = {}
        """Who is told that a session, link or the connection was opened or closed by the broker."""
        self.sessions: set[Droppable] = set()
        """The holders of proton's objects, which drop them when the connection is gone."""
        self.produced = 0
        """How many bytes proton has produced; compared with the stream's ``written`` it tells what was sent."""
        self.unflushed = 0
        """Bytes of messages that proton was given since the last flush."""
        self.inputs = 0
        """How often bytes have arrived: proton gets them all before any of their events is handled."""
        self.when_emptied: list[Callable[[], None]] = []
        """Called when a full socket takes bytes again."""
        self.opening: Callable[[BaseException], None] | None = None
        """Gets the error if the connection cannot be opened; None once it is open."""
        self.first = b""
        """The first bytes from the broker: at least its header and the first frame of the security layer."""
        self.rest = 0.0
        """Seconds for which no session is begun after another has ended."""
        self.may_begin = 0.0
        """The ``time.monotonic()`` from which a session may be begun."""
        self.connection: Any = None
        self.transport: Any = None
        self.stream = ByteStream(self.life.thread.loop, self._received, self._emptied, self._broken)
        self._collector: Any = None
        self._depth = 0
        self._writes: deque[tuple[int, Ticket]] = deque()
        self._unplaced: list[Ticket] = []
        self._asked: float | None = None
        self._started = False
        self._pumping = False
        self._break: BaseException | None = None
        self._timer: Timer | None = None

    # -- beginning and end

    @property
    def most_sessions(self) -> int:
        """How many sessions the connection may have."""
        return int(min(self.transport.channel_max, self.transport.remote_channel_max)) + 1

    def begin(self, connection: Any, transport: Any) -> None:
        """Use this connection and transport of proton, neither of them bound or open yet."""
        self.connection, self.transport = connection, transport
        self._collector = proton.Collector()
        connection.collect(self._collector)
        transport.bind(connection)
        self._started = True
        self.expect()
        self._tick()

    def close(self) -> None:
        """Close the connection by the protocol; the link ends with the broker's answer."""
        if not self._started:
            self.life.die(LinkLost("the link was closed"))
            return
        self.expect()
        self.connection.close()

    def release(self) -> None:
        """Drop proton's objects."""
        if self._timer is not None:
            self.life.thread.cancel(self._timer)
            self._timer = None
        for session in list(self.sessions):
            session.drop()
        self.sessions.clear()
        if self._collector is not None and self.connection is not None:
            self.transport.unbind()
            self.connection.free()
            self._collector.release()
        self.connection = self.transport = self._collector = None

    # -- bytes and events

    def _received(self, data: bytes) -> None:
        self.outcomes = self.owed = 0
        self._guard(lambda: self.batch(lambda: self._push(data)))
        if self.rests:
            self.stream.rest(self.outcomes, self.owed, together=self.in_transaction)

    def _push(self, data: bytes) -> None:
        self._asked = None
        if len(self.first) < _FIRST:
            self.first += data[: _FIRST - len(self.first)]
            self._check_protocol()
        self.inputs += 1
        view = memoryview(data)
        try:
            while view and self._started and (room := self.transport.capacity()) > 0:
                self.transport.push(view[:room])
                view = view[room:]
        except proton.TransportException as error:
            self._transport_failed(error)
            return
        self._pump()

    def _check_protocol(self) -> None:
        header = self.first[: len(_AMQP_091)]
        if header != _AMQP_091 and header[:4] == b"AMQP"[: len(header)]:
            return
        if header == _AMQP_091:
            hint = "it speaks AMQP 0-9-1; if it is RabbitMQ, write rabbitmq:// instead of amqp://"
        else:
            hint = "it does not speak AMQP 1.0; is it another protocol's port, or one that expects TLS (amqps://)?"
        self._fail(Failure(WRONG_PROTOCOL, hint))

    def _pump(self) -> None:
        if self._started and not self._pumping:
            self._pumping = True
            try:
                self.calls.pump(self._collector, self.links, self._control)
            finally:
                self._pumping = False
            if self._break is not None:
                self._fail(self._break)

    def _control(self, event: Any) -> None:
        kind = event.type
        if kind in (proton.Event.TRANSPORT_ERROR, proton.Event.TRANSPORT_CLOSED, proton.Event.TRANSPORT_TAIL_CLOSED):
            if kind == proton.Event.TRANSPORT_ERROR:
                self._transport_failed(None)
            return
        endpoint = event.link or event.session or event.connection
        told = self.controls.get(self.calls.handle(endpoint))
        if told is not None:
            told(kind.name.removeprefix("PN_"))

    def _transport_failed(self, error: BaseException | None) -> None:
        condition = self.transport.condition if self.transport is not None else None
        self._fail(failure_of(condition) if condition is not None else error or Failure("amqp:framing-error"))

    def _fail(self, error: BaseException) -> None:
        if self.opening is None:
            self.life.die(error)
        else:
            self.opening(error)

    def flush(self) -> None:
        """Handle events and write what proton has, as long as the socket takes it."""
        transport, stream = self.transport, self.stream
        self.unflushed = 0
        self._pump()
        while self._started and stream.backlog < _HIGH:
            pending = transport.pending()
            if pending <= 0:
                if pending == 0:
                    self._place()
                self._pump()  # a failed login is found only now
                break
            data = transport.peek(pending)
            self.produced += len(data)
            stream.write(data)
            if not self._started:
                return
            transport.pop(len(data))
            self._pump()
        self._answer_written()

    def nudge(self) -> None:
        """Write a frame that says nothing: a broker that has not written all it has to say does so then."""
        self.flush()
        if self._started and self.connection.state & proton.Endpoint.LOCAL_ACTIVE and not self.transport.pending():
            self.produced += len(_EMPTY_FRAME)
            self.stream.write(_EMPTY_FRAME)

    def write_early(self) -> None:
        """Write what proton has if it is much, also inside a burst of events; the link may have ended then."""
        if self.unflushed >= _LOW:
            self.flush()

    def has_room(self) -> bool:
        """Whether more messages can be written now; if not, ``when_emptied`` is called later. May write what waits.

        False also if the link has ended, perhaps by this write.
        """
        if self.unflushed >= _LOW and not self._pumping:
            self.flush()
        if not self._started:
            return False
        has_room = self.stream.backlog + self.unflushed < _HIGH
        if not has_room and not self.stream.backlog:  # no bytes wait for it, so nothing else would go on
            self.life.thread.post(self._go_on)
        return has_room

    def _emptied(self) -> None:
        self._guard(lambda: self.batch(self._go_on))

    def _go_on(self) -> None:
        for task in list(self.when_emptied):
            task()

    def _broken(self, error: BaseException) -> None:
        if self._pumping:
            self._break = error  # a write has failed, but what has arrived still counts
        else:
            self._guard(lambda: self._fail(error))

    def _guard(self, task: Callable[[], None]) -> None:
        try:
            task()
        except Exception as error:
            log.exception("unexpected error on the I/O thread")
            self.life.die(error)

    # -- writes that are answered

    def when_written(self, ticket: Ticket) -> None:
        """Answer this once everything that was done so far has been passed to the kernel."""
        self._unplaced.append(ticket)

    def _place(self) -> None:
        if self._unplaced:
            self._writes.extend((self.produced, ticket) for ticket in self._unplaced)
            self._unplaced.clear()

    def _answer_written(self) -> None:
        writes, written = self._writes, self.stream.written
        while writes and writes[0][0] <= written:
            writes.popleft()[1].succeed()

    def expect(self) -> None:
        """Note that an answer of the broker is due."""
        if self._asked is None:
            self._asked = time.monotonic()

    def expect_soon(self, what: str, patience: float) -> Timer:
        """Give the link up after ``patience`` seconds, unless the returned timer is cancelled before."""
        late = LinkLost(f"{what}: no answer from {self.life.broker} within {patience:.3g} s", in_doubt=True)
        return self.life.thread.call_later(patience, lambda: self.life.die(late))

    # -- heart-beats

    def beat(self) -> None:
        """The broker has said how often it expects a heart-beat: start to send them."""
        if self._timer is not None:
            self.life.thread.cancel(self._timer)
        self._tick()

    def _tick(self) -> None:
        if not self._started:
            return
        now = time.monotonic()
        deadline = self.transport.tick(now)
        wait = min(_TICK, max(0.05, deadline - now)) if deadline else _TICK
        self._timer = self.life.thread.call_later(wait, self._tick)

    # -- what the link's life asks for

    def batch(self, task: Callable[[], None]) -> None:
        """Run work, then write at once what it has produced."""
        self._depth += 1
        try:
            task()
        finally:
            self._depth -= 1
            if not self._depth and self._started:
                self.flush()

    def explain(self, error: BaseException) -> LinkLost:
        """Why the link ended."""
        return loss(error, str(self.life.endpoint))

    def answer_all(self) -> None:
        """The link is lost: answer all tickets."""
        writes, unplaced = self._writes, self._unplaced
        self._writes, self._unplaced = deque(), []
        for _, ticket in writes:
            ticket.fail(self.life.lost(in_doubt=True))
        for ticket in unplaced:
            ticket.fail(self.life.lost())

    def doubt(self, begins: int) -> BackendError:
        """The error for an unanswered message; ``begins`` is what ``produced`` was before the message."""
        return self.life.lost(in_doubt=self.stream.written > begins)

    def abandon(self, then: Callable[[], None]) -> None:
        """The connection could not be opened: close the socket, drop proton's objects, then call this."""
        self._let_go()
        self.life.thread.post(then)

    def break_off(self, error: BaseException) -> None:
        """Close the socket, drop proton's objects, and end the thread."""
        self._let_go()
        self.life.thread.post(self.life.thread.stop)

    def _let_go(self) -> None:
        self.stream.close()
        self.links.clear()
        self.controls.clear()
        if self._started:
            self._started = False
            self.life.thread.post(self.release)  # not now: proton may be in one of its functions

    def silence(self) -> float:
        """For how many seconds the broker has owed an answer and sent nothing."""
        asked = self._asked
        return time.monotonic() - asked if asked is not None else 0.0
