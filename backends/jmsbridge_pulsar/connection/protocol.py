"""The few frames of Pulsar's protocol that the relay reads or changes; all others pass unread.

A frame is its length, the length of its command, the command (a protobuf message) and an optional payload. Field 1 of
a command is its type, and its contents are in the field of that number.
"""

import struct
from collections.abc import Container, Iterator
from typing import Final

import msgspec

from jmsbridge_pulsar.connection.partitions import number_of_partition

__all__ = [
    "AUTH_CHALLENGE",
    "CLOSE_CONSUMER",
    "CLOSE_PRODUCER",
    "CONNECT",
    "CONNECTED",
    "ERROR",
    "FLOW",
    "LAST_RESPONSE",
    "LOOKUP",
    "LOOKUP_RESPONSE",
    "PARTITIONS_RESPONSE",
    "PRODUCER",
    "PRODUCER_SUCCESS",
    "REACHED_END",
    "SEND",
    "SEND_ERROR",
    "SEND_RECEIPT",
    "SUBSCRIBE",
    "SUCCESS",
    "TOPIC_MIGRATED",
    "Connect",
    "Consumer",
    "Frame",
    "Frames",
    "Lookup",
    "Malformed",
    "Value",
    "contents",
    "encode_ack",
    "encode_ask_last",
    "encode_auth_response",
    "encode_closed",
    "encode_connect",
    "encode_connected",
    "encode_field",
    "encode_flow",
    "encode_lookup",
    "encode_no_address",
    "encode_refusal",
    "finish",
    "first_frame",
    "kind_of",
    "number_of",
    "on_one_line",
    "parse_connect",
    "parse_last",
    "parse_lookup",
    "parse_size",
    "parse_subscribe",
    "soften",
    "text_of",
    "words_of",
]

CONNECT: Final = 2
CONNECTED: Final = 3
SUBSCRIBE: Final = 4
PRODUCER: Final = 5
SEND: Final = 6
SEND_RECEIPT: Final = 7
SEND_ERROR: Final = 8
_ACK: Final = 10
FLOW: Final = 11
SUCCESS: Final = 13
ERROR: Final = 14
CLOSE_PRODUCER: Final = 15
CLOSE_CONSUMER: Final = 16
PRODUCER_SUCCESS: Final = 17
PARTITIONS_RESPONSE: Final = 22
LOOKUP: Final = 23
LOOKUP_RESPONSE: Final = 24
REACHED_END: Final = 27
_ASK_LAST: Final = 29
LAST_RESPONSE: Final = 30
AUTH_CHALLENGE: Final = 36
_AUTH_RESPONSE: Final = 37
TOPIC_MIGRATED: Final = 68

Value = int | bytes

_LENGTHS: Final = struct.Struct(">II")
_HEAD: Final = 10  # the bytes of a frame that say how long it is, and what: no command is shorter than two bytes
_TYPE: Final = 1 << 3  # how a command begins: field 1, a number
_LARGEST_READ: Final = 1 << 20  # bytes of a frame that is read
_PADDING: Final = 1 << 16  # bytes that a frame may have beside its message
_VARINT: Final = 10  # bytes of a number, at most
_WORDS: Final = 300  # characters of a text that is shown

_CLIENT, _AUTH_DATA, _PROTOCOL, _AUTH_METHOD, _PROXIED = 1, 3, 4, 5, 6  # fields of CONNECT
_TOPIC, _CONSUMER_ID, _CONSUMER_NAME, _DURABLE, _START, _METADATA, _PROPERTIES = 1, 4, 6, 8, 9, 10, 18  # of SUBSCRIBE
_LIMIT, _NO_LIMIT = 3, 1 << 30  # a field of CONNECTED, and a value of it
_URL, _TLS_URL, _RESPONSE, _REQUEST, _THROUGH_SERVICE = 1, 2, 3, 4, 8  # fields of LOOKUP_RESPONSE
_REDIRECT, _FAILED = 0, 2  # values of _RESPONSE; the first: ask that broker instead
_ERRORS: Final = {LOOKUP_RESPONSE: (6, 7), PARTITIONS_RESPONSE: (4, 5)}  # fields with code and text of the error
_FATAL: Final = {6, 14}  # codes for which the library ends the connection: not ready, too many requests
_RETRIED, _NOT_ALLOWED = 1, 22  # codes for which it tries again, or reports the error
_PRODUCER, _SEQUENCE, _CODE, _MESSAGE = 1, 2, 3, 4  # fields of SEND_ERROR
_BATCH_INDEX, _BATCH_SIZE, _FIRST_CHUNK = 4, 6, 7  # fields of a message id
_INDIVIDUAL: Final = 0  # a kind of acknowledgement
_CHECKSUM: Final = 9  # a value of _CODE
_UNSIGNED: Final = (1 << 64) - 1
_LARGEST_SIGNED: Final = (1 << 63) - 1


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
    partition: int
    """Which part of a topic it is for; -1 if that has no parts."""

    @property
    def begins_at_end(self) -> bool:
        """Whether a new subscription begins at the end of the topic, unless it is to be durable."""
        start = dict(self.fields).get(_START)
        return not isinstance(start, bytes) or _place(start)[0] == _LARGEST_SIGNED

    def encode(
        self, own: dict[str, str], properties: dict[str, str], start: tuple[int, int] | None, *, durable: bool
    ) -> bytes:
        """The frame, with more properties of the consumer, its ``own``.

        It is for a subscription that is durable or not, and if it is new has ``properties`` and begins after ``start``
        (ledger and entry).
        """
        replaced = (_DURABLE,) if start is None else (_DURABLE, _START)
        fields = [(number, value) for number, value in self.fields if number not in replaced]
        fields.append((_DURABLE, int(durable)))
        if start is not None:
            ledger, entry = start
            fields.append((_START, encode_field(1, ledger & _UNSIGNED) + encode_field(2, entry & _UNSIGNED)))
        for field, texts in ((_METADATA, own), (_PROPERTIES, properties)):
            for name, text in texts.items():
                fields.append((field, encode_field(1, name.encode()) + encode_field(2, text.encode())))
        return _encode_command(SUBSCRIBE, *fields)


class Frame(msgspec.Struct, frozen=True):
    """One that was asked for: ``data`` is all of it, ``command`` the part that is a command."""

    kind: int
    command: bytes
    data: bytes


class Frames:
    """Follows the frames of a stream without keeping them, except those of the kinds in ``wanted``.

    While ``wanted`` is None that is every frame. ``largest`` is how large a message may be: the client library gets
    memory for as much as a frame's length says.
    """

    def __init__(self, largest: int) -> None:
        self.largest = largest
        self.wanted: Container[int] | None = None
        self._kept = bytearray()  # the begin of a frame that is wanted, or may be
        self._needed = _HEAD  # bytes of it before it is looked at again
        self._left = 0  # bytes that are left of a frame that passes

    @property
    def is_between(self) -> bool:
        """Whether what ``feed`` has returned so far ends with the end of a frame."""
        return not self._left

    def feed(self, data: bytes) -> Iterator[bytes | Frame]:
        """In order, the bytes that pass, and frames that are wanted."""
        if self._kept:
            self._kept += data
            if len(self._kept) < self._needed:
                return
            data, self._kept = bytes(self._kept), bytearray()
        self._needed = _HEAD
        begin = at = min(self._left, len(data))
        self._left -= at
        if at:
            yield data[:at]
        end = len(data)
        while end - at >= _HEAD:
            size = self._length(data, at)
            if data[at + 8] == _TYPE and self.wanted is not None and data[at + 9] not in self.wanted:
                at += size
                continue
            if size > _LARGEST_READ:
                raise Malformed(f"a frame of {size} bytes that has to be read")
            if at + size > end:
                self._needed = size
                break
            if begin < at:
                yield data[begin:at]
            yield _read(data[at : at + size])
            begin = at = at + size
        self._left += max(0, at - end)
        if begin < min(at, end):
            yield data[begin:at]
        self._kept += data[at:]

    def _length(self, data: bytes, at: int) -> int:
        whole, size = _LENGTHS.unpack_from(data, at)
        if whole > self.largest + _PADDING or not 2 <= size <= whole - 4:
            raise Malformed(f"a frame of {whole} bytes with a command of {size}")
        return int(whole) + 4


class Lookup(msgspec.Struct, frozen=True):
    """The answer to a lookup."""

    broker: str
    """Host and port of the broker that serves the topic, or if ``is_redirect`` of the one to ask; empty if none."""
    is_failed: bool
    is_redirect: bool
    is_proxied: bool
    """Whether that broker is behind a proxy, which the answer came from."""


def kind_of(command: bytes) -> int:
    """Its type."""
    kind = _first(command, 1)
    if not isinstance(kind, int):
        raise Malformed("a command without a type")
    return kind


def contents(command: bytes) -> dict[int, Value]:
    """Its fields, without their own inner structure; the last one of each number."""
    inside = _first(command, kind_of(command))
    return dict(_fields(inside)) if isinstance(inside, bytes) else {}


def number_of(found: dict[int, Value], number: int) -> int:
    """A field as a number; 0 if it is missing."""
    value = found.get(number, 0)
    return value if isinstance(value, int) else 0


def text_of(found: dict[int, Value], number: int) -> str:
    """A field as text; empty if it is missing."""
    value = found.get(number, b"")
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""


def words_of(found: dict[int, Value], number: int) -> str:
    """A field as text for people."""
    return on_one_line(text_of(found, number))


def on_one_line(said: str) -> str:
    """What a broker said, for people: on one line, and not long."""
    return "".join(each if each.isprintable() else " " for each in said)[:_WORDS].strip()


def first_frame(data: bytes) -> Frame | None:
    """The frame with which a stream begins, once it is complete; it must be small."""
    return next((found for found in Frames(0).feed(data) if isinstance(found, Frame)), None)


def parse_connect(command: bytes) -> Connect:
    """A CONNECT of the client library; Malformed if it is something else."""
    inside = _first(command, CONNECT)
    if kind_of(command) != CONNECT or not isinstance(inside, bytes):
        raise Malformed("the client library did not begin with CONNECT")
    fields = list(_fields(inside))
    found = dict(fields)
    secret = found.get(_AUTH_DATA, b"")
    return Connect(fields, secret if isinstance(secret, bytes) else b"", text_of(found, _PROXIED) or None)


def encode_connect(connect: Connect, login: tuple[str, bytes] | None, proxied: str | None) -> bytes:
    """The CONNECT for the broker, with this method and data of authentication, through a proxy if ``proxied``."""
    fields = [(number, value) for number, value in connect.fields if number not in (_AUTH_DATA, _AUTH_METHOD, _PROXIED)]
    method, data = login or ("none", b"")
    fields.append((_AUTH_METHOD, method.encode()))
    if data:
        fields.append((_AUTH_DATA, data))
    if proxied is not None:
        fields.append((_PROXIED, proxied.encode()))
    return _encode_command(CONNECT, *sorted(fields, key=lambda field: field[0]))


def encode_auth_response(connect: Connect, login: tuple[str, bytes] | None) -> bytes:
    """The answer to AUTH_CHALLENGE: the login once more, as it is now."""
    found = dict(connect.fields)
    method, data = login or ("none", b"")
    return _encode_command(
        _AUTH_RESPONSE,
        (1, text_of(found, _CLIENT).encode()),
        (2, encode_field(1, method.encode()) + encode_field(2, data)),
        (3, number_of(found, _PROTOCOL)),
    )


def parse_subscribe(command: bytes) -> Consumer:
    """A SUBSCRIBE of the client library."""
    inside = _first(command, SUBSCRIBE)
    fields = list(_fields(inside)) if isinstance(inside, bytes) else []
    found = dict(fields)
    partition = number_of_partition(text_of(found, _TOPIC))
    return Consumer(fields, number_of(found, _CONSUMER_ID), text_of(found, _CONSUMER_NAME), partition)


def encode_flow(consumer: int, permits: int) -> bytes:
    """The frame that lets the broker send a consumer so many more messages."""
    return _encode_command(FLOW, (1, consumer), (2, permits))


def encode_ack(consumer: int, ledger: int, entry: int) -> bytes:
    """The frame with which a consumer acknowledges all of an entry."""
    place = encode_field(1, ledger) + encode_field(2, entry)
    return _encode_command(_ACK, (1, consumer), (2, _INDIVIDUAL), (3, place))


def parse_size(message_id: bytes) -> int:
    """How many messages its entry has; 0 if that is unknown, or the message is in more than one entry."""
    found = dict(_fields(message_id))
    if _BATCH_INDEX in found:
        return number_of(found, _BATCH_SIZE)
    return 0 if _FIRST_CHUNK in found else 1


def encode_ask_last(consumer: int, request: int) -> bytes:
    """The frame that asks for the last message of a consumer's topic."""
    return _encode_command(_ASK_LAST, (1, consumer), (2, request))


def parse_last(command: bytes) -> tuple[int, int]:
    """The last message, as ledger and entry; less than any if there is none."""
    place = contents(command).get(1, b"")
    return _place(place if isinstance(place, bytes) else b"")


def _place(message_id: bytes) -> tuple[int, int]:
    """Its ledger and entry."""
    found = dict(_fields(message_id))
    ledger, entry = (number_of(found, number) for number in (1, 2))
    return _signed(ledger), _signed(entry)


def _signed(number: int) -> int:
    return number - _UNSIGNED - 1 if number > _LARGEST_SIGNED else number


def parse_lookup(command: bytes, *, tls: bool) -> Lookup:
    """Read LOOKUP_RESPONSE; ``tls`` if brokers are reached by their addresses for TLS."""
    found = contents(command)
    broker = text_of(found, _TLS_URL if tls else _URL).rpartition("//")[2].rstrip("/")
    response = number_of(found, _RESPONSE) if _RESPONSE in found else _FAILED
    is_proxied = bool(number_of(found, _THROUGH_SERVICE))
    return Lookup(broker, response == _FAILED, response == _REDIRECT, is_proxied)


def encode_lookup(frame: Frame, url: str, *, is_redirect: bool) -> bytes:
    """The answer to a lookup with the URL to which the library connects; by way of the relay, if not redirected."""
    more = encode_field(_URL, url.encode())
    if not is_redirect:
        more += encode_field(_THROUGH_SERVICE, 1)
    # of a field that comes twice, the last one counts
    return _frame(frame.command + encode_field(LOOKUP_RESPONSE, more))


def encode_no_address(frame: Frame) -> bytes:
    """The answer to a lookup as one that has failed."""
    request = number_of(contents(frame.command), _REQUEST)
    return _encode_command(LOOKUP_RESPONSE, (_RESPONSE, _FAILED), (_REQUEST, request), (6, _NOT_ALLOWED))


def soften(frame: Frame) -> tuple[bytes, str]:
    """A failed answer about a topic, with an error for which the library does not end the connection; and its words."""
    code, text = _ERRORS[frame.kind]
    found = contents(frame.command)
    if number_of(found, code) not in _FATAL:
        return frame.data, words_of(found, text)
    return _frame(frame.command + encode_field(frame.kind, encode_field(code, _RETRIED))), words_of(found, text)


def finish(frame: Frame) -> bytes:
    """ERROR with a code that the library reports at once."""
    return _frame(frame.command + encode_field(ERROR, encode_field(2, _NOT_ALLOWED)))


def encode_connected(frame: Frame) -> bytes:
    """CONNECTED with a limit for messages that none reaches: the library has one for all its connections, the last."""
    return _encode_command(CONNECTED, *(contents(frame.command) | {_LIMIT: _NO_LIMIT}).items())


def encode_closed(frame: Frame) -> bytes:
    """CLOSE_PRODUCER or CLOSE_CONSUMER without the address of another broker, to which the library would connect."""
    found = contents(frame.command)
    return _encode_command(frame.kind, *((number, found[number]) for number in (1, 2) if number in found))


def encode_refusal(frame: Frame) -> bytes:
    """SEND_ERROR as one for which the library fails this message alone, instead of ending the connection."""
    found = contents(frame.command)
    kept = [(number, found[number]) for number in (_PRODUCER, _SEQUENCE) if number in found]
    return _encode_command(SEND_ERROR, *kept, (_CODE, _CHECKSUM), (_MESSAGE, b"refused"))


def _read(data: bytes) -> Frame:
    _, size = _LENGTHS.unpack_from(data)
    command = data[8 : 8 + size]
    return Frame(kind_of(command), command, data)


def _encode_command(kind: int, *fields: tuple[int, Value]) -> bytes:
    inside = b"".join(encode_field(number, value) for number, value in fields)
    return _frame(encode_field(1, kind) + encode_field(kind, inside))


def _frame(command: bytes) -> bytes:
    return _LENGTHS.pack(len(command) + 4, len(command)) + command


def _first(message: bytes, number: int) -> Value | None:
    return next((value for found, value in _fields(message) if found == number), None)


def _fields(message: bytes) -> Iterator[tuple[int, Value]]:
    at = 0
    end = len(message)
    try:
        while at < end:
            tag, at = _varint(message, at)
            kind = tag & 7
            value: Value
            if kind == 0:
                value, at = _varint(message, at)
            else:
                if kind == 2:
                    size, at = _varint(message, at)
                else:
                    size = {1: 8, 5: 4}[kind]
                value, at = message[at : at + size], at + size
            if at > end:
                raise IndexError
            yield tag >> 3, value
    except (IndexError, KeyError) as error:
        raise Malformed("a command that cannot be read") from error


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = data[at]
    if value < 0x80:  # most are
        return value, at + 1
    value = 0
    for shift in range(0, 7 * _VARINT, 7):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise IndexError


def encode_field(number: int, value: Value) -> bytes:
    """A field of a protobuf message."""
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
