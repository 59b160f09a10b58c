"""A TCP connection, with or without TLS, on the loop of an I/O thread: bytes in, bytes out, one end.

For protocols whose client library parses and encodes but does no I/O. Everything here belongs to the I/O thread.
"""

import contextlib
import os
import socket
import ssl
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence

from jmsbridge.transport.network.forking import abandoned_at_fork
from jmsbridge.transport.network.loop import EpollLoop, SelectorLoop, Timer

__all__ = ["ByteStream"]

_CHUNK = 1 << 18  # bytes to decrypt at once
_QUICKACK: int | None = getattr(socket, "TCP_QUICKACK", None)
_MANY = 32  # answers
_FEW = 2
_SLOW = 125e-6  # seconds for an answer
_REST = 4e-3  # seconds, at most
_MOMENT = 8e-4  # seconds; the loop sleeps for whole milliseconds
_MUCH = 1 << 15  # bytes
_RECORD = 1 << 14  # bytes in one record of TLS, at most
_PARTS = 1000  # for one call; the kernel takes 1024


class ByteStream:
    """``received`` gets what arrives, ``emptied`` is called when everything was written after a full socket.

    ``broken`` gets the error with which the connection ends, once; after ``close`` it is not called.
    """

    def __init__(
        self,
        loop: EpollLoop | SelectorLoop,
        received: Callable[[bytes], None],
        emptied: Callable[[], None],
        broken: Callable[[BaseException], None],
    ) -> None:
        self.written = 0
        """How many bytes were passed to the kernel; with TLS, how many in records that were passed completely."""
        self._loop = loop
        self._received = received
        self._emptied = emptied
        self._broken = broken
        self._socket: socket.socket | None = None
        self._context: ssl.SSLContext | None = None
        self._name: str | None = None
        self._deadline = 0.0
        self._timer: Timer | None = None
        self._addresses: list[tuple[int, int, int, tuple[object, ...]]] = []
        self._opened: Callable[[BaseException | None], None] | None = None
        self._tls: _Tls | None = None
        self._unwritten = bytearray()
        self._sent = 0  # bytes that the kernel has taken; with TLS those of its records
        self._watched = 0
        self._reads = loop.READ  # 0 while nothing is to be read
        self._rests = False
        self._got = 0  # bytes in the last read
        self._looked = 0.0
        self._owed = 0  # answers, at that time
        self._pace = 0.0  # seconds for an answer until then; 0 if nothing was awaited before it
        _streams.add(self)

    # -- connecting

    def adopt(self, accepted: socket.socket) -> None:
        """Use a connection that was accepted instead of making one."""
        accepted.setblocking(False)
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = accepted
        self._watched = self._reads
        self._loop.add_handler(accepted.fileno(), self._on_event, self._watched)

    def connect(
        self,
        host: str,
        port: int,
        tls: ssl.SSLContext | None,
        name: str | None,
        deadline: float,
        opened: Callable[[BaseException | None], None],
    ) -> None:
        """Try each address of the host; ``opened`` gets None, or the error of the last one.

        ``name`` is what the certificate must be for. The addresses share the time until ``deadline``, a
        ``time.monotonic()``, so that one that does not answer leaves time for the others.
        """
        self._context, self._name, self._deadline, self._opened = tls, name, deadline, opened

        def look_up() -> None:
            problem: Exception = OSError(f"{host} has no address")
            try:
                found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
                self._addresses = [(family, kind, proto, address) for family, kind, proto, _, address in found]
            except (OSError, UnicodeError) as error:  # UnicodeError: a part of the name is empty or too long
                problem = error
            self._loop.add_callback_threadsafe(lambda: self._looked_up(problem))

        # a slow name server must not keep this thread from being closed
        threading.Thread(target=look_up, name="jmsbridge-name-io", daemon=True).start()

    def _looked_up(self, problem: Exception) -> None:
        if self._opened is not None:
            self._try_next(problem)

    def _try_next(self, error: BaseException) -> None:
        """Connect to the next address; if there is none, report the error of the last."""
        self._let_go()
        if not self._addresses:
            self._answer(error)
            return
        patience = (self._deadline - time.monotonic()) / len(self._addresses)
        family, kind, proto, address = self._addresses.pop(0)
        try:
            self._socket = made = socket.socket(family, kind, proto)
            made.setblocking(False)
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with contextlib.suppress(BlockingIOError):
                made.connect(address)
        except OSError as problem:
            self._try_next(problem)
            return
        self._loop.add_handler(made.fileno(), self._connected, self._loop.WRITE)
        late = TimeoutError(f"{address[0]} does not answer")
        self._timer = self._loop.call_later(patience, lambda: self._try_next(late))

    def _connected(self, fd: int, events: int) -> None:
        if self._socket is None:
            return
        code = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            self._try_next(OSError(code, os.strerror(code)))
            return
        self._cancel_timer()
        self._loop.remove_handler(fd)
        self._watched = self._reads
        self._loop.add_handler(fd, self._on_event, self._watched)
        if self._context is None:
            self._answer(None)
            return
        try:
            self._tls = _Tls(self._context, self._name)
        except ValueError as error:  # a name that cannot be in a certificate
            self._break(error)
        else:
            self._shake_hands(self._tls)

    def _shake_hands(self, tls: "_Tls") -> None:
        try:
            is_done = tls.shake_hands()
        except (OSError, ValueError) as error:
            if self._socket is not None:
                with contextlib.suppress(OSError):
                    self._socket.send(tls.take())  # tells the broker what was wrong
            self._break(error)
            return
        self._put(tls.take())
        if is_done and self._socket is not None:
            self._answer(None)
            self._decrypt(tls)  # what came with the end of the handshake

    def _answer(self, error: BaseException | None) -> None:
        opened, self._opened = self._opened, None
        if error is not None:
            self._let_go()
        if opened is not None:
            opened(error)

    # -- writing

    @property
    def backlog(self) -> int:
        """How many bytes wait because the socket is full."""
        return len(self._unwritten)

    def write(self, *parts: bytes) -> None:
        """Write, in order; what the socket does not take is written later."""
        if self._socket is None:
            return
        tls = self._tls
        if tls is not None:
            self._put(tls.encrypt(b"".join(parts), self._sent + len(self._unwritten)))
        elif len(parts) <= _PARTS:
            self._put(*parts)
        else:
            self._put(b"".join(parts))

    def _put(self, *parts: bytes) -> None:
        size = sum(map(len, parts))
        if not size:
            return
        passed = 0 if self._unwritten else self._pass(parts)
        if passed < size and self._socket is not None:
            self._unwritten += b"".join(parts)[passed:]
        self._watch()

    def _write_more(self) -> None:
        passed = self._pass((self._unwritten,))
        del self._unwritten[:passed]
        self._watch()

    def _pass(self, parts: Sequence[bytes | bytearray]) -> int:
        """Pass bytes to the kernel; returns how many it took.

        The parts are not joined first, which costs large messages as much again: the memory for it comes from the
        kernel page by page, and goes back to it.
        """
        connected, tls = self._socket, self._tls
        if connected is None:
            return 0
        try:
            passed = connected.sendmsg(parts)
        except BlockingIOError:
            return 0  # they are written when the socket has room again
        except OSError as error:
            self._break(error)
            return 0
        self._sent += passed
        self.written = self._sent if tls is None else tls.written(self._sent)
        return passed

    def _watch(self) -> None:
        events = (0 if self._rests else self._reads) | (self._loop.WRITE if self._unwritten else 0)
        if self._socket is not None and self._watched != events:
            self._watched = events
            self._loop.update_handler(self._socket.fileno(), events)

    # -- reading

    def hold(self, is_held: bool) -> None:
        """Read nothing more while ``is_held``: for a receiver that cannot take more now. Not before it is open."""
        self._reads = 0 if is_held else self._loop.READ
        self._watch()

    def rest(self, came: int, owed: int, *, together: bool = False) -> None:
        """After each read: how many answers came, how many are owed. If they come slowly, and so many are owed that
        nobody waits for the next one, nothing is read for a moment. ``together``: only the last one is awaited.

        A broker that writes each answer by itself would wake this thread, and those that it tells, for each of them.
        At the faster pace of the last two reads, half of what is owed comes during the rest.
        """
        if not came:
            return
        now = time.monotonic()
        before, self._pace = self._pace, (now - self._looked) / came if self._owed else 0.0
        self._looked, self._owed = now, owed
        pace = min(before, self._pace)
        if owed >= (_FEW if together else _MANY) and pace > _SLOW:
            self._pause(min(_REST, owed * pace / 2))

    def wait_for_more(self) -> None:
        """Read nothing for about a millisecond, so that more comes together; not after a read of many bytes."""
        if self._got < _MUCH:
            self._pause(_MOMENT)

    def _pause(self, seconds: float) -> None:
        if not self._rests and self._socket is not None:
            self._rests = True
            self._watch()
            self._loop.call_later(seconds, self._read_on)

    def _read_on(self) -> None:
        self._rests = False
        self._watch()

    def _on_event(self, fd: int, events: int) -> None:
        if events & self._loop.WRITE and self._unwritten:
            self._write_more()
            if not self._unwritten and self._socket is not None and self._opened is None:
                self._emptied()
        if events & self._loop.READ:
            self._read()

    def _read(self) -> None:
        connected = self._socket
        if connected is None:
            return
        try:
            room = self._loop.room
            data = bytes(room[: connected.recv_into(room)])  # recv would map memory for each read
            self._got = len(data)
            if _QUICKACK is not None:  # some brokers write an answer in two parts and wait for our ACK in between
                connected.setsockopt(socket.IPPROTO_TCP, _QUICKACK, 1)
        except BlockingIOError:
            return
        except OSError as error:
            self._break(error)
            return
        tls = self._tls
        if tls is None and data:
            self._received(data)
        elif tls is not None and self._opened is not None:
            tls.put(data)
            self._shake_hands(tls)
        elif tls is not None and data:
            tls.put(data)
            self._decrypt(tls)
        else:
            self._break(_closed())

    def _decrypt(self, tls: "_Tls") -> None:
        while self._socket is not None:
            try:
                data = tls.decrypt()
            except OSError as error:
                self._break(error)
                return
            if data is None:
                self._put(tls.take())  # TLS may answer by itself, for example to a change of keys
                return
            self._received(data)

    # -- the end

    def _break(self, error: BaseException) -> None:
        error = error.with_traceback(None)  # its frames would keep the connection as long as anyone keeps the error
        if self._opened is not None:
            self._answer(error)
        elif self._socket is not None:
            self._let_go()
            self._broken(error)

    def close(self) -> None:
        """Close the socket at once."""
        self._opened = None
        self._let_go()

    def _let_go(self) -> None:
        self._cancel_timer()
        if self._socket is not None:
            with contextlib.suppress(KeyError, ValueError, OSError):
                self._loop.remove_handler(self._socket.fileno())
            self._socket.close()
            self._socket = None
        self._unwritten.clear()

    def end_writing(self) -> None:
        """Tell the other side that nothing more comes, and drop what is not written; its own end is then awaited."""
        self._unwritten.clear()
        if self._socket is not None:
            with contextlib.suppress(OSError):  # it has gone: reading reports that
                self._socket.shutdown(socket.SHUT_WR)
            self.hold(False)

    def abandon(self) -> None:
        """In a child process: close its copy of the socket, or else the other side would not see when the parent ends.

        The loop stays as it is, because both processes have the same one.
        """
        abandoned, self._socket = self._socket, None
        if abandoned is not None:
            abandoned.close()

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._loop.remove_timeout(self._timer)
            self._timer = None


class _Tls:
    """TLS in memory. Knows which of the bytes that it encrypted are in the records that the socket took."""

    def __init__(self, context: ssl.SSLContext, name: str | None) -> None:
        self._arrived, self._made = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._arrived, self._made, server_hostname=name)
        self._records: deque[tuple[int, int]] = deque()  # where each ends on the wire, and with which byte of ours
        self._encrypted = 0
        self._written = 0

    def put(self, data: bytes) -> None:
        """Take encrypted bytes that have arrived; no bytes mean the end of the stream."""
        if data:
            self._arrived.write(data)
        else:
            self._arrived.write_eof()

    def take(self) -> bytes:
        """Return what is to be sent."""
        return self._made.read()

    def shake_hands(self) -> bool:
        """Whether the connection is secured now; false if more has to arrive."""
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return False
        return True

    def encrypt(self, data: bytes, begins: int) -> bytes:
        """The bytes as TLS records; ``begins`` counts the bytes that were written to the socket before them."""
        view, records = memoryview(data), []
        for start in range(0, len(data), _RECORD):
            self._encrypted += self._tls.write(view[start : start + _RECORD])
            record = self._made.read()
            begins += len(record)
            self._records.append((begins, self._encrypted))
            records.append(record)
        return b"".join(records)

    def written(self, sent: int) -> int:
        """How many bytes of ours are in the records that the first ``sent`` bytes on the socket complete."""
        records = self._records
        while records and records[0][0] <= sent:
            self._written = records.popleft()[1]
        return self._written

    def decrypt(self) -> bytes | None:
        """Return some decrypted bytes, None if more has to arrive first; ConnectionResetError at the end."""
        try:
            data = self._tls.read(_CHUNK)
        except ssl.SSLWantReadError:
            return None
        except ssl.SSLZeroReturnError:
            data = b""
        if not data:
            raise _closed()
        return data


_streams = abandoned_at_fork(ByteStream)


def _closed() -> ConnectionResetError:
    return ConnectionResetError("the broker closed the connection")
