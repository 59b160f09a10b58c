"""What a broker's credit lets through: the same message as prepared bytes, written as soon as there is credit.

It makes no message, and looks at no outcome but the last: no client can be faster with this credit.
"""

import socket
from urllib.parse import urlsplit

from proton import Described, symbol, ubyte, uint, ulong, ushort

from integration.bench.amqp_frames import (
    AMQP,
    ATTACH,
    BEGIN,
    DISPOSITION,
    FLOW,
    OPEN,
    OUTCOME,
    SASL,
    SASL_INIT,
    code_of,
    fields_of,
    frame,
    split,
)
from integration.bench.clients.protocol import Arguments, arguments, serve
from integration.bench.clients.proton_message import message

__all__ = ["main"]

# A transfer on channel 0 and link 0, with its number also as its tag, not settled; the message follows.
_BEFORE = b"\2\0\0\0" + bytes.fromhex("005314c00f054370")
_BETWEEN, _AFTER = b"\xa0\x04", b"\x43\x42"
_PATIENCE = 30.0  # seconds


class _Sender:
    def __init__(self, url: str, queue: str) -> None:
        parts = urlsplit(url)
        self._socket = socket.create_connection((parts.hostname, parts.port), _PATIENCE)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._rest = b""
        self._sent = 0
        self._limit = 0  # how many may be sent in all
        self._settled = -1
        self._message: bytes = message().encode()
        self._head = (4 + len(_BEFORE) + 4 + len(_BETWEEN) + 4 + len(_AFTER) + len(self._message)).to_bytes(4) + _BEFORE
        self._open(f"\0{parts.username}\0{parts.password}".encode(), parts.hostname or "", queue)

    def _open(self, secret: bytes, host: str, queue: str) -> None:
        self._socket.sendall(SASL + frame(1, 0, SASL_INIT, [symbol("PLAIN"), secret]))
        self._skip(len(SASL))
        while OUTCOME not in map(code_of, self._read()):
            pass
        source, target = Described(ulong(0x28), [queue]), Described(ulong(0x29), [queue, uint(1)])
        attach = ["bench", uint(0), False, ubyte(0), ubyte(0), source, target, None, None, uint(0)]
        self._socket.sendall(
            AMQP
            + frame(0, 0, OPEN, ["bench", host, uint(1 << 17), ushort(10)])
            + frame(0, 0, BEGIN, [None, uint(0), uint(1 << 30), uint(1 << 30)])
            + frame(0, 0, ATTACH, attach)
        )
        self._skip(len(AMQP))
        while not self._limit:
            self._answers()

    def _skip(self, count: int) -> None:
        while len(self._rest) < count:
            self._rest += self._socket.recv(1 << 16)
        self._rest = self._rest[count:]

    def _read(self) -> list[bytes]:
        frames: list[bytes] = []
        while not frames:
            frames, self._rest = split(self._rest)
            if not frames:
                part = self._socket.recv(1 << 20)
                if not part:
                    raise ConnectionError("the broker is gone")
                self._rest += part
        return frames

    def _answers(self) -> None:
        for each in self._read():
            code = code_of(each)
            if code == FLOW:
                fields = fields_of(each)
                if len(fields) > 6 and fields[4] is not None:
                    self._limit = int(fields[5]) + int(fields[6])
            elif code == DISPOSITION:
                self._settled = max(self._settled, _last(each))

    def send(self, count: int) -> None:
        """Send this many, and wait until the last one is accepted."""
        end = self._sent + count
        while self._sent < end:
            stop = min(end, self._limit)
            if stop > self._sent:
                self._socket.sendall(b"".join(map(self._transfer, range(self._sent, stop))))
                self._sent = stop
            else:
                self._answers()
        while self._settled < end - 1:
            self._answers()

    def _transfer(self, number: int) -> bytes:
        four = number.to_bytes(4)
        return self._head + four + _BETWEEN + four + _AFTER + self._message


def _last(disposition: bytes) -> int:
    """The number of the last delivery of a disposition in a short list."""
    first, at = _number(disposition, 15)
    last, _ = _number(disposition, at)
    return first if last is None else last  # type: ignore[return-value]


def _number(data: bytes, at: int) -> tuple[int | None, int]:
    match data[at]:
        case 0x70:
            return int.from_bytes(data[at + 1 : at + 5]), at + 5
        case 0x52:
            return data[at + 1], at + 2
        case 0x43:
            return 0, at + 1
        case _:
            return None, at + 1


def main(wanted: Arguments) -> None:
    """Role ``send``."""
    serve(_Sender(wanted.url, wanted.queue).send)


if __name__ == "__main__":
    main(arguments())
