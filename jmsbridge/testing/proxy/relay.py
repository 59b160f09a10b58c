"""The bytes of one connection through the fault proxy: what is read, held back, passed on, and how it ends.

Everything here runs on the proxy's own thread, on non-blocking sockets; nothing waits and nothing is locked.
"""

import contextlib
import enum
import socket
import struct
import time
from collections import deque
from collections.abc import Callable
from typing import Protocol

__all__ = ["CHUNK", "Direction", "End", "NetworkConditions", "Pair", "Stream"]

CHUNK = 256 * 1024
"""The most that one read takes."""
_HELD = 16 * 1024 * 1024
"""The most that one direction holds back: at 20 ms of round trip this still carries more than a gigabyte a second."""
_SMOOTH = 50
"""Under a bandwidth, one read takes at most this fraction of a second's worth."""


class Direction(enum.StrEnum):
    """Which way bytes go, as the client sees it."""

    OUT = "out"
    IN = "in"


class End(enum.StrEnum):
    """How a connection ends: as a crashed host or a firewall ends it, or as a program that closes its socket."""

    RESET = "reset"
    CLOSE = "close"


class NetworkConditions(Protocol):
    """What the network is like now; read for every piece that passes."""

    delay: float
    bandwidth: float | None
    watch: Callable[[int, Direction, bytes], None] | None


class Stream:
    """One direction of a connection."""

    def __init__(self, number: int, direction: Direction, source: socket.socket, sink: socket.socket) -> None:
        self.number = number
        self.direction = direction
        self.source = source
        self.sink = sink
        self.passed = 0
        self.limit: int | None = None  # where ``passed`` ends, and the connection with it
        self.blocked = False  # the sink takes no more at the moment
        self.frozen = False  # nothing is read or passed on
        self.end: End | None = None  # nothing more comes; how to tell the sink, once all that is held is passed on
        self.told = False  # the sink has been told
        self._queue: deque[tuple[float, memoryview]] = deque()
        self._held = 0
        self._free = 0.0  # when a line of limited bandwidth has sent what it took
        self._last = 0.0  # when the last piece held is due: a shorter delay overtakes nothing

    @property
    def due(self) -> float | None:
        """When the next piece may be passed on; None when nothing is held, or nothing can be passed on now."""
        return self._queue[0][0] if self._queue and not self.blocked and not self.frozen else None

    @property
    def is_empty(self) -> bool:
        """Whether all that was read was passed on."""
        return not self._queue

    def wants_more(self, conditions: NetworkConditions) -> bool:
        """Whether to read now."""
        return self.end is None and not self.frozen and self._room(conditions) > 0

    def _room(self, conditions: NetworkConditions) -> int:
        room = min(CHUNK, _HELD - self._held)
        if conditions.bandwidth is not None:
            piece = max(1, int(conditions.bandwidth / _SMOOTH))
            on_the_way = int(conditions.bandwidth * conditions.delay) + 2 * piece
            room = min(room, piece, on_the_way - self._held)
        elif not conditions.delay and self._queue:
            return 0  # the sink is the slow one: let the source feel it
        return room if self.limit is None else min(room, self.limit - self.passed)

    def read(self, conditions: NetworkConditions, buffer: memoryview) -> None:
        """Take what the source has, by way of the buffer; pass it on at once when nothing holds it back."""
        piece = buffer[: self._room(conditions)]
        try:
            count = self.source.recv_into(piece)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            self.end = End.RESET
            return
        if not count:
            self.end = End.CLOSE
            return
        self.passed += count
        if conditions.watch is not None:
            conditions.watch(self.number, self.direction, bytes(piece[:count]))
        if conditions.delay or conditions.bandwidth is not None or self._queue:
            self._hold(memoryview(bytes(piece[:count])), self._when(count, conditions))
            return
        sent = self._send(piece[:count])
        if sent < count:
            self._hold(memoryview(bytes(piece[sent:count])), 0.0)

    def _when(self, count: int, conditions: NetworkConditions) -> float:
        sent = time.monotonic()
        if conditions.bandwidth is not None:
            sent = self._free = max(sent, self._free) + count / conditions.bandwidth
        self._last = max(self._last, sent + conditions.delay / 2)
        return self._last

    def _hold(self, piece: memoryview, due: float) -> None:
        self._queue.append((due, piece))
        self._held += len(piece)

    def pass_on(self, now: float) -> None:
        """Pass on what is due."""
        while self._queue and self._queue[0][0] <= now and not self.blocked and not self.frozen:
            due, piece = self._queue.popleft()
            sent = self._send(piece)
            self._held -= sent
            if sent < len(piece):
                self._queue.appendleft((due, piece[sent:]))

    def _send(self, piece: memoryview) -> int:
        if self.end is End.RESET:
            return len(piece)  # the sink is gone: what is held has nowhere to go
        try:
            sent = self.sink.send(piece)
        except (BlockingIOError, InterruptedError):
            sent = 0
        except OSError:
            self.end = End.RESET
            return len(piece)
        self.blocked = sent < len(piece)
        return sent


class Pair:
    """One connection: the client's socket, the broker's, and the two streams between them."""

    def __init__(self, number: int, client: socket.socket, broker: socket.socket) -> None:
        self.number = number
        self.client = client
        self.broker = broker
        self.is_connected = False
        self.out = Stream(number, Direction.OUT, client, broker)
        self.into = Stream(number, Direction.IN, broker, client)
        self.streams = (self.out, self.into)

    def stream(self, direction: Direction) -> Stream:
        """The way in that direction."""
        return self.out if direction is Direction.OUT else self.into

    def due_end(self, at_limit: End) -> End | None:
        """How the connection has to end now, or None; a half-close is passed on."""
        for stream in self.streams:
            if stream.limit is not None and stream.passed >= stream.limit and stream.is_empty:
                return at_limit
            if stream.end is End.RESET and stream.is_empty:
                return End.RESET
            if stream.end is End.CLOSE and stream.is_empty and not stream.told:
                stream.told = True
                with contextlib.suppress(OSError):  # the sink left first
                    stream.sink.shutdown(socket.SHUT_WR)
        return End.CLOSE if all(stream.told for stream in self.streams) else None

    def close(self, end: End) -> None:
        """End both sockets."""
        for one in (self.client, self.broker):
            _end_socket(one, end)


def _end_socket(one: socket.socket, end: End) -> None:
    """Close a socket: with a reset, which throws away what was not sent, or in the ordinary way."""
    if end is End.RESET:
        with contextlib.suppress(OSError):  # already dead: then closing is enough
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    one.close()
