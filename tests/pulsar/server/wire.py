"""Frames of Pulsar's protocol: protobuf messages as lists of fields."""

import struct
from typing import Any

__all__ = ["Command", "Fields", "Kind", "command", "frame", "message", "parse_frames"]

Value = int | bytes


class Kind:
    """The types of commands, which are also the numbers of the fields with their contents."""

    CONNECT = 2
    CONNECTED = 3
    SUBSCRIBE = 4
    PRODUCER = 5
    SEND = 6
    SEND_RECEIPT = 7
    SEND_ERROR = 8
    MESSAGE = 9
    ACK = 10
    FLOW = 11
    UNSUBSCRIBE = 12
    SUCCESS = 13
    ERROR = 14
    CLOSE_PRODUCER = 15
    CLOSE_CONSUMER = 16
    PRODUCER_SUCCESS = 17
    PING = 18
    PONG = 19
    REDELIVER = 20
    PARTITIONS = 21
    PARTITIONS_RESPONSE = 22
    LOOKUP = 23
    LOOKUP_RESPONSE = 24
    REACHED_END = 27
    SEEK = 28
    LAST_ID = 29
    LAST_ID_RESPONSE = 30
    AUTH_CHALLENGE = 36
    AUTH_RESPONSE = 37
    TOPIC_MIGRATED = 68


class Fields:
    """The fields of a message."""

    def __init__(self, data: bytes) -> None:
        self._found: dict[int, list[Value]] = {}
        at = 0
        while at < len(data):
            tag, at = _varint(data, at)
            value: Value
            if tag & 7 == 0:
                value, at = _varint(data, at)
            else:
                size, at = _varint(data, at) if tag & 7 == 2 else ({1: 8, 5: 4}[tag & 7], at)
                value, at = data[at : at + size], at + size
            self._found.setdefault(tag >> 3, []).append(value)

    def number(self, field: int, missing: int = 0) -> int:
        """A number."""
        value = self._found.get(field, [missing])[-1]
        assert isinstance(value, int)
        return value

    def data(self, field: int) -> bytes:
        """Bytes, or the encoded fields of an inner message."""
        value = self._found.get(field, [b""])[-1]
        assert isinstance(value, bytes)
        return value

    def text(self, field: int) -> str:
        """A text."""
        return self.data(field).decode()

    def inside(self, field: int) -> "Fields":
        """An inner message."""
        return Fields(self.data(field))

    def all(self, field: int) -> "list[Fields]":
        """A repeated inner message."""
        return [Fields(value) for value in self._found.get(field, []) if isinstance(value, bytes)]

    def __contains__(self, field: int) -> bool:
        return field in self._found


class Command:
    """One frame."""

    def __init__(self, data: bytes) -> None:
        _, size = struct.unpack_from(">II", data)
        self.data = data
        base = Fields(data[8 : 8 + size])
        self.kind = base.number(1)
        self.fields = base.inside(self.kind)
        self.payload = data[8 + size :]
        """For SEND: a checksum, the metadata and the message, as MESSAGE has them."""

    @property
    def metadata(self) -> Fields:
        """Of SEND."""
        start = 6 if self.payload[:2] == b"\x0e\x01" else 0
        (size,) = struct.unpack_from(">I", self.payload, start)
        return Fields(self.payload[start + 4 : start + 4 + size])


def parse_frames(data: bytes) -> tuple[list[Command], bytes]:
    """The complete frames, and the rest."""
    found = []
    while len(data) >= 4:
        size = int.from_bytes(data[:4]) + 4
        if len(data) < size:
            break
        found.append(Command(data[:size]))
        data = data[size:]
    return found, data


def message(**fields: Any) -> bytes:
    """Encode a message; the fields are called f1, f2 and so on, and those that are None are left out."""
    made = b""
    for name, value in sorted(fields.items(), key=lambda field: int(field[0][1:])):
        number = int(name[1:])
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, int):
                made += _number(number << 3) + _number(each)
            elif each is not None:
                data = each.encode() if isinstance(each, str) else each
                made += _number(number << 3 | 2) + _number(len(data)) + data
    return made


def command(kind: int, **fields: Any) -> bytes:
    """A command with these fields."""
    return _number(1 << 3) + _number(kind) + _number(kind << 3 | 2) + (_sized(message(**fields)))


def frame(kind: int, payload: bytes = b"", **fields: Any) -> bytes:
    """A frame with that command."""
    made = command(kind, **fields)
    return struct.pack(">II", 4 + len(made) + len(payload), len(made)) + made + payload


def _sized(data: bytes) -> bytes:
    return _number(len(data)) + data


def _number(value: int) -> bytes:
    made = b""
    while value >= 0x80:
        made += bytes((value & 0x7F | 0x80,))
        value >>= 7
    return made + bytes((value,))


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at
