"""Decodes AMQP 1.0 types as canonical values. Pure functions.

Sizes and counts are checked against the bytes that are there before anything is allocated, and nesting is limited.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from uuid import UUID

from jmsbridge.spi import Byte, Char, Float, Long, Short
from jmsbridge_amqp.protocol.errors import Malformed

__all__ = ["Names", "Opaque", "compound", "decode", "pairs", "select", "text"]

_MAX_DEPTH: Final = 32
"""The maximum nesting of lists, maps, arrays and described values."""

_MOST_NAMES: Final = 4096
_read_size: Final = struct.Struct(">I").unpack_from
_read_sizes: Final = struct.Struct(">II").unpack_from


@dataclass(frozen=True, slots=True)
class Opaque:
    """A value for which there is no Python form here: a decimal number."""

    code: int
    data: bytes


def text(data: bytes) -> str:
    """Decode UTF-8; Malformed if it is not valid.

    ActiveMQ Classic writes the two halves of a surrogate pair as a character each, which is not UTF-8: they are joined.
    """
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        try:
            halves = data.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            raise Malformed(f"a text is not valid UTF-8 from its byte {error.start} on") from error
        return halves.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "surrogatepass")


def _unsigned_long(value: int) -> Any:
    return int.__new__(Long, value) if value < 1 << 63 else str(value)


def _character(value: int) -> str:
    if value > 0x10FFFF:
        raise Malformed(f"a char has the code point {value:#x}, which does not exist")
    return str.__new__(Char, chr(value)) if value < 0x10000 else chr(value)


_Unpack = Callable[[bytes, int], tuple[Any, ...]]
_Made = Callable[[Any], Any] | None
_long: Final = partial(int.__new__, Long)
_short: Final = partial(int.__new__, Short)
_FIXED: Final[dict[int, tuple[_Unpack, int, _Made]]] = {
    code: (struct.Struct(layout).unpack_from, struct.calcsize(layout), made)
    for code, layout, made in (
        (0x50, ">B", _short),
        (0x51, ">b", partial(int.__new__, Byte)),
        (0x52, ">B", _long),
        (0x53, ">B", _long),
        (0x54, ">b", None),
        (0x55, ">b", _long),
        (0x56, ">?", None),
        (0x60, ">H", None),
        (0x61, ">h", _short),
        (0x70, ">I", _long),
        (0x71, ">i", None),
        (0x72, ">f", partial(float.__new__, Float)),
        (0x73, ">I", _character),
        (0x74, ">4s", partial(Opaque, 0x74)),
        (0x80, ">Q", _unsigned_long),
        (0x81, ">q", _long),
        (0x82, ">d", None),
        (0x83, ">q", _long),
        (0x84, ">8s", partial(Opaque, 0x84)),
        (0x94, ">16s", partial(Opaque, 0x94)),
        (0x98, ">16s", lambda value: UUID(bytes=value)),
    )
}
_CONSTANTS: Final[dict[int, Any]] = {0x40: None, 0x41: True, 0x42: False, 0x43: Long(0), 0x44: Long(0)}
_FIXED_OR_CONSTANT: Final[dict[int, tuple[_Unpack, int, _Made]]] = _FIXED | {
    code: ((lambda data, offset, value=value: (value,)), 0, None) for code, value in _CONSTANTS.items()
}


# Of a pair: its name, the type of its value, whether the caller wants it; then, for a value of fixed size, how it is
# read (else None), the size, and how it is converted. A plain tuple, which is unpacked faster than a named one.
_Entry = tuple[str, int, bool, _Unpack | None, int, _Made]


class Names(dict[bytes, _Entry]):
    """A cache of the beginnings of pairs: an encoded short string and the code of the value; bounded.

    ``wanted`` says for a name whether the caller wants it. A program uses the same few names again and again.
    """

    def __init__(self, wanted: Callable[[str], bool] = lambda name: True) -> None:
        super().__init__()
        self._wanted = wanted

    def __missing__(self, key: bytes) -> _Entry:
        if len(key) < 3 or len(key) != key[1] + 3:
            raise IndexError
        if len(self) >= _MOST_NAMES:
            self.clear()
        name, kind = text(key[2:-1]), key[-1]
        fixed = _FIXED_OR_CONSTANT.get(kind, (None, 0, None))
        self[key] = found = name, kind, kind not in _UNUSUAL and self._wanted(name), *fixed
        return found


_UNUSUAL: Final = frozenset({0x73, 0x74, 0x84, 0x94, 0x98})  # chars, decimal numbers, UUIDs
_names: Final = Names()


def compound(data: bytes, offset: int) -> tuple[int, int, int]:
    """Count, first item and end of the list or map at ``offset``; Malformed."""
    try:
        code = data[offset]
    except IndexError as error:
        raise Malformed(f"a list or map is missing at byte {offset}") from error
    return _compound(data, offset + 1, code)


def _compound(data: bytes, offset: int, code: int) -> tuple[int, int, int]:
    try:
        if code == 0xC0 or code == 0xC1:
            size, count, first = data[offset] - 1, data[offset + 1], offset + 2
        elif code == 0xD0 or code == 0xD1:
            size, count = _read_sizes(data, offset)
            size, first = size - 4, offset + 8
        elif code == 0x45:
            return 0, offset, offset
        else:
            raise Malformed(f"the type {code:#04x} at byte {offset - 1} is not a list or map")
    except (IndexError, struct.error) as error:
        raise Malformed(f"a list or map is cut off at byte {offset}") from error
    end = first + size
    if count > size or end > len(data):
        raise Malformed(
            f"a list or map of {count} items in {size} bytes is announced, but {len(data) - first} bytes are left"
        )
    return count, first, end


def pairs(data: bytes, offset: int) -> tuple[dict[Any, Any], int]:
    """The map at ``offset``, usually with names as keys, and the offset after it; Malformed."""
    table: dict[Any, Any] = {}
    span = compound(data, offset)
    _pairs(data, span, 0, _names, table, table)
    return table, span[2]


def select(data: bytes, offset: int, names: Names) -> tuple[dict[str, Any], dict[Any, Any], int]:
    """The map at ``offset`` in two parts, and the offset after it; Malformed.

    The first part has the values of usual types under names that are wanted; the second all others.
    """
    wanted: dict[str, Any] = {}
    others: dict[Any, Any] = {}
    span = compound(data, offset)
    _pairs(data, span, 0, names, wanted, others)
    return wanted, others, span[2]


def _pairs(
    data: bytes, span: tuple[int, int, int], depth: int, names: Names, wanted: dict[Any, Any], others: dict[Any, Any]
) -> None:
    count, offset, end = span
    if count & 1:
        raise Malformed(f"a map of {count} items before byte {offset} has a key without a value")
    try:
        for _ in range(count >> 1):
            if data[offset] == 0xA1:
                start = offset
                offset += data[offset + 1] + 3
                name, kind, is_wanted, unpack, size, made = names[data[start:offset]]
                if unpack is not None:
                    value: Any = unpack(data, offset)[0]
                    offset += size
                    if made is not None:
                        value = made(value)
                elif kind == 0xA1:
                    start = offset + 1
                    offset = start + data[offset]
                    value = data[start:offset]
                    try:
                        value = value.decode()
                    except UnicodeDecodeError:
                        value = text(value)
                else:
                    value, offset = _value(data, offset, kind, depth + 1)
                    is_wanted = is_wanted and kind in _TEXTS
                if is_wanted:
                    wanted[name] = value
                else:
                    others[name] = value
            else:
                name, offset = _key(data, offset, depth)
                others[name], offset = decode(data, offset, depth + 1)
    except (IndexError, struct.error) as error:
        raise Malformed(f"a map is cut off at byte {offset}") from error
    if offset != end:
        raise Malformed(f"a map ends at byte {offset} instead of {end}")


def _key(data: bytes, offset: int, depth: int) -> tuple[Any, int]:
    found, offset = decode(data, offset, depth + 1)
    if isinstance(found, (list, dict)):
        raise Malformed(f"a map before byte {offset} has a list or map as a key")
    return found, offset


def decode(data: bytes, offset: int, depth: int = 0) -> tuple[Any, int]:
    """The value at ``offset``, of any type, and the offset after it; Malformed.

    Unsigned integers become the next wider type, the widest a text if a Long is too small; a timestamp becomes a Long,
    a symbol a text. Lists and arrays become a list, maps a dictionary; of a described value the description is omitted.
    """
    try:
        code = data[offset]
        fixed = _FIXED_OR_CONSTANT.get(code)
        if fixed is not None:
            unpack, size, made = fixed
            value = unpack(data, offset + 1)[0]
            return (value if made is None else made(value)), offset + 1 + size
    except (IndexError, struct.error) as error:
        raise Malformed(f"a value is cut off at byte {offset}") from error
    if code in _STRINGS:
        raw, offset = _variable(data, offset + 1, code)
        return (text(raw) if code & 0x0F else raw), offset
    return _value(data, offset + 1, code, depth)


_TEXTS: Final = frozenset({0xA1, 0xA3, 0xB1, 0xB3})
_STRINGS: Final = _TEXTS | {0xA0, 0xB0}


def _value(data: bytes, offset: int, code: int, depth: int) -> tuple[Any, int]:
    """The value of type ``code`` whose bytes begin at ``offset``; its size is not fixed."""
    if code in _STRINGS:
        raw, offset = _variable(data, offset, code)
        return (text(raw) if code & 0x0F else raw), offset
    if depth >= _MAX_DEPTH:
        raise Malformed(f"values are nested more than {_MAX_DEPTH} levels deep")
    if code == 0xC1 or code == 0xD1:
        table: dict[Any, Any] = {}
        span = _compound(data, offset, code)
        _pairs(data, span, depth, _names, table, table)
        return table, span[2]
    if code in (0x45, 0xC0, 0xD0):
        count, offset, end = _compound(data, offset, code)
        return _items(data, count, offset, end, depth)
    if code in (0xE0, 0xF0):
        return _array(data, offset, code, depth)
    if code == 0:
        _, offset = decode(data, offset, depth + 1)
        return decode(data, offset, depth + 1)
    raise Malformed(f"unknown type {code:#04x} at byte {offset - 1}")


def _variable(data: bytes, offset: int, code: int) -> tuple[bytes, int]:
    """The bytes of a string, symbol or binary whose size is at ``offset``."""
    try:
        if code < 0xB0:
            start, size = offset + 1, data[offset]
        else:
            start, size = offset + 4, _read_size(data, offset)[0]
    except (IndexError, struct.error) as error:
        raise Malformed(f"a value is cut off at byte {offset}") from error
    end = start + size
    if end > len(data):
        raise Malformed(f"a value of {size} bytes is announced at byte {offset}, but {len(data) - start} are left")
    return data[start:end], end


def _items(data: bytes, count: int, offset: int, end: int, depth: int) -> tuple[list[Any], int]:
    found: list[Any] = []
    for _ in range(count):
        value, offset = decode(data, offset, depth + 1)
        found.append(value)
    if offset != end:
        raise Malformed(f"a list ends at byte {offset} instead of {end}")
    return found, end


_LARGEST_WITHOUT_BYTES: Final = 255  # items of an array may take no bytes, so its size does not limit their number


def _array(data: bytes, offset: int, code: int, depth: int) -> tuple[list[Any], int]:
    """An array, whose items share one constructor."""
    try:
        if code == 0xE0:
            end, count, offset = offset + 1 + data[offset], data[offset + 1], offset + 2
        else:
            size, count = _read_sizes(data, offset)
            end, offset = offset + 4 + size, offset + 8
        if end > len(data) or count > max(end - offset, _LARGEST_WITHOUT_BYTES):
            raise Malformed(f"an array of {count} items at byte {offset} is larger than its bytes")
        while data[offset] == 0:
            _, offset = decode(data, offset + 1, depth + 1)
        kind = data[offset]
        offset += 1
        unpack, size, made = _FIXED_OR_CONSTANT.get(kind, (None, 0, None))
        found: list[Any] = []
        for _ in range(count):
            if unpack is None:
                value, offset = _value(data, offset, kind, depth + 1)
            else:
                value = unpack(data, offset)[0]
                offset += size
                if made is not None:
                    value = made(value)
            found.append(value)
    except (IndexError, struct.error) as error:
        raise Malformed(f"an array is cut off at byte {offset}") from error
    if offset != end:
        raise Malformed(f"an array ends at byte {offset} instead of {end}")
    return found, end
