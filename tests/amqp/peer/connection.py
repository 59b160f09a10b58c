"""One client's connection: its socket, the security layer by hand, and proton's engine on the server's side."""

import contextlib
import socket
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import proton

from tests.amqp.peer import frames
from tests.amqp.peer.answering import Answering
from tests.amqp.peer.link import PeerLink, condition_of
from tests.amqp.peer.script import Condition

if TYPE_CHECKING:
    from tests.amqp.peer.server import Peer

__all__ = ["PeerConnection"]

_ROOM = 1 << 16
_INIT, _MECHANISMS, _OUTCOME = 0x41, 0x40, 0x44


class PeerConnection:
    """For the peer's thread."""

    def __init__(self, peer: "Peer", sock: socket.socket) -> None:
        self.peer = peer
        self.script = peer.script
        self._links: dict[tuple[str, bool], PeerLink] = {}
        self.socket: socket.socket | None = sock
        self.silent = False
        """Whether it reads and writes nothing, while the socket stays open."""
        self.deaf = False
        """Whether it reads nothing."""
        self.engine = proton.Connection()
        self.transport = proton.Transport(proton.Transport.SERVER)
        self._collector = proton.Collector()
        self._answering = Answering(self)
        self._stage = "header"
        self._got = b""
        self.user: str | None = None
        self.mechanism: str | None = None
        self.engine.collect(self._collector)
        if self.script.max_frame:
            self.transport.max_frame_size = self.script.max_frame
        if self.script.channel_max:
            self.transport.channel_max = self.script.channel_max
        self.transport.idle_timeout = self.script.idle_timeout
        self._bound = False
        self._answers = False
        self._held: bytearray | None = None

    # -- bytes

    def readable(self) -> None:
        """Read what there is."""
        if self.socket is None or self.silent or self.deaf:
            return
        try:
            data = self.socket.recv(_ROOM)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.peer.records.event("lost")
            self.cut()
        elif self._stage == "amqp":
            self._push(data)
        else:
            self._got += data
            self._negotiate()
        self.flush()

    def _negotiate(self) -> None:
        """The protocol headers and the security layer."""
        while self._stage != "amqp" and len(self._got) >= 8:
            if self._stage == "init":
                size = int.from_bytes(self._got[:4])
                if len(self._got) < size:
                    return
                body, self._got = self._got[8:size], self._got[size:]
                self._login(body)
                continue
            header = self._got[:8]
            if self.script.header is not None:
                self.write(self.script.header)
                self.cut()
                return
            if header == frames.SASL and self._stage == "header":
                self._got = self._got[8:]
                names = proton.Array(
                    proton.UNDESCRIBED, proton.Data.SYMBOL, *(proton.symbol(name) for name in self.script.mechanisms)
                )
                self.write(frames.SASL + frames.sasl(_MECHANISMS, names))
                self._stage = "init"
            else:
                self._stage = "amqp"
                self.transport.bind(self.engine)
                self._bound = True
                got, self._got = self._got, b""
                self._push(got)

    def _login(self, body: bytes) -> None:
        data = proton.Data()
        data.decode(body)
        data.rewind()
        data.next()
        fields = data.get_object().value
        self.mechanism = str(fields[0])
        response = bytes(fields[1] or b"") if len(fields) > 1 else b""
        self.user = response.split(b"\0")[1].decode() if self.mechanism == "PLAIN" else None
        self.peer.records.event("login", (self.mechanism, response))
        self.write(frames.sasl(_OUTCOME, proton.ubyte(self.script.sasl_code)))
        self._stage = "header again"
        if self.script.sasl_code:
            self.cut()

    def _push(self, data: bytes) -> None:
        while data:
            room = self.transport.capacity()
            if room <= 0:
                return
            self.transport.push(data[:room])
            data = data[room:]
            self.events()

    def events(self) -> None:
        """Do what proton found."""
        if self._answers:
            return  # an answer caused more: its turn comes
        self._answers = True
        while (event := self._collector.peek()) is not None:
            self._answering.on(event)
            self._collector.pop()
        self._answers = False

    def flush(self) -> None:
        """Write what proton has."""
        self.events()
        while self._bound and not self.silent and self.socket is not None:
            ready = self.transport.pending()
            if ready < 0:
                self.cut()
            if ready <= 0:
                return
            self.write(self.transport.peek(ready))
            self.transport.pop(ready)
            self.events()

    def write(self, data: bytes) -> None:
        """These bytes, whatever they are, after those before them."""
        if self.socket is None:
            return
        if self._held is not None:
            self._held += data
            return
        try:
            self.socket.setblocking(True)
            self.socket.settimeout(10)
            self.socket.sendall(data)
        except OSError:
            self.cut()
        else:
            self.socket.setblocking(False)

    def raw(self, data: bytes) -> None:
        """These bytes between proton's frames."""
        self.flush()
        self.write(data)

    def tick(self) -> None:
        """Heart-beats, and the idle time-out where it is enforced."""
        if self._bound and not self.silent:
            if self.script.enforces_idle or self.transport.remote_idle_timeout:
                self.transport.tick(time.monotonic())
            self.flush()

    # -- what a test may want

    @contextlib.contextmanager
    def together(self) -> Iterator[bytearray]:
        """What is done in this block is written at its end, all at once; gives what is to be written so far."""
        self._held = held = bytearray()
        try:
            yield held
        finally:
            self._write_held()

    def _write_held(self) -> None:
        held, self._held = self._held, None
        if held:
            self.write(bytes(held))

    def cut(self) -> None:
        """Close the socket, saying nothing."""
        self._write_held()
        sock, self.socket = self.socket, None
        if sock is not None:
            self.peer.forget(sock)
            with contextlib.suppress(OSError):
                sock.close()

    def refuse(self, condition: Condition) -> None:
        """Answer the client's open with a close."""
        failed = {"amqp:connection-establishment-failed": True}
        self.engine.properties = proton.PropertyDict({**self.script.properties, **failed})
        self.engine.open()
        self.close(condition)

    def close(self, condition: Condition | None = None) -> None:
        """Close the connection as AMQP says."""
        self.engine.condition = condition_of(condition)
        self.engine.close()
        self.flush()

    def serve(self, link: PeerLink) -> None:
        """Deliver what there is, as the credit allows."""
        stock = self.peer.stock.get(link.address or "")
        while link.proton.credit > 0 and (link.stock or stock):
            data = link.stock.popleft() if link.stock else stock.popleft()  # type: ignore[union-attr]
            delivery = link.proton.delivery(f"{link.name}-{link.delivered}")
            delivery.context = data
            link.delivered += 1
            link.proton.stream(data)
            link.proton.advance()
            if link.proton.snd_settle_mode == proton.Link.SND_SETTLED:
                delivery.settle()

    def remember(self, link: PeerLink) -> None:
        """One was attached."""
        self._links[link.name, link.receives] = link

    def find(self, made: Any) -> PeerLink | None:
        """What the peer knows of proton's link."""
        return self._links.get((made.name, made.is_sender))

    @property
    def links(self) -> list[PeerLink]:
        """All that were ever attached; of two with the same name and direction the newer one."""
        return list(self._links.values())
