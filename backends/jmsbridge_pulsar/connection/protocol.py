"""The few frames of Pulsar's protocol that the relay reads or changes; all others pass unread.

A frame is its length, the length of its command, the command (a protobuf message) and an optional payload. Field 1 of
a command is its type, and its contents are in the field of that number.
"""

import struct
from collections.abc import Iterator
from typing import Final

import msgspec

__all__ = [
    "CONNECT",
    "CONNECTED",
    "ERROR",
    "FLOW",
    "LOOKUP_RESPONSE",
    "SUBSCRIBE",
    "Connect",
    "Consumer",
    "Frames",
    "Malformed",
    "Value",
    "contents",
    "encode_connect",
    "flow",
    "kind_of",
    "parse_connect",
    "parse_subscribe",
    "redirect",
    "text_of",
]

CONNECT: Final = 2
CONNECTED: Final = 3
SUBSCRIBE: Final = 4
FLOW: Final = 11
ERROR: Final = 14
LOOKUP_RESPONSE: Final = 24

Value = int | bytes

_LENGTHS: Final = struct.Struct(">II")
_AUTH_DATA, _AUTH_METHOD, _PROXIED = 3, 5, 6  # fields of CONNECT
_TOPIC, _CONSUMER_ID, _CONSUMER_NAME, _DURABLE, _PROPERTIES = 1, 4, 6, 8, 18  # fields of SUBSCRIBE
_URL, _TLS_URL, _THROUGH_SERVICE = 1, 2, 8  # fields of LOOKUP_RESPONSE
_MOST: Final = 1 << 26  # bytes in a frame that the relay reads


class Malformed(Exception):
    """These bytes are not Pulsar's protocol."""


class Connect(msgspec.Struct, frozen=True):
    """What the client library asks for when it connects."""

    fields: list[tuple[int, Value]]
    secret: bytes
    broker: str | None
    """The broker, as host and port, that a lookup named; None for the connection that asks for lookups."""


class Consumer(msgspec.Struct, frozen=True):
    """What the client library subscribes with."""

    fields: list[tuple[int, Value]]
    number: int
    name: str
    is_partition: bool
    """Whether the topic is a part of another one."""

    def encode(self, properties: dict[str, str], *, durable: bool) -> bytes:
        """The frame, for a subscription that is durable or not, with these properties if it is new."""
        fields = [(number, value) for number, value in self.fields if number != _DURABLE]
        fields.append((_DURABLE, int(durable)))
        for name, text in properties.items():
            fields.append((_PROPERTIES, _encode(1, name.encode()) + _encode(2, text.encode())))
        inside = b"".join(_encode(number, value) for number, value in fields)
        return _frame(_encode(1, SUBSCRIBE) + _encode(SUBSCRIBE, inside))


class Frames:
    """Splits a stream into commands, each with its whole frame."""

    def __init__(self) -> None:
        self._unread = b""

    def feed(self, data: bytes) -> Iterator[tuple[bytes, bytes]]:
        """The frames that are complete now."""
        self._unread += data
        while len(self._unread) >= 8:
            whole, size = _LENGTHS.unpack_from(self._unread)
            if whole > _MOST or size + 4 > whole:
                raise Malformed(f"a frame of {whole} bytes with a command of {size}")
            if len(self._unread) < whole + 4:
                return
            frame, self._unread = self._unread[: whole + 4], self._unread[whole + 4 :]
            yield frame[8 : 8 + size], frame

    def rest(self) -> bytes:
        """What has not been returned as a frame."""
        rest, self._unread = self._unread, b""
        return rest


def kind_of(command: bytes) -> int:
    """Its type."""
    return int(_first(command, 1) or 0)


def contents(command: bytes) -> dict[int, Value]:
    """Its fields, without their own inner structure; the last one of each number."""
    inside = _first(command, kind_of(command))
    return dict(_fields(inside)) if isinstance(inside, bytes) else {}


def parse_connect(command: bytes) -> Connect:
    """A CONNECT of the client library; Malformed if it is something else."""
    inside = _first(command, CONNECT)
    if kind_of(command) != CONNECT or not isinstance(inside, bytes):
        raise Malformed("the client library did not begin with CONNECT")
    fields = list(_fields(inside))
    found = dict(fields)
    broker = found.get(_PROXIED)
    secret = found.get(_AUTH_DATA, b"")
    return Connect(
        fields,
        secret if isinstance(secret, bytes) else b"",
        broker.decode() if isinstance(broker, bytes) else None,
    )


def encode_connect(connect: Connect, login: tuple[str, bytes] | None, proxied: str | None) -> bytes:
    """The CONNECT for the broker, with this method and data of authentication, through a proxy if ``proxied``."""
    fields = [(number, value) for number, value in connect.fields if number not in (_AUTH_DATA, _AUTH_METHOD, _PROXIED)]
    method, data = login or ("none", b"")
    fields.append((_AUTH_METHOD, method.encode()))
    if data:
        fields.append((_AUTH_DATA, data))
    if proxied is not None:
        fields.append((_PROXIED, proxied.encode()))
    inside = b"".join(_encode(number, value) for number, value in sorted(fields, key=lambda field: field[0]))
    return _frame(_encode(1, CONNECT) + _encode(CONNECT, inside))


def parse_subscribe(command: bytes) -> Consumer:
    """A SUBSCRIBE of the client library."""
    inside = _first(command, SUBSCRIBE)
    fields = list(_fields(inside)) if isinstance(inside, bytes) else []
    found = dict(fields)
    is_partition = "-partition-" in text_of(found, _TOPIC)
    return Consumer(fields, int(found.get(_CONSUMER_ID, 0)), text_of(found, _CONSUMER_NAME), is_partition)


def flow(consumer: int, permits: int) -> bytes:
    """The frame that lets the broker send a consumer so many more messages."""
    return _frame(_encode(1, FLOW) + _encode(FLOW, _encode(1, consumer) + _encode(2, permits)))


def redirect(command: bytes, *, tls: bool) -> tuple[bytes, str, bool]:
    """The answer to a lookup, changed so that the library connects through the relay again.

    Returns its frame, the broker as host and port, and whether the broker itself is behind a proxy.
    """
    found = contents(command)
    url = text_of(found, _TLS_URL) if tls else text_of(found, _URL)
    is_proxied = bool(found.get(_THROUGH_SERVICE))
    broker = url.rpartition("//")[2].rstrip("/")
    if not broker:  # a failed lookup, or a broker without the listener that is needed
        return _frame(command), "", is_proxied
    more = _encode(_URL, f"pulsar://{broker}".encode()) + _encode(_THROUGH_SERVICE, 1)
    return _frame(command + _encode(LOOKUP_RESPONSE, more)), broker, is_proxied


def text_of(found: dict[int, Value], number: int) -> str:
    """A field as text; empty if it is missing."""
    value = found.get(number, b"")
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""


def _frame(command: bytes) -> bytes:
    return _LENGTHS.pack(len(command) + 4, len(command)) + command


def _first(message: bytes, number: int) -> Value | None:
    return next((value for found, value in _fields(message) if found == number), None)


def _fields(message: bytes) -> Iterator[tuple[int, Value]]:
    at = 0
    try:
        while at < len(message):
            tag, at = _varint(message, at)
            kind = tag & 7
            value: Value
            if kind == 0:
                value, at = _varint(message, at)
            elif kind == 2:
                size, at = _varint(message, at)
                value, at = message[at : at + size], at + size
            else:
                size = {1: 8, 5: 4}[kind]
                value, at = message[at : at + size], at + size
            yield tag >> 3, value
    except (IndexError, KeyError) as error:
        raise Malformed("a command that cannot be read") from error


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _encode(number: int, value: Value) -> bytes:
    if isinstance(value, int):
        return _number(number << 3) + _number(value)
    return _number(number << 3 | 2) + _number(len(value)) + value


def _number(value: int) -> bytes:
    made = bytearray()
    while value >= 0x80:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)
