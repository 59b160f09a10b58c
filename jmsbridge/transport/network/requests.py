"""Requests over one socket to a broker that answers them in order: written together, each with a deadline or a ticket.

For a protocol whose client library connects and parses but has no event loop. Adds a socket to a ``LinkLife``.
"""

import socket
import time
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple, Protocol

from jmsbridge.spi import BackendError, Endpoint, LinkEvents, LinkLost, Ticket
from jmsbridge.transport.network.diagnosis import describe
from jmsbridge.transport.network.io_thread import Mailbox
from jmsbridge.transport.network.link_life import Done, LinkLife

__all__ = ["Conversation", "Requests"]

_CHUNK = 1 << 16


class Conversation(Protocol):
    """What a backend implements for ``Requests``; called on the I/O thread."""

    def read(self, data: bytes) -> Iterable[Any]:
        """Parse these bytes, and return the answers that are now complete, in order.

        A ``BackendError`` means that the broker refused the request, ``LinkLost`` that the link has ended. What the
        broker sends without a request is not returned.
        """

    def ended(self, error: LinkLost) -> None:
        """The link is lost, and all requests are answered: answer every other open ticket."""


class _Item(NamedTuple):
    request: bytes
    ticket: Ticket | None


class Requests:
    """A link over a connected socket. Methods are for any thread unless they are below "on the I/O thread"."""

    def __init__(
        self, name: str, broker: str, endpoint: Endpoint, events: LinkEvents, conversation: Conversation
    ) -> None:
        self.life = LinkLife(name, broker, endpoint, events, self)
        self._conversation = conversation
        self._box: Mailbox[_Item] = Mailbox(self.life.thread, self._serve, self._refuse)
        self._socket: socket.socket | None = None
        self._unwritten = bytearray()
        self._begun = 0  # how many bytes were to be written so far
        self._written = 0  # how many of them the kernel has
        self._open: deque[tuple[int, Done]] = deque()  # the first byte of a request, and what gets its answer
        self._heard = 0.0

    def open(self, connected: socket.socket, begin: Callable[[Done], None]) -> None:
        """Use this socket from now on; ``begin`` writes the first request. ConnectFailed, or the broker's refusal."""
        try:
            self.life.open(partial(self._start, connected, begin))
        except BaseException:
            connected.close()
            raise

    def _start(self, connected: socket.socket, begin: Callable[[Done], None], done: Done) -> None:
        connected.setblocking(False)
        self._socket = connected
        loop = self.life.thread.loop
        loop.add_handler(connected.fileno(), self._ready, loop.READ)
        begin(done)

    def ask(self, request: bytes, what: str) -> Any:
        """The broker's answer (blocks)."""
        return self.life.wait(partial(self.write, request), what)

    def ask_closing(self, request: bytes, what: str) -> None:
        """Wait for the answer at most as long as a close may take; a missing answer is not an error."""
        self.life.wait_closing(partial(self.write, request), what)

    def post(self, request: bytes, ticket: Ticket | None) -> None:
        """Write the request after those of earlier calls; does not wait."""
        if ticket is None:
            self.life.check()
        self._box.put(_Item(request, ticket))

    def close(self, last: bytes) -> None:
        """End the link, with a last request."""
        end = LinkLost("the link was closed")
        self.life.close(lambda: self.write(last, lambda *_: self.life.thread.post(lambda: self.life.die(end))))

    # -- on the I/O thread

    def write(self, request: bytes, done: Done | None) -> None:
        """Write the request with the next batch; ``done`` is None for a request without an answer."""
        if done is not None:
            self._heard = self._heard if self._open else time.monotonic()
            self._open.append((self._begun, done))
        self._begun += len(request)
        self._unwritten += request

    def _serve(self, items: deque[_Item]) -> None:
        while items:
            request, ticket = items.popleft()
            self.write(request, partial(_answer, ticket))

    def _refuse(self, item: _Item) -> None:
        _answer(item.ticket, None, self.life.lost())

    def _ready(self, fd: int, events: int) -> None:
        self.batch(self._read if events & 1 else lambda: None)  # ``batch`` also writes

    def _read(self) -> None:
        if self._socket is None:
            return
        try:
            data = self._socket.recv(_CHUNK)
        except BlockingIOError:
            return
        except OSError as error:
            self.life.die(error)
            return
        if not data:
            self.life.die(ConnectionResetError("the broker closed the connection"))
            return
        self._heard = time.monotonic()
        for answer in self._conversation.read(data):
            if not self._open:  # the link died meanwhile
                return
            done = self._open.popleft()[1]
            if isinstance(answer, BackendError):
                done(None, answer)
            else:
                done(answer, None)
            if isinstance(answer, LinkLost):
                self.life.die(answer)

    # -- ``Wire``, called by ``LinkLife``

    def batch(self, task: Callable[[], None]) -> None:
        """Run work, then write at once all requests that it made."""
        task()
        if self._socket is None or not self._unwritten:
            return
        try:
            sent = self._socket.send(self._unwritten)
        except BlockingIOError:
            sent = 0
        except OSError as error:
            self.life.die(error)
            return
        self._written += sent
        del self._unwritten[:sent]
        loop = self.life.thread.loop
        loop.update_handler(self._socket.fileno(), loop.READ | (loop.WRITE if self._unwritten else 0))

    def explain(self, error: BaseException) -> LinkLost:
        """Why the link ended."""
        made = LinkLost(f"the connection to {self.life.broker} is lost: {describe(error)}")
        made.__cause__ = error
        return made

    def answer_all(self) -> None:
        """Fail all requests; one of which no byte was passed to the kernel was certainly not executed."""
        self._box.refuse_all()
        while self._open:
            begins, done = self._open.popleft()
            done(None, self.life.lost(in_doubt=begins < self._written))
        self._conversation.ended(self.life.lost())

    def break_off(self, error: BaseException) -> None:
        """Close the socket and end the thread."""
        if self._socket is not None:
            self.life.thread.loop.remove_handler(self._socket.fileno())
            self._socket.close()
            self._socket = None
        self.life.thread.stop()

    def silence(self) -> float:
        """For how many seconds the broker has owed an answer and said nothing."""
        return time.monotonic() - self._heard if self._open else 0.0


def _answer(ticket: Ticket | None, answer: Any, error: BackendError | None) -> None:
    if ticket is not None and error is None:
        ticket.succeed()
    elif ticket is not None and error is not None:
        ticket.fail(error)
