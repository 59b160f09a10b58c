"""One connection through the fault proxy: reads, delays and forwards its bytes, and ends it.

Everything here runs on the proxy's own thread, on non-blocking sockets, without waits and locks.
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
"""The most bytes that one read takes."""
_HELD = 16 * 1024 * 1024
"""The most bytes held in one direction: enough for more than a gigabyte per second at a round trip of 20 ms."""
_SMOOTH = 50
"""With limited bandwidth, one read takes at most the bytes of this fraction of a second."""


class Direction(enum.StrEnum):
    """The direction of bytes, as seen by the client."""

    OUT = "out"
    IN = "in"


class End(enum.StrEnum):
    """How a connection ends: RESET as by a crashed host or a firewall, CLOSE as by a program that closes its socket."""

    RESET = "reset"
    CLOSE = "close"


class NetworkConditions(Protocol):
    """The simulated network conditions; read for every piece of data."""

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
        self.limit: int | None = None  # the connection is cut when ``passed`` reaches it
        self.blocked = False  # the sink accepts no more bytes at the moment
        self.frozen = False  # nothing is read or forwarded
        self.end: End | None = None  # how the source ended; passed to the sink after all held bytes
        self.told = False  # the end has been passed to the sink
        self._queue: deque[tuple[float, memoryview]] = deque()
        self._held = 0
        self._free = 0.0  # with limited bandwidth: when the simulated line has sent all that was read
        self._last = 0.0  # when the last held piece is due, so that a shorter delay does not reorder pieces

    @property
    def due(self) -> float | None:
        """When the next piece may be forwarded; None if there is none or it cannot be forwarded now."""
        return self._queue[0][0] if self._queue and not self.blocked and not self.frozen else None

    @property
    def is_empty(self) -> bool:
        """Whether everything that was read has been forwarded."""
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
            return 0  # the sink is slow: slow down the source, too
        return room if self.limit is None else min(room, self.limit - self.passed)

    def read(self, conditions: NetworkConditions, buffer: memoryview) -> None:
        """Read from the source into ``buffer``; forward at once if nothing has to be delayed."""
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
        """Forward the pieces that are due."""
        while self._queue and self._queue[0][0] <= now and not self.blocked and not self.frozen:
            due, piece = self._queue.popleft()
            sent = self._send(piece)
            self._held -= sent
            if sent < len(piece):
                self._queue.appendleft((due, piece[sent:]))

    def _send(self, piece: memoryview) -> int:
        if self.end is End.RESET:
            return len(piece)  # the sink is closed: drop it
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
        """The stream in that direction."""
        return self.out if direction is Direction.OUT else self.into

    def due_end(self, at_limit: End) -> End | None:
        """How the connection must end now, or None; passes a half-close on."""
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
    """Close a socket: with a reset, which discards unsent bytes, or in the ordinary way."""
    if end is End.RESET:
        with contextlib.suppress(OSError):  # already dead: then closing is enough
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    one.close()
