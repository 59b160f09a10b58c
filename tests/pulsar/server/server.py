"""The server: a thread for each connection, which calls ``heard`` for each command."""

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable

from tests.pulsar.server.answering import answer
from tests.pulsar.server.topics import Consumer, Topic
from tests.pulsar.server.wire import Command, Kind, frame, parse_frames

__all__ = ["Line", "Server"]

Heard = Callable[["Line", Command], None]


class Line:
    """One connection of a client."""

    def __init__(self, server: "Server", connected: socket.socket) -> None:
        self.server = server
        self.commands: list[Command] = []
        self.reading = threading.Event()
        """Clear it, and nothing more is read."""
        self.reading.set()
        self.consumers: dict[int, Consumer] = {}
        self.producers: dict[int, Topic] = {}
        self.ended = threading.Event()
        self._socket = connected
        self._writing = threading.RLock()

    def write(self, kind: int, payload: bytes = b"", **fields: object) -> None:
        """Send a command."""
        self.raw(frame(kind, payload, **fields))

    def raw(self, data: bytes) -> None:
        """Send bytes; a client that has gone is no error."""
        with self._writing, contextlib.suppress(OSError):
            if not self.server.splits:
                self._socket.sendall(data)
                return
            for byte in data:
                self._socket.sendall(bytes((byte,)))

    def cut(self) -> None:
        """End the connection."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def heard(self, kind: int) -> list[Command]:
        """The commands of this type so far."""
        return [each for each in list(self.commands) if each.kind == kind]

    def run(self) -> None:
        """Read until the client has gone."""
        rest = b""
        while self.reading.wait():
            try:
                data = self._socket.recv(1 << 16)
            except OSError:
                break
            if not data:
                break
            found, rest = parse_frames(rest + data)
            for each in found:
                self.commands.append(each)
                with self.server.lock:
                    self.server.heard(self, each)
        self._socket.close()
        with self.server.lock:
            for consumer in list(self.consumers.values()):
                consumer.leave()
        self.ended.set()


class Server:
    """Listens until ``close``. ``heard`` may be replaced at any time; ``answer`` is a broker that behaves well.

    With ``splits`` each byte is a segment of its own. ``addressed`` is what lookups are answered with, if it is not
    the address of this server.
    """

    def __init__(self, heard: Heard = answer, *, splits: bool = False, tls: ssl.SSLContext | None = None) -> None:
        self.heard = heard
        self.splits = splits
        self.version = "Pulsar Server-v0 (scripted)"
        self.largest: int | None = 5 * 1024 * 1024
        self.lines: list[Line] = []
        self.topics: dict[str, Topic] = {}
        self.partitions: dict[str, int] = {}
        """How many the topics of these full names have; others have none."""
        self.lock = threading.RLock()
        self._tls = tls
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, name="scripted-accept", daemon=True).start()

    @property
    def address(self) -> str:
        """The URL that it gives for itself."""
        return f"pulsar://127.0.0.1:{self.port}"

    def _accept(self) -> None:
        while True:
            try:
                connected, _ = self._listening.accept()
                if self._tls is not None:
                    connected = self._tls.wrap_socket(connected, server_side=True)
            except ssl.SSLError:
                continue  # the client did not like the certificate
            except OSError:
                return
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            line = Line(self, connected)
            self.lines.append(line)
            threading.Thread(target=line.run, name="scripted-line", daemon=True).start()

    def heard_of(self, kind: int) -> list[Command]:
        """The commands of this type, over every connection."""
        return [each for line in list(self.lines) for each in line.heard(kind)]

    def topic(self, name: str) -> Topic:
        """A topic by its full name, made when it is first asked for."""
        number = name.rpartition("-partition-")[2]
        return self.topics.setdefault(name, Topic(int(number) if number.isdecimal() else None))

    def close_producers(self) -> None:
        """Tell all producers to connect again, as when their topics move to another broker."""
        with self.lock:
            for line in self.lines:
                for number in line.producers:
                    line.write(Kind.CLOSE_PRODUCER, f1=number, f2=0)
                line.producers.clear()

    def close_consumers(self) -> None:
        """The same for consumers: what they have not acknowledged is delivered again."""
        with self.lock:
            for line in self.lines:
                for number, consumer in line.consumers.items():
                    line.write(Kind.CLOSE_CONSUMER, f1=number, f2=0)
                    consumer.leave()
                line.consumers.clear()

    def close(self) -> None:
        """Stop listening, and end all connections."""
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for line in self.lines:
            line.reading.set()
            line.cut()
