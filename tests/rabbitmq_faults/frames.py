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
        self._data.setdefault((connection, direction), bytearray()).extend(data)

    def of(self, connection: int, direction: Direction) -> list[int]:
        """The ends of the frames of one connection in one direction; 0 is before the first."""
        data = self._data.get((connection, direction), bytearray())
        ends = [0]
        at = 0
        if direction is Direction.OUT:
            at = _GREETING
            ends.append(at)
        while at + _HEAD.size <= len(data):
            _, _, size = _HEAD.unpack_from(data, at)
            at += _HEAD.size + size + 1
            ends.append(at)
        assert at == len(data), f"{len(data) - at} bytes after the last frame"
        return ends
