"""One socket: login, frames in and out, receipts, heart-beats. For the I/O thread.

A frame that asks for a receipt is accepted by RECEIPT, rejected by an ERROR that names it, and unknown if the socket
ends first. Artemis ends the socket with every ERROR, but has carried out frames behind the refused one, whose receipts
may still come. ActiveMQ Classic goes on after most errors.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from operator import attrgetter

from jmsbridge.spi import BackendError, ChannelLost
from jmsbridge.transport.network.stream import ByteStream
from jmsbridge.transport.network.tls import client_context
from jmsbridge_stomp.connection.errors import Refusal, is_of_silence
from jmsbridge_stomp.connection.options import PORT, TLS_PORT, StompOptions
from jmsbridge_stomp.connection.sockets import Sockets, log
from jmsbridge_stomp.protocol.frames import BEAT, Frame, encode
from jmsbridge_stomp.protocol.parsing import Malformed, Parser
from jmsbridge_stomp.sending.turns import Turns

__all__ = ["Answered", "StompSocket"]

_STREAM = range(4, 64)  # frames in one read, of a broker that would write more of them in the next moment
_HIGH = 1 << 18  # with so many bytes waiting, the socket is full

_ENDS = 2.0  # seconds after an ERROR in which the end of the socket is its consequence

_command_of = attrgetter("command")

Answered = Callable[[Refusal | BackendError | None], None]
"""Gets None for a receipt, the refusal, or the error for an unknown outcome."""


class StompSocket:
    """``ended`` gets the refusal with which the broker ended this socket, whose open requests are not answered yet.

    Every other end is that of the link.
    """

    def __init__(self, sockets: Sockets, options: StompOptions, ended: Callable[[Refusal], None]) -> None:
        self.subscriptions: dict[str, Callable[[Sequence[Frame]], None]] = {}
        """By id, who gets its messages: those that came together at once."""
        self.when_emptied: list[Callable[[], None]] = []
        """Called when a full socket takes bytes again."""
        self.kept: dict[object, int] = {}
        """By receiver, what its acknowledgements in transactions cost the broker, see ``Transaction``."""
        self.turns = Turns()
        """In what order the transactions of channels that share it end."""
        self.is_open = False
        self.ends_with_errors = False
        """Whether the broker ends the socket with every ERROR, so that nothing more is to be written after one."""
        self.names_refused = True
        """Whether ERROR names the refused frame. If not, it is known only if it is the last one, and alone open."""
        self.stray: Callable[[Refusal], None] | None = None
        """Gets an ERROR that names no frame; without, it is logged."""
        self.provoked: str | None = None
        """Words of the ERROR for a frame that was to be refused: whenever it comes, it has no consequence."""
        self._sockets = sockets
        self._life = sockets.life
        self._options = options
        self._ended = ended
        self._stream = ByteStream(self._life.thread.loop, self._received, self._emptied, self._broken)
        self._parser = Parser()
        self._unflushed: list[bytes] = []
        self._size = self._produced = 0  # bytes in _unflushed, and of all frames so far
        self._last = 0  # where the last frame begins
        self._alike = self._sent = 0  # reads in a row that may be parts of a stream; ``sockets.sent`` at the last
        self._full: set[str] = set()
        self._reads = True
        self._answers: dict[str, tuple[int, Answered]] = {}  # by receipt: where the frame begins, who is told
        self._number = 0
        self._opened: Callable[[dict[str, str] | None, BaseException | None], None] | None = None
        self._refusal: Refusal | None = None
        self._refused = 0.0  # when it came
        self._closed: Callable[[], None] | None = None
        self._beats = False
        self._asked: float | None = None
        self._heard = self._wrote = time.monotonic()

    # -- opening

    def connect(
        self,
        client_id: str | None,
        deadline: float,
        opened: Callable[[dict[str, str] | None, BaseException | None], None],
    ) -> None:
        """Connect and log in until this ``time.monotonic()``; ``opened`` gets the broker's headers or the error."""
        endpoint, options = self._life.endpoint, self._options
        tls = endpoint.scheme == "stomp+ssl"
        host = endpoint.host or "localhost"
        try:
            context = client_context(options, endpoint) if tls else None
            login = encode("CONNECT", self._escaped(self._login(client_id)))
        except (BackendError, ValueError) as error:
            opened(None, error)
            return
        self._sockets.members.add(self)
        late = TimeoutError("the broker does not answer CONNECT")
        timer = self._life.thread.call_later(max(0.0, deadline - time.monotonic()), lambda: self._fail(late))

        def connected(error: BaseException | None) -> None:
            if error is not None:
                self._life.thread.cancel(timer)
                self._fail(error)
            elif self._opened is not None:
                self._sockets.guard(lambda: self._write(login))
                self._expect()

        def answered(headers: dict[str, str] | None, error: BaseException | None) -> None:
            self._life.thread.cancel(timer)
            opened(headers, error)

        self._opened = answered
        port = endpoint.port or (TLS_PORT if tls else PORT)
        self._stream.connect(host, port, context, options.server_name or host, deadline, connected)

    def _login(self, client_id: str | None) -> Iterable[tuple[str, str]]:
        endpoint, options = self._life.endpoint, self._options
        ours, brokers = options.heartbeat * 500, options.heartbeat * 333  # Classic may leave one of its own out
        yield "accept-version", "1.2"
        yield "host", options.virtual_host or endpoint.host or "localhost"
        yield "heart-beat", f"{ours},{brokers}"
        if endpoint.user is not None:
            yield "login", endpoint.user
            yield "passcode", endpoint.password or ""
        if client_id is not None:
            yield "client-id", client_id

    def _escaped(self, headers: Iterable[tuple[str, str]]) -> Iterable[tuple[str, str]]:
        escape = "\\\\" if self._sockets.escapes_login else "\\"
        return ((name, value.replace("\\", escape)) for name, value in headers)

    def _fail(self, error: BaseException) -> None:
        """The socket could not be opened."""
        opened, self._opened = self._opened, None
        if opened is not None:
            self.drop()
            self._sockets.guard(lambda: opened(None, error))

    # -- writing

    def tell(self, command: str, headers: Iterable[tuple[str, str]]) -> None:
        """Write a frame without asking for a receipt."""
        self._write(encode(command, headers))

    def ask(self, command: str, headers: Iterable[tuple[str, str]], answered: Answered, body: bytes = b"") -> None:
        """Write a frame with a receipt."""
        receipt = self._expected(answered)
        self._write(encode(command, [("receipt", receipt), *headers], body))

    def send(self, rest: bytes, answered: Answered | None, more: bytes = b"") -> None:
        """Write SEND; ``rest`` is what the encoder made, ``more`` are more header lines."""
        self._sockets.sent += 1
        if answered is None:
            self._write(b"SEND\n%b%b" % (more, rest))
        else:
            receipt = self._expected(answered)
            self._write(b"SEND\nreceipt:%b\n%b%b" % (receipt.encode(), more, rest))

    def acknowledge(self, ack: bytes, answered: Answered | None) -> None:
        """Write ACK; ``ack`` are header lines."""
        if answered is None:
            self.acknowledge_all((ack,))
        else:
            self._write(b"ACK\nreceipt:%b\n%b\n\0" % (self._expected(answered).encode(), ack))

    def acknowledge_all(self, acks: Iterable[bytes]) -> None:
        """Write ACK for each of these header lines; Artemis reads several in one write three times as fast."""
        self._write(b"".join([b"ACK\n%b\n\0" % ack for ack in acks]))

    def _expected(self, answered: Answered) -> str:
        self._number += 1
        receipt = str(self._number)
        self._answers[receipt] = self._produced, answered
        self._expect()
        if not self._reads:
            self._look_reading()
        return receipt

    def _expect(self) -> None:
        if self._asked is None:
            self._asked = time.monotonic()

    def _write(self, data: bytes) -> None:
        size = len(data)
        self._last = self._produced
        self._unflushed.append(data)
        self._size += size
        self._produced += size
        self._sockets.dirty.add(self)

    @property
    def has_room(self) -> bool:
        """Whether more messages can be written now; if not, ``when_emptied`` is called later."""
        if self._size >= _HIGH:
            self.flush()
        return self._stream.backlog < _HIGH

    @property
    def owed(self) -> int:
        """How many receipts are open."""
        return len(self._answers)

    def flush(self) -> None:
        """Write what waits."""
        unflushed, self._unflushed, self._size = self._unflushed, [], 0
        if unflushed:
            self._wrote = time.monotonic()
            self._stream.write(*unflushed)

    def _emptied(self) -> None:
        self._sockets.guard(self._go_on)

    def _go_on(self) -> None:
        for task in list(self.when_emptied):
            task()

    # -- reading

    def _received(self, data: bytes) -> None:
        self._heard = time.monotonic()
        self._asked = self._heard if self._answers else None
        self._sockets.guard(lambda: self._parse(data))

    def _parse(self, data: bytes) -> None:
        try:
            frames = self._parser.feed(data)
        except Malformed as error:
            if self._opened is not None:
                self._fail(error)
            else:
                self._life.die(error)
            return
        for command, together in groupby(frames, _command_of):
            if command == "MESSAGE":
                self._pass_on(together)
            else:
                for frame in together:
                    self._take(frame)
        self._stream.rest(len(frames), len(self._answers))
        awaits = self._sent != self._sockets.sent or bool(self._answers)  # the messages may be replies, or requests
        is_part = not awaits and len(frames) in _STREAM and frames[-1].command == "MESSAGE"
        self._alike = self._alike + 1 if is_part else 0
        self._sent = self._sockets.sent
        if self.reads_stream:
            self._stream.wait_for_more()

    @property
    def reads_stream(self) -> bool:
        """Whether the broker writes message after message, which are read in larger pieces."""
        return self._alike > 1

    def _pass_on(self, messages: Iterable[Frame]) -> None:
        for name, together in groupby(messages, _subscription_of):
            receiver = self.subscriptions.get(name)
            if receiver is not None:  # else it was unsubscribed, and the broker takes the messages back
                receiver(list(together))
            elif not name:
                log.warning(
                    "%s: a message without a subscription is dropped, and stays unsettled; perhaps the name of one of "
                    "its properties contains a line break",
                    self._life.endpoint,
                )

    def _take(self, frame: Frame) -> None:
        command, headers = frame.command, frame.headers
        if command == "RECEIPT":
            self._answer(headers.get("receipt-id", ""), None)
        elif command == "ERROR":
            self._take_error(Refusal(frame))
        elif command == "CONNECTED" and self._opened is not None:
            opened, self._opened = self._opened, None
            self.is_open = True
            self._beats = not headers.get("heart-beat", "0,0").startswith("0,")
            self._parser.ends_lines = headers.get("server", "").startswith("ActiveMQ/")
            opened(headers, None)

    def _take_error(self, refusal: Refusal) -> None:
        if self._opened is not None:
            self._fail(refusal)
            return
        if self.provoked is not None and refusal.receipt is None and self.provoked in str(refusal):
            return
        self._refusal, self._refused = refusal, time.monotonic()
        if self.ends_with_errors:
            self._life.thread.call_later(_ENDS, self._end_refused)
        receipt = refusal.receipt if self.names_refused else self._only_open()
        if receipt is not None and self._answer(receipt, refusal):
            return
        if self.stray is not None:
            self.stray(refusal)
        else:
            log.warning("%s: the broker reports an error: %s", self._life.endpoint, refusal)

    def _only_open(self) -> str | None:
        for receipt, (begins, _) in self._answers.items():
            return receipt if begins == self._last and len(self._answers) == 1 else None
        return None

    def forget_refusal(self) -> None:
        """The last ERROR was expected: if the socket ends now, that is not why."""
        self._refusal = None

    @property
    def is_refused(self) -> bool:
        """Whether the broker is about to end it."""
        return self.ends_with_errors and self._refusal is not None

    def _end_refused(self) -> None:
        """The broker should have ended the socket by now."""
        if self.is_open and self._closed is None and self._refusal is not None:
            self._end_with(self._refusal)

    def _answer(self, receipt: str, answer: Refusal | None) -> bool:
        found = self._answers.pop(receipt, None)
        if found is None:
            return False
        if not self._answers:
            self._asked = None
        found[1](answer)
        if self._full:
            self._look_reading()
        return True

    def hold_back(self, name: str, is_full: bool) -> None:
        """Say whether a subscription can keep no more messages; ``forget`` ends that as well.

        If that holds for all of the socket, it is not read, so that the broker waits: but for answers, and for what
        lies before these.
        """
        (self._full.add if is_full else self._full.discard)(name)
        self._look_reading()

    def forget(self, name: str) -> None:
        """A subscription has ended."""
        self.subscriptions.pop(name, None)
        self.hold_back(name, False)

    def _look_reading(self) -> None:
        reads = bool(self._answers) or not self._full or not self.subscriptions.keys() <= self._full
        if reads != self._reads:
            self._reads = reads
            self._heard = time.monotonic()
            self._stream.hold(not reads)

    # -- heart-beats

    def beat(self, now: float) -> None:
        """Write a heart-beat if one is due, and end the link after too long a silence."""
        period = self._sockets.heartbeat
        if not self.is_open:
            return
        if now - self._wrote >= period / 8 and not self._stream.backlog:
            self._write(BEAT)
        if self._beats and self._reads and now - self._heard > period:
            self._life.die(TimeoutError(f"the broker was silent for more than {period:g} s (option heartbeat)"))

    def silence(self, now: float) -> float:
        """For how many seconds the broker has owed an answer and sent nothing."""
        asked = self._asked
        return now - asked if asked is not None else 0.0

    # -- ends

    def close(self, done: Callable[[], None]) -> None:
        """Disconnect; ``done`` is called after the broker's answer, or the end of the socket."""
        if not self.is_open or self._closed is not None:
            self.drop()
            done()
            return
        self._closed = done
        self.subscriptions.clear()
        self.ask("DISCONNECT", [], lambda _: self._disconnected())

    def _disconnected(self) -> None:
        done, self._closed = self._closed, None
        self.drop()
        self.answer_open(lambda doubt: ChannelLost("the socket was closed before the broker answered", in_doubt=doubt))
        if done is not None:
            done()

    def drop(self) -> None:
        """Close the socket at once; nobody is told."""
        self.is_open = False
        self._opened = None
        self._stream.close()
        self._sockets.members.discard(self)
        self._sockets.dirty.discard(self)
        self._unflushed.clear()

    def _broken(self, error: BaseException) -> None:
        self._sockets.guard(lambda: self._break(error))

    def _break(self, error: BaseException) -> None:
        if self._opened is not None:
            self._fail(error)
        elif self._closed is not None:
            self._disconnected()
        elif self._refusal is not None and time.monotonic() - self._refused < _ENDS:
            self._end_with(self._refusal)
        else:
            self._life.die(error)

    def _end_with(self, refusal: Refusal) -> None:
        self.drop()
        if is_of_silence(refusal):  # the network, or a process that was stopped, which concerns all sockets
            self._life.die(refusal)
            self.answer_open(self._life.lost)
            return
        self._ended(refusal)
        # what its owner has left: it may be closing it, and wait for an answer
        self.answer_open(lambda doubt: ChannelLost(f"the broker ended the socket ({refusal})", in_doubt=doubt))

    def answer_open(self, error: Callable[[bool], BackendError]) -> None:
        """Answer what has no receipt; ``error`` is told whether some of the frame was passed to the kernel."""
        answers, self._answers = self._answers, {}
        self._asked = None
        for begins, answered in answers.values():
            answered(error(self._stream.written > begins))


def _subscription_of(message: Frame) -> str:
    return message.headers.get("subscription", "")
