"""Splits a message into its sections, and reads those in front of the body. Pure.

The first sections, and most of the properties, are the same bytes in consecutive messages of one queue: they are
compared with those of the message before instead of being read again.
"""

import struct
from collections.abc import Iterator
from typing import Any, Final, NamedTuple
from uuid import UUID

from jmsbridge.spi import Long
from jmsbridge_amqp.messages.application import origin
from jmsbridge_amqp.messages.conventions import DELIVERY_TIME, DESTINATION, EXPIRATION, KIND, REPLY_TO, is_of_broker
from jmsbridge_amqp.messages.ids import Ulong
from jmsbridge_amqp.protocol.errors import Malformed
from jmsbridge_amqp.protocol.reading import Names, compound, decode, pairs, select, text

__all__ = [
    "ANNOTATIONS",
    "APPLICATION",
    "DATA",
    "DELIVERY_ANNOTATIONS",
    "FOOTER",
    "HEADER",
    "NOTHING",
    "PROPERTIES",
    "SEQUENCE",
    "VALUE",
    "Annotations",
    "Header",
    "Parts",
    "Splitter",
    "read_header",
    "walk",
]

HEADER, DELIVERY_ANNOTATIONS, ANNOTATIONS, PROPERTIES, APPLICATION = 0x70, 0x71, 0x72, 0x73, 0x74
DATA, SEQUENCE, VALUE, FOOTER = 0x75, 0x76, 0x77, 0x78

_SYMBOLS: Final = {
    f"amqp:{name}": code
    for name, code in (
        ("header:list", HEADER),
        ("delivery-annotations:map", DELIVERY_ANNOTATIONS),
        ("message-annotations:map", ANNOTATIONS),
        ("properties:list", PROPERTIES),
        ("application-properties:map", APPLICATION),
        ("data:binary", DATA),
        ("amqp-sequence:list", SEQUENCE),
        ("amqp-value:*", VALUE),
        ("footer:map", FOOTER),
    )
}
_SHORT: Final = b"\x00\x53"  # a description by a number below 256, which follows
_BODIES: Final = frozenset({DATA, SEQUENCE, VALUE})
_TYPES: Final = {DATA: bytes, SEQUENCE: list}
_NOTES_OF_ARTEMIS: Final = ("x-opt-ORIG-QUEUE", "x-opt-ORIG-ADDRESS", "x-opt-ORIG-ROUTING-TYPE")
_LONGEST_REMEMBERED: Final = 1024
_read_sizes: Final = struct.Struct(">II").unpack_from
_read_time: Final = struct.Struct(">q").unpack_from
_names: Final = Names(lambda name: not is_of_broker(name))


class Header(NamedTuple):
    """The header section."""

    persistent: bool = False
    priority: int = 4
    ttl: int = 0
    delivery_count: int = 0


class Annotations(NamedTuple):
    """The message annotations that mean something here; the kinds are bytes as Qpid JMS writes them, or None.

    ``expiration`` is that of a delayed message as its sender set it, 0 if unknown.
    ``dead`` says that the broker dead-lettered the message, ``origin`` from where.
    """

    kind: int | None = None
    destination: int | None = None
    reply_to: int | None = None
    delivery_time: int = 0
    expiration: int = 0
    dead: bool = False
    origin: str | None = None


_NO_FIELDS: Final[list[Any]] = [None] * 13


Parts = tuple[Header, Annotations, list[Any], dict[str, Any], dict[Any, Any], int, Any]
"""A message: header; annotations; the 13 fields of the properties, ids with the types of ``messages.ids``; application
properties that are shown as they are; the other ones; the type of its body sections, 0 if there are none; their values.

A plain tuple, which is made and unpacked faster than a named one.
"""

NOTHING: Final[Parts] = (Header(), Annotations(), _NO_FIELDS, {}, {}, 0, ())
"""An empty message."""


class Splitter:
    """Splits the messages of one subscription; for one thread."""

    def __init__(self) -> None:
        # The bytes before the properties, and their meaning. The first byte of a message is never FF.
        self._head = b"\xff"
        self._headers: tuple[Header, Annotations] = NOTHING[:2]
        # The bytes of the properties between message id and creation time, and their meaning.
        self._middle = b"\xff"
        self._fields: list[Any] = _NO_FIELDS[1:9]

    def split(self, data: bytes) -> Parts:
        """The sections of a message; Malformed."""
        header, annotations, fields, application, others, code, body = NOTHING
        known, size = 0, len(data)
        if data.startswith(self._head):
            (header, annotations), known = self._headers, len(self._head)
        offset = known
        while offset < size:
            start = offset
            if data.startswith(_SHORT, offset) and offset + 2 < size:
                section, offset = data[offset + 2], offset + 3
            else:
                section, offset = _descriptor(data, offset)
            if section == PROPERTIES:
                if start != known:
                    self._remember(data[:start], header, annotations)
                fields, offset = self._read_properties(data, offset)
            elif section == APPLICATION:
                application, others, offset = select(data, offset, _names)
            elif section in _BODIES:
                body, offset = _read_body(data, offset, section, code, body)
                code = section
            elif section == ANNOTATIONS:
                annotations, offset = _read_annotations(data, offset)
            elif section == HEADER:
                header, offset = read_header(data, offset)
            else:
                offset = _skip(data, section, offset)
        return header, annotations, fields, application, others, code, body

    def _remember(self, head: bytes, header: Header, annotations: Annotations) -> None:
        if not header.ttl and not annotations.delivery_time and len(head) <= _LONGEST_REMEMBERED:
            self._head, self._headers = head, (header, annotations)

    def _read_properties(self, data: bytes, offset: int) -> tuple[list[Any], int]:
        """The fields of the properties, and their end; Malformed."""
        middle = self._middle
        try:
            if data[offset] == 0xD0 and data[offset + 9] == 0xA1:
                start = offset + 11
                stop = start + data[offset + 10]
                end = stop + len(middle) + 8
                if data.startswith(middle, stop) and _read_sizes(data, offset + 1) == (end - offset - 5, 10):
                    created = _read_time(data, end - 8)[0]
                    return [text(data[start:stop]), *self._fields, created, None, None, None], end
        except (IndexError, struct.error):
            pass  # cut off, which is reported below
        count, first, end = compound(data, offset)
        fields = _read_fields(data, count, first, end)
        is_usual = count == 10 and fields[8] is None and data[first] == 0xA1 and data[end - 9] == 0x83
        if is_usual and _read_time(data, end - 8)[0] == fields[9]:
            middle = data[first + 2 + data[first + 1] : end - 8]
            if len(middle) <= _LONGEST_REMEMBERED:
                self._middle, self._fields = middle, fields[1:9]
        return fields, end


def _descriptor(data: bytes, offset: int) -> tuple[int, int]:
    """The code of the section at ``offset``, and the offset of its value; Malformed."""
    try:
        if data[offset]:
            raise Malformed(f"no section begins at byte {offset}")
        if data[offset + 1] == 0x53:
            return data[offset + 2], offset + 3
    except IndexError as error:
        raise Malformed(f"a section is cut off at byte {offset}") from error
    found, end = decode(data, offset + 1)
    code = _SYMBOLS.get(found) if isinstance(found, str) else found
    if not isinstance(code, int):
        raise Malformed(f"unknown section {str(found)[:40]!r} at byte {offset}")
    return code, end


def _skip(data: bytes, section: int, offset: int) -> int:
    """The end of a section that is not read; Malformed."""
    if section not in (DELIVERY_ANNOTATIONS, FOOTER):
        raise Malformed(f"unknown section {section:#x} before byte {offset}")
    return compound(data, offset)[2]


def walk(data: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Of each section its code, its start, the offset of its value, and its end; Malformed."""
    end = 0
    while end < len(data):
        start = end
        code, offset = _descriptor(data, start)
        end = decode(data, offset)[1] if code in _BODIES else compound(data, offset)[2]
        yield code, start, offset, end


def read_header(data: bytes, offset: int) -> tuple[Header, int]:
    """The header at ``offset``, and its end; Malformed."""
    fields, end = decode(data, offset)
    if not isinstance(fields, list) or len(fields) > 5:
        raise Malformed("the header is not a list of at most 5 fields")
    durable, priority, ttl, _, count = fields + [None] * (5 - len(fields))
    found = Header(
        durable is True,
        4 if priority is None else min(_number(priority), 9),
        0 if ttl is None else _number(ttl),
        0 if count is None else _number(count),
    )
    return found, end


def _number(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise Malformed(f"the header has a {type(value).__name__} where an unsigned integer belongs")
    return int(value)


def _read_annotations(data: bytes, offset: int) -> tuple[Annotations, int]:
    """The message annotations at ``offset``, and their end; Malformed."""
    table, end = pairs(data, offset)
    found = Annotations(
        _message_kind(table.get(KIND)),
        _kind(table.get(DESTINATION), table.get("x-opt-to-type")),
        _kind(table.get(REPLY_TO), table.get("x-opt-reply-type")),
        _time(table.get(DELIVERY_TIME)),
        _time(table.get(EXPIRATION)),
        *origin(table, *_NOTES_OF_ARTEMIS),
    )
    return found, end


def _message_kind(value: Any) -> int | None:
    """The annotation for the kind of the message, -1 if it is not a number; None if there is none."""
    return None if value is None else int(value) if isinstance(value, int) else -1


def _time(value: Any) -> int:
    """The annotation for a time in ms, 0 if it is none."""
    return max(int(value), 0) if isinstance(value, (int, float)) and abs(value) < 1 << 63 else 0


def _kind(byte: Any, legacy: Any) -> int | None:
    """The kind of a destination; ``legacy`` is the annotation that old senders write, such as ``topic,temporary``."""
    if isinstance(byte, int):
        return int(byte)
    if not isinstance(legacy, str):
        return None
    words = [word.strip() for word in legacy.split(",")]
    return 2 * ("temporary" in words) + ("topic" in words)


def _read_fields(data: bytes, count: int, offset: int, end: int) -> list[Any]:
    """The 13 fields of the properties section, None where absent; Malformed."""
    if count > 13:
        raise Malformed(f"the properties have {count} fields, and AMQP 1.0 knows 13")
    fields: list[Any] = [None] * 13
    try:
        for index in range(count):
            code = data[offset]
            if code == 0x40:
                offset += 1
            elif code == 0xA1 and index not in _NOT_TEXTS:
                start = offset + 2
                offset = start + data[offset + 1]
                fields[index] = text(data[start:offset])
            elif code == 0x83 and (index == 8 or index == 9):
                fields[index] = _read_time(data, offset + 1)[0]
                offset += 9
            else:
                fields[index], offset = _field(data, offset, index)
    except (IndexError, struct.error) as error:
        raise Malformed(f"the properties are cut off at byte {offset}") from error
    if offset != end:
        raise Malformed(f"the properties end at byte {offset} instead of {end}")
    return fields


_NOT_TEXTS: Final = frozenset({1, 8, 9, 11})
_ULONGS: Final = frozenset({0x44, 0x53, 0x80})


def _field(data: bytes, offset: int, index: int) -> tuple[Any, int]:
    """A field of a rarer type, and its end; Malformed if it is not one for this field."""
    code = data[offset]
    value, end = decode(data, offset)
    if index == 0 or index == 5:
        if code in _ULONGS:
            return Ulong(value), end
        right = isinstance(value, (str, bytes, UUID))
    elif index == 1:
        right = type(value) is bytes
    elif index in _NOT_TEXTS:
        right = type(value) is Long
        value = int(value) if right else value
    else:
        right = type(value) is str
    if not right:
        raise Malformed(f"the field {index} of the properties has the type {code:#04x}")
    return value, end


def _read_body(data: bytes, offset: int, section: int, before: int, body: Any) -> tuple[Any, int]:
    """The values of the body sections up to the one at ``offset``, and its end; Malformed."""
    if before and (section != before or section == VALUE):
        raise Malformed(f"the body section before byte {offset} does not fit the one before it")
    value, end = decode(data, offset)
    if section != VALUE and type(value) is not _TYPES[section]:
        raise Malformed(f"the body section before byte {offset} has a value of another type")
    if not before:
        return [value], end
    body.append(value)
    return body, end
