"""An AMQP 1.0 server that accepts every message and keeps none, so that only the client limits the rate.

``python -m integration.bench.discarding`` prints its port; at the end of its standard input it prints how many messages
it accepted and the CPU seconds that they took, which shows that it is not what limits a client. It
decodes what opens and closes things; of a transfer it reads only the kind of the frame, since each is a whole message.
"""

import contextlib
import socket
import struct
import sys
import threading
import time
from typing import Any

from proton import symbol, ubyte, uint, ushort

from integration.bench.amqp_frames import (
    AMQP,
    ATTACH,
    BEGIN,
    CLOSE,
    DETACH,
    END,
    FLOW,
    MECHANISMS,
    OPEN,
    OUTCOME,
    SASL,
    TRANSFER,
    code_of,
    fields_of,
    frame,
    split,
    symbols,
)

__all__ = ["Connection", "main"]

_HEARTBEAT = b"\0\0\0\x08\2\0\0\0"
_SILENCE = 5.0  # seconds; clients give up after some ten
_CREDIT = 1 << 30
_WINDOW = (1 << 31) - 1
# A disposition of the receiver: from one transfer to another, settled, accepted.
_ACCEPTED = struct.Struct(">IBBH7sBIBI5s")
_HEAD, _TAIL = b"\x00\x53\x15\xc0\x11\x05\x41", b"\x41\x00\x53\x24\x45"
_OFFERED = ("ANONYMOUS-RELAY", "DELAYED_DELIVERY")


class Connection:
    """One client, until it closes. Frames are read in batches, and a batch of transfers has one disposition."""

    def __init__(self, client: socket.socket) -> None:
        self._client = client
        client.settimeout(_SILENCE)
        self._rest = b""
        self._begun: dict[int, uint] = {}
        """By channel: the number of the client's first transfer."""
        self._first: dict[int, int] = {}
        """By channel: the number of the first delivery that has no disposition."""
        self._next: dict[int, int] = {}
        self.accepted = 0

    def serve(self) -> None:
        """Answer until the client is gone."""
        self._client.sendall(SASL + frame(1, 0, MECHANISMS, [symbols("PLAIN", "ANONYMOUS")]))
        self._skip(len(SASL))
        self._read()  # its choice of a mechanism, which is not looked at
        self._client.sendall(frame(1, 0, OUTCOME, [ubyte(0)]))
        self._skip(len(AMQP))
        self._client.sendall(AMQP)
        while self._batch(self._read()):
            pass

    def _skip(self, count: int) -> None:
        while len(self._rest) < count:
            self._receive()
        self._rest = self._rest[count:]

    def _receive(self) -> None:
        try:
            part = self._client.recv(1 << 20)
        except TimeoutError:
            self._client.sendall(_HEARTBEAT)
            return
        if not part:
            raise ConnectionError("the client is gone")
        self._rest += part

    def _read(self) -> list[bytes]:
        """The frames that are complete, one at least."""
        frames: list[bytes] = []
        while not frames:
            frames, self._rest = split(self._rest)
            if not frames:
                self._receive()
        return frames

    def _batch(self, frames: list[bytes]) -> bool:
        """Answer them; False after the client's close."""
        answers: list[bytes] = []
        for each in frames:
            code = code_of(each)
            if code == TRANSFER:
                self._count(each)
            elif code is not None:
                answers += self._control(code, each[7], fields_of(each))
        for channel, end in self._next.items():
            first = self._first[channel]
            if first != end:
                answers.append(_ACCEPTED.pack(_ACCEPTED.size, 2, 0, channel, _HEAD, 0x70, first, 0x70, end - 1, _TAIL))
                self.accepted += end - first
                self._first[channel] = end
        self._client.sendall(b"".join(answers))
        return CLOSE not in map(code_of, frames)

    def _count(self, transfer: bytes) -> None:
        channel = transfer[7]
        if channel not in self._next:
            self._first[channel] = self._next[channel] = int(fields_of(transfer)[1])  # not each client begins with 0
        self._next[channel] += 1

    def _control(self, code: int, channel: int, fields: list[Any]) -> list[bytes]:
        if code == OPEN:
            product = {symbol("product"): "a peer that discards"}
            limits = [uint(1 << 17), ushort(100), None, None, None, symbols(*_OFFERED), None, product]
            return [frame(0, channel, code, ["discarding", None, *limits])]
        if code == BEGIN:
            self._begun[channel] = fields[1]
            return [frame(0, channel, code, [ushort(channel), uint(0), uint(_WINDOW), uint(_WINDOW), uint(255)])]
        if code == ATTACH:
            name, handle, role, *rest = fields
            echoed = frame(0, channel, code, [name, handle, not role, *rest[:4], None, None, None if role else uint(0)])
            return [echoed] if role else [echoed, self._credit(channel, handle)]
        if code in (DETACH, END, CLOSE):
            return [frame(0, channel, code, fields)]
        return []

    def _credit(self, channel: int, handle: Any) -> bytes:
        window = [self._begun[channel], uint(_WINDOW), uint(0), uint(_WINDOW)]
        return frame(0, channel, FLOW, [*window, handle, uint(0), uint(_CREDIT)])


def main() -> None:
    """Serve until the standard input ends."""
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    served: list[Connection] = []

    def accept() -> None:
        while True:
            client, _ = listener.accept()
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = Connection(client)
            served.append(connection)
            threading.Thread(target=_until_gone, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    begun = time.process_time()
    sys.stdin.read()
    print(sum(connection.accepted for connection in served), time.process_time() - begun, flush=True)


def _until_gone(connection: Connection) -> None:
    with contextlib.suppress(ConnectionError):
        connection.serve()


if __name__ == "__main__":
    main()
