"""A peer that speaks STOMP over sockets and does what a test says: a broker's answers, cuts and silence."""

import socket
import threading
from collections.abc import Callable

from jmsbridge_stomp.protocol.frames import Frame, encode
from jmsbridge_stomp.protocol.parsing import Malformed, Parser

__all__ = ["ARTEMIS", "CLASSIC", "RABBITMQ", "Line", "Peer", "Subscribed", "answer"]

ARTEMIS = "ActiveMQ-Artemis/2.56.0"
CLASSIC = "ActiveMQ/6.3.1"
RABBITMQ = "RabbitMQ/4.0.5"


class Line:
    """One connection of the client."""

    def __init__(self, peer: "Peer", connected: socket.socket) -> None:
        self.peer = peer
        self.frames: list[Frame] = []
        self.beats = 0
        """How many times the client sent only heart-beats."""
        self.reading = threading.Event()
        self.reading.set()
        self._socket = connected

    def write(self, command: str, headers: dict[str, str], body: bytes = b"") -> None:
        """Send a frame, with the end of a line behind it, as ActiveMQ Classic and Artemis do."""
        self.raw(encode(command, headers.items(), body) + b"\n")

    def raw(self, data: bytes) -> None:
        """Send bytes, each as a segment of its own if the peer splits; a client that has gone is no error."""
        try:
            if not self.peer.splits:
                self._socket.sendall(data)
                return
            for byte in data:
                self._socket.sendall(bytes((byte,)))
        except OSError:
            return

    def cut(self) -> None:
        """End the connection."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            return

    def run(self) -> None:
        """Read until the client has gone."""
        with self._socket:
            self._read()

    def _read(self) -> None:
        parser = Parser()
        while self.reading.wait(30):
            try:
                data = self._socket.recv(1 << 16)
                found = parser.feed(data)
            except (OSError, Malformed):
                return
            if not data:
                return
            self.beats += not data.strip(b"\n")
            for frame in found:
                self.frames.append(frame)
                self.peer.heard(self, frame)


class Peer:
    """Listens until ``close``; ``heard`` is called for each frame, on the connection's thread."""

    def __init__(self, server: str, heard: "Callable[[Line, Frame], None]", *, splits: bool = False) -> None:
        self.server = server
        self.heard = heard
        self.splits = splits
        self.lines: list[Line] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connected, _ = self._listening.accept()
            except OSError:
                return
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            line = Line(self, connected)
            self.lines.append(line)
            threading.Thread(target=line.run, daemon=True).start()

    def frames(self) -> list[Frame]:
        """All that the client wrote, one connection after the other."""
        return [frame for line in self.lines for frame in line.frames]

    def sent(self) -> list[Frame]:
        """All messages of the client, over every connection."""
        return [frame for frame in self.frames() if frame.command == "SEND"]

    def close(self) -> None:
        """Stop listening, and end all connections."""
        self._listening.close()
        for line in self.lines:
            line.reading.set()
            line.cut()


def answer(line: Line, frame: Frame) -> None:
    """Answer as a broker does that accepts everything and has no messages and no scheduler."""
    receipt = frame.headers.get("receipt", "")
    if frame.command == "CONNECT":
        line.write("CONNECTED", {"version": "1.2", "server": line.peer.server, "heart-beat": "1000,1000"})
    elif frame.headers.get("id") in ("jb-scheduler", "jb-marker"):
        line.write("ERROR", {"receipt-id": receipt, "message": "not authorized"})
    elif receipt:
        line.write("RECEIPT", {"receipt-id": receipt})


class Subscribed:
    """Answers everything, and remembers what was subscribed."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.line: Line | None = None

    def heard(self, line: Line, frame: Frame) -> None:
        """One frame of the client."""
        if frame.command == "SUBSCRIBE" and frame.headers["destination"].endswith(("queue", "topic")):
            self.line = line
            self.names.append(frame.headers["id"])
        answer(line, frame)

    def deliver(self, *texts: bytes) -> None:
        """Send it messages together."""
        assert self.line is not None
        data = b""
        for text in texts:
            name = text.decode()
            headers = {"subscription": self.names[-1], "message-id": name, "ack": name, "jb_types": ""}
            data += encode("MESSAGE", headers.items(), text) + b"\n"
        self.line.raw(data)
