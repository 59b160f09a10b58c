"""The relay: the client library connects to it, and it connects to the brokers.

The library reconnects by itself and tells nobody, so the relay is where a link learns at once that a connection broke,
and where it ends for good: every broken connection ends the link. It also logs in and does TLS, so that both are as on
other brokers and no secret reaches the library, and answers lookups so that all connections pass through it. Behind
the first command of each connection to a broker, bytes are passed on unread.

All of it belongs to the I/O thread.
"""

import contextlib
import hmac
import secrets
import socket
import time
from collections.abc import Callable

from jmsbridge.spi import BackendError
from jmsbridge.transport.network.link_life import LinkLife
from jmsbridge.transport.network.stream import ByteStream
from jmsbridge.transport.network.tls import client_context
from jmsbridge_pulsar.connection.errors import Refusal
from jmsbridge_pulsar.connection.options import PulsarOptions, login_of
from jmsbridge_pulsar.connection.protocol import (
    CONNECTED,
    ERROR,
    LOOKUP_RESPONSE,
    Connect,
    Frames,
    Malformed,
    contents,
    encode_connect,
    kind_of,
    parse_connect,
    redirect,
    text_of,
)
from jmsbridge_pulsar.connection.upstream import Controlled, Upstream

__all__ = ["PORT", "TLS_PORT", "Relay"]

PORT, TLS_PORT = 6650, 6651
"""The usual ports of Pulsar."""

_HIGH = 1 << 20  # bytes that may wait for one side before the other is read no more
_FIRST = 1 << 16  # bytes that a connection may send before it has said who it is
_HOST = "127.0.0.1"


class Relay:
    """``broken`` gets the error of the first connection that ends, or that cannot be made."""

    def __init__(self, life: LinkLife, options: PulsarOptions, broken: Callable[[BaseException], None]) -> None:
        self.secret = secrets.token_urlsafe(24)
        """What the library must show: other processes of this machine can connect, too."""
        self.broker = ""
        """The version that the broker said; empty until then."""
        self.largest = 5 * 1024 * 1024
        """Bytes of the largest message that the broker takes."""
        self.heard = time.monotonic()
        """When the last bytes came from a broker."""
        self.controlled: dict[str, Controlled] = {}
        """By the name of a consumer, who gives it credit."""
        self.life = life
        self.options = options
        self._broken = broken
        self._proxied: set[str] = set()  # brokers that can be reached only through the address of the URL
        self._pipes: set[_Pipe] = set()
        self._listener: socket.socket | None = None

    def listen(self) -> str:
        """Begin; returns the URL for the library."""
        self._listener = made = socket.create_server((_HOST, 0))
        made.setblocking(False)
        loop = self.life.thread.loop
        loop.add_handler(made.fileno(), self._accept, loop.READ)
        return f"pulsar://{_HOST}:{made.getsockname()[1]}"

    def _accept(self, fd: int, events: int) -> None:
        if self._listener is None:
            return
        with contextlib.suppress(BlockingIOError, ConnectionAbortedError):
            accepted, _ = self._listener.accept()
            self._pipes.add(_Pipe(self, accepted))

    def close(self) -> None:
        """Close every connection at once, and take no more."""
        listener, self._listener = self._listener, None
        if listener is not None:
            self.life.thread.loop.remove_handler(listener.fileno())
            listener.close()
        for pipe in list(self._pipes):
            self.drop(pipe)

    def target(self, broker: str | None) -> tuple[str, int, str | None]:
        """Host and port to connect to, and the broker to name to the proxy that is there."""
        endpoint = self.life.endpoint
        port = endpoint.port or (TLS_PORT if self.is_secure else PORT)
        host = endpoint.host or "localhost"
        if broker is None:
            return host, port, None
        if broker in self._proxied:
            return host, port, broker
        if self.options.single_address:
            return host, port, None
        name, _, number = broker.rpartition(":")
        return name.strip("[]"), int(number), None

    @property
    def is_secure(self) -> bool:
        """Whether brokers are reached over TLS."""
        return self.life.endpoint.scheme.endswith("+ssl")

    def learn(self, connected: bytes) -> None:
        """Note what the broker said when it accepted a connection."""
        found = contents(connected)
        self.broker = text_of(found, 1)
        self.largest = int(found.get(3) or 0) or self.largest

    def answer_lookup(self, command: bytes) -> bytes:
        """The answer to a lookup that leads the library back to the relay."""
        frame, broker, is_proxied = redirect(command, tls=self.is_secure)
        if is_proxied:
            self._proxied.add(broker)
        return frame

    def drop(self, pipe: "_Pipe") -> None:
        """Close one connection; nobody is told."""
        self._pipes.discard(pipe)
        pipe.close()

    def end(self, pipe: "_Pipe", error: BaseException) -> None:
        """One connection broke."""
        if pipe in self._pipes:
            self.drop(pipe)
            self._broken(error)


class _Pipe:
    """One connection of the library and the one to a broker that belongs to it."""

    def __init__(self, relay: Relay, accepted: socket.socket) -> None:
        self._relay = relay
        loop = relay.life.thread.loop
        self._near = ByteStream(loop, self._begin, lambda: self._far.hold(False), self._library_left)
        self._far = ByteStream(loop, self._answered, lambda: self._near.hold(False), self._broke)
        self._upstream = Upstream(relay.controlled, self._far.write)
        self._began = Frames()
        self._answers = Frames()
        self._asks = False  # this connection is for lookups
        self._is_open = False  # the broker has accepted it
        self._waiting = b""  # what the library wrote behind CONNECT
        self._size = 0
        self._receive: Callable[[bytes], None] = self._identify
        self._near.adopt(accepted)

    def close(self) -> None:
        """Close both sides at once."""
        self._near.close()
        self._far.close()

    # -- from the library

    def _begin(self, data: bytes) -> None:
        self._receive(data)

    def _identify(self, data: bytes) -> None:
        self._size += len(data)
        try:
            for command, _ in self._began.feed(data):
                self._connect(parse_connect(command))
                return
        except Malformed:
            self._relay.drop(self)
            return
        if self._size > _FIRST:
            self._relay.drop(self)

    def _connect(self, connect: Connect) -> None:
        relay = self._relay
        if not hmac.compare_digest(connect.secret, relay.secret.encode()):
            relay.drop(self)  # not of this link
            return
        self._receive = self._keep
        self._waiting = self._began.rest()
        self._asks = connect.broker is None
        endpoint, options = relay.life.endpoint, relay.options
        try:
            host, port, proxied = relay.target(connect.broker)
            first = encode_connect(connect, login_of(endpoint, options), proxied)
            context = client_context(options, endpoint) if relay.is_secure else None
        except (BackendError, ValueError) as error:
            relay.end(self, error)
            return

        def opened(error: BaseException | None) -> None:
            if error is not None:
                relay.end(self, error)
                return
            self._far.write(first)
            waiting, self._waiting = self._waiting, b""
            self._receive = self._pass
            self._pass(waiting)

        deadline = time.monotonic() + endpoint.connect_timeout
        self._far.connect(host, port, context, options.server_name or host, deadline, opened)

    def _keep(self, data: bytes) -> None:
        self._waiting += data
        if len(self._waiting) > _HIGH:
            self._near.hold(True)

    def _pass(self, data: bytes) -> None:
        self._upstream.take(data)
        if self._far.backlog > _HIGH:
            self._near.hold(True)

    def _library_left(self, error: BaseException) -> None:
        self._relay.end(self, ConnectionAbortedError("the client library gave the connection up"))

    # -- from the broker

    def _answered(self, data: bytes) -> None:
        self._relay.heard = time.monotonic()
        if self._is_open and not self._asks:
            self._hand_down(data)
            return
        try:
            for command, frame in self._answers.feed(data):
                self._take(command, frame)
        except Malformed as error:
            self._relay.end(self, error)
            return
        if self._is_open and not self._asks:
            self._hand_down(self._answers.rest())

    def _take(self, command: bytes, frame: bytes) -> None:
        kind = kind_of(command)
        if kind == LOOKUP_RESPONSE:
            frame = self._relay.answer_lookup(command)
        elif kind == CONNECTED and not self._is_open:
            self._is_open = True
            self._relay.learn(command)
        elif kind == ERROR and not self._is_open:
            found = contents(command)
            self._relay.end(self, Refusal(int(found.get(2) or 0), text_of(found, 3)))
            return
        elif not self._is_open and not self._asks:
            raise Malformed(f"an answer of type {kind} to CONNECT")
        self._hand_down(frame)

    def _hand_down(self, data: bytes) -> None:
        if data:
            self._near.write(data)
        if self._near.backlog > _HIGH:
            self._far.hold(True)

    def _broke(self, error: BaseException) -> None:
        self._relay.end(self, error)
