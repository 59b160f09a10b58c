"""A relay on an I/O thread of its own, and sockets that connect to it as the client library does."""

import contextlib
import socket
import threading
from collections import deque
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from jmsbridge.spi import Endpoint, LinkLost
from jmsbridge.testing.harness import LinkLog
from jmsbridge.testing.suite.support import eventually
from jmsbridge.transport.network.link_life import LinkLife
from jmsbridge_pulsar.connection.attachments import Attached
from jmsbridge_pulsar.connection.options import PulsarOptions
from jmsbridge_pulsar.connection.relay import Relay
from tests.pulsar.server.wire import Command, Kind, frame, parse_frames

__all__ = ["Relayed", "Socket"]

PATIENCE = 10.0


class Socket:
    """What the client library has: a connection to the relay."""

    def __init__(self, port: int, small: bool = False) -> None:
        self.socket = socket.socket()
        if small:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 16)
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(("127.0.0.1", port))
        self._found: deque[Command] = deque()
        self._rest = b""

    def send(self, kind: int, payload: bytes = b"", **fields: Any) -> None:
        """Send one command."""
        self.socket.sendall(frame(kind, payload, **fields))

    def read(self) -> Command | None:
        """The next command; None at the end."""
        while not self._found:
            try:
                data = self.socket.recv(1 << 20)
            except ConnectionResetError:
                return None
            if not data:
                return None
            found, self._rest = parse_frames(self._rest + data)
            self._found += found
        return self._found.popleft()

    def ended(self) -> bool:
        """Whether the relay ends the connection, without a word before."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True

    def close(self) -> None:
        """End it."""
        self.socket.close()


class Relayed:
    """``broken`` has the errors with which connections ended, ``refused`` what brokers do not let in again."""

    def __init__(self, port: int, connect_timeout: float, options: dict[str, Any]) -> None:
        endpoint = Endpoint(scheme="pulsar", host="127.0.0.1", port=port, connect_timeout=connect_timeout)
        self.broken: list[BaseException] = []
        self.refused: list[tuple[Attached, int, str]] = []
        self.closed: list[Attached] = []
        self.life = LinkLife("jmsbridge-pulsar-test-io", "Pulsar", endpoint, LinkLog(), _Wire(self))
        self.relay = Relay(
            self.life,
            PulsarOptions(**options),
            self.broken.append,
            lambda *refused: self.refused.append(refused),
            self.closed.append,
        )
        self._sockets: list[Socket] = []
        self.port = 0
        listening = threading.Event()

        def listen() -> None:
            self.port = urlsplit(self.relay.listen()).port or 0
            listening.set()

        self.life.thread.start(listen)
        assert listening.wait(PATIENCE)

    def socket(self, *, port: int | None = None, small: bool = False) -> Socket:
        """A connection that has said nothing."""
        self._sockets.append(Socket(port or self.port, small))
        return self._sockets[-1]

    def connect(self, broker: str | None = None, **more: Any) -> Socket:
        """A connection that the broker has accepted."""
        made = self.socket(**more)
        made.send(Kind.CONNECT, f1="library", f3=self.relay.secret, f4=19, f5="token", f6=broker)
        answer = made.read()
        assert answer is not None
        assert answer.kind == Kind.CONNECTED
        return made

    def wait_broken(self) -> BaseException:
        """The error of the one connection that has ended."""
        eventually(lambda: self.broken)
        assert len(self.broken) == 1
        return self.broken[0]

    def close(self) -> None:
        """End all of it."""
        self.life.close(lambda: self.life.die(LinkLost("the test ends")))
        for each in self._sockets:
            with contextlib.suppress(OSError):
                each.close()


class _Wire:
    def __init__(self, relayed: Relayed) -> None:
        self._relayed = relayed

    def batch(self, task: Callable[[], None]) -> None:
        """Run work."""
        task()

    def explain(self, error: BaseException) -> LinkLost:
        """Nothing to explain."""
        return LinkLost(str(error))

    def answer_all(self) -> None:
        """Nothing is open."""

    def break_off(self, error: BaseException) -> None:
        """Close every connection."""
        self._relayed.relay.close(self._relayed.life.thread.stop)

    def silence(self) -> float:
        """Nothing is owed."""
        return 0.0
