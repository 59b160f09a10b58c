"""Where the frames of an AMQP 0-9-1 conversation end."""

import struct

from jmsbridge.testing.proxy import Direction

__all__ = ["Boundaries"]

_GREETING = 8  # "AMQP" and the version, before the first frame of the client
_HEAD = struct.Struct(">BHI")


class Boundaries:
    """A ``watch`` for the fault proxy that remembers after how many bytes each frame ended."""

    def __init__(self) -> None:
        self._data: dict[tuple[int, Direction], bytearray] = {}

    def __call__(self, connection: int, direction: Direction, data: bytes) -> None:
        """Keep what passed."""
        self._data.setdefault((connection, direction), bytearray()).extend(data)

    def of(self, connection: int, direction: Direction) -> list[int]:
        """The ends of the frames of one connection in one direction; 0 is before the first."""
        ends, size = self._ends(connection, direction)
        assert ends[-1] == size, f"{size - ends[-1]} bytes after the last frame"
        return ends

    def is_between(self, connection: int, direction: Direction) -> bool:
        """Whether what passed so far in that direction stops where a frame ends, or before the first."""
        ends, size = self._ends(connection, direction)
        return ends[-1] == size

    def _ends(self, connection: int, direction: Direction) -> tuple[list[int], int]:
        """Where whole frames end, and how many bytes there are."""
        data = bytes(self._data.get((connection, direction), b""))
        ends = [0]
        end = _GREETING if direction is Direction.OUT else 0
        while end <= len(data):
            if end:
                ends.append(end)
            if end + _HEAD.size > len(data):
                break
            _, _, size = _HEAD.unpack_from(data, end)
            end += _HEAD.size + size + 1
        return ends, len(data)
