"""Where the frames of a conversation end, for each protocol."""

import re
import struct
from collections.abc import Callable

from jmsbridge.testing.proxy import Direction

__all__ = ["Boundaries", "FrameEnd", "amqp_0_9_1", "amqp_1_0", "size_first", "stomp"]

_GREETING = 8  # "AMQP" and the version
_SIZE = struct.Struct(">I")
_HEAD = struct.Struct(">BHI")
_LENGTH = re.compile(rb"\ncontent-length:(\d+)\n")

FrameEnd = Callable[[bytes, int, Direction], int | None]
"""The end of the frame that begins at an offset, which may be beyond the data; None while that is not known."""


def amqp_1_0(data: bytes, start: int, direction: Direction) -> int | None:
    """AMQP 1.0: each side greets before its login and again after it; the size is the first field of each frame."""
    if len(data) < start + _SIZE.size:
        return None
    is_greeting = data.startswith(b"AMQP", start)
    return start + (_GREETING if is_greeting else _SIZE.unpack_from(data, start)[0])


def amqp_0_9_1(data: bytes, start: int, direction: Direction) -> int | None:
    """AMQP 0-9-1: only the client greets; a frame has type, channel, size, its content, and one more byte."""
    if not start and direction is Direction.OUT:
        return _GREETING
    if len(data) < start + _HEAD.size:
        return None
    return start + _HEAD.size + int(_HEAD.unpack_from(data, start)[2]) + 1


def size_first(data: bytes, start: int, direction: Direction) -> int | None:
    """Pulsar's binary protocol: the size of what follows is the first field of each frame."""
    return start + _SIZE.size + int(_SIZE.unpack_from(data, start)[0]) if len(data) >= start + _SIZE.size else None


def stomp(data: bytes, start: int, direction: Direction) -> int | None:
    """STOMP: a NUL ends a frame, whose body may contain others if its length is given; a line end is a heart-beat."""
    if data.startswith(b"\n", start):
        return start + 1
    head = data.find(b"\n\n", start)
    if head < 0:
        return None
    length = _LENGTH.search(data, start, head + 1)
    if length is not None:
        return head + 2 + int(length[1]) + 1
    end = data.find(b"\0", head + 2)
    return None if end < 0 else end + 1


class Boundaries:
    """A ``watch`` for the fault proxy that records the positions at which frames ended."""

    def __init__(self, frame_end: FrameEnd) -> None:
        self._frame_end = frame_end
        self._data: dict[tuple[int, Direction], bytearray] = {}

    def __call__(self, connection: int, direction: Direction, data: bytes) -> None:
        """Record the data."""
        self._data.setdefault((connection, direction), bytearray()).extend(data)

    def of(self, connection: int, direction: Direction) -> list[int]:
        """The ends of the frames of one connection in one direction; 0 is before the first."""
        ends, size = self._ends(connection, direction)
        assert ends[-1] == size, f"{size - ends[-1]} bytes after the last frame"
        return ends

    def is_between(self, connection: int, direction: Direction) -> bool:
        """Whether the data so far in that direction end with a frame, or are empty."""
        ends, size = self._ends(connection, direction)
        return ends[-1] == size

    def _ends(self, connection: int, direction: Direction) -> tuple[list[int], int]:
        """The ends of complete frames, and the number of bytes."""
        data = bytes(self._data.get((connection, direction), b""))
        ends = [0]
        while (end := self._frame_end(data, ends[-1], direction)) is not None and end <= len(data):
            ends.append(end)
        return ends, len(data)
