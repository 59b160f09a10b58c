"""AMQP 0-9-1 field tables with JMS types both ways; pika has no floats and no small integers.

Pure functions on bytes. Names are remembered in both directions, up to a bound, because a program uses the same few.
"""

import struct
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from jmsbridge.spi import Byte, Float, Long, Short

__all__ = [
    "Malformed",
    "Unencodable",
    "decode_table",
    "encode_pairs",
    "encode_table",
    "field",
    "longstr",
    "strict_text",
    "text",
    "without",
]

MAX_DEPTH: Final = 32
"""How deep tables and arrays may lie in each other."""

_MOST_NAMES: Final = 4096
_NUMBER: Final = {
    0x42: (struct.Struct(">B"), Short),  # B
    0x62: (struct.Struct(">b"), Byte),  # b
    0x73: (struct.Struct(">h"), Short),  # s
    0x75: (struct.Struct(">H"), int),  # u
    0x49: (struct.Struct(">i"), int),  # I
    0x69: (struct.Struct(">I"), Long),  # i
    0x6C: (struct.Struct(">q"), Long),  # l
    0x66: (struct.Struct(">f"), Float),  # f
    0x64: (struct.Struct(">d"), float),  # d
}
_read_size: Final = struct.Struct(">I").unpack_from
_read_int: Final = struct.Struct(">i").unpack_from
_read_long: Final = struct.Struct(">q").unpack_from
_read_double: Final = struct.Struct(">d").unpack_from
_pack_int: Final = struct.Struct(">Bi").pack
_pack_long: Final = struct.Struct(">Bq").pack
_pack_text: Final = struct.Struct(">BI").pack

_keys: dict[str, bytes] = {}
_names: dict[bytes, str] = {}


class Malformed(ValueError):
    """The bytes are no AMQP 0-9-1; the only error that decoders of this package raise."""


class Unencodable(ValueError):
    """A value has no place in an AMQP 0-9-1 frame; the only error that encoders of this package raise."""


def _key(name: str) -> bytes:
    data = _utf8(name)
    if len(data) > 255:
        raise Unencodable(f"the name {name[:40]!r}… takes {len(data)} bytes, and AMQP 0-9-1 has room for 255")
    if len(_keys) >= _MOST_NAMES:
        _keys.clear()
    _keys[name] = key = bytes((len(data),)) + data
    return key


def _name(data: bytes) -> str:
    if len(_names) >= _MOST_NAMES:
        _names.clear()
    _names[data] = name = text(data)
    return name


def _utf8(value: str) -> bytes:
    try:
        return value.encode()
    except UnicodeEncodeError:  # lone surrogates: nobody but us will read them again
        return value.encode("utf-8", "surrogatepass")


def text(data: bytes) -> str:
    """The text of some bytes, whatever they are: lone surrogates are kept, what is no UTF-8 reads as ``\\xNN``."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        try:
            return data.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return data.decode("utf-8", "backslashreplace")


def strict_text(data: bytes) -> str:
    """The text of some bytes that must be text; Malformed where they are none."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        try:
            return data.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            raise Malformed(f"a text is no UTF-8 from its byte {error.start} on") from error


def longstr(value: str) -> bytes:
    """A text with its four-byte length."""
    data = _utf8(value)
    return len(data).to_bytes(4, "big") + data


def field(name: str, value: Any) -> bytes:
    """One entry of a table."""
    return encode_pairs({name: value})


def encode_table(table: Mapping[str, Any]) -> bytes:
    """A field table with its length: canonical JMS values, also bytes, lists and mappings."""
    data = encode_pairs(table)
    return len(data).to_bytes(4, "big") + data


def encode_pairs(table: Mapping[str, Any]) -> bytes:
    """The entries of a table without its length, to be joined with others."""
    parts: list[bytes] = []
    add = parts.append
    try:
        for name, value in table.items():
            key = _keys.get(name) or _key(name)
            kind = type(value)
            if kind is str:
                try:
                    data = value.encode()
                except UnicodeEncodeError:
                    data = _utf8(value)
                add(key + _pack_text(0x53, len(data)) + data)
            elif kind is int and -2147483648 <= value <= 2147483647:
                add(key + _pack_int(0x49, value))
            elif kind is Long:
                add(key + _pack_long(0x6C, value))
            else:
                add(key + _encode_other(value, kind))
    except (struct.error, RecursionError) as error:
        raise Unencodable(f"no field table can hold this: {error}") from error
    return b"".join(parts)


_FIXED: Final[dict[type, Callable[[Any], bytes]]] = {
    bool: lambda value: b"t\1" if value else b"t\0",
    Byte: lambda value: struct.pack(">Bb", 0x62, value),
    Short: lambda value: struct.pack(">Bh", 0x73, value),
    int: lambda value: _pack_long(0x6C, value),
    Float: lambda value: struct.pack(">Bf", 0x66, value),
    float: lambda value: struct.pack(">Bd", 0x64, value),
    type(None): lambda _: b"V",
    bytes: lambda value: _pack_text(0x78, len(value)) + value,
}


def _encode_other(value: Any, kind: type) -> bytes:
    fixed = _FIXED.get(kind)
    if fixed is not None:
        return fixed(value)
    if isinstance(value, str):
        return b"S" + longstr(value)
    if isinstance(value, Mapping):
        return b"F" + encode_table(value)
    if isinstance(value, (list, tuple)):
        # A field is its name and its value: with an empty name all but the first octet is the value.
        items = b"".join(field("", item)[1:] for item in value)
        return b"A" + len(items).to_bytes(4, "big") + items
    raise Unencodable(f"a {kind.__name__} has no field type in AMQP 0-9-1")


def decode_table(data: bytes, offset: int = 0) -> tuple[dict[str, Any], int]:
    """The table at ``offset`` and the offset behind it; Malformed.

    Values are canonical where JMS has the type. A timestamp becomes a Long of milliseconds, a decimal a float, the
    unsigned integers the next wider type (the widest a text where a Long is too small); byte arrays, tables and arrays
    are ``bytes``, ``dict`` and ``list``.
    """
    return _decode_table(data, offset, len(data), 0)


def _decode_table(data: bytes, offset: int, limit: int, depth: int) -> tuple[dict[str, Any], int]:
    table: dict[str, Any] = {}
    try:
        end = offset = offset + 4
        end += _read_size(data, offset - 4)[0]
        if end > limit:
            raise Malformed(f"a field table announces {end - offset} bytes and has {limit - offset}")
        while offset < end:
            start = offset + 1
            offset = start + data[offset]
            raw = data[start:offset]
            name = _names.get(raw)
            if name is None:
                name = _name(raw)
            kind = data[offset]
            offset += 1
            if kind == 0x53:  # S
                start = offset + 4
                offset = start + _read_size(data, offset)[0]
                if offset > end:
                    break
                raw = data[start:offset]
                try:
                    table[name] = raw.decode()
                except UnicodeDecodeError:
                    table[name] = text(raw)
            elif kind == 0x49:  # I
                table[name] = _read_int(data, offset)[0]
                offset += 4
            elif kind == 0x6C:  # l
                table[name] = int.__new__(Long, _read_long(data, offset)[0])
                offset += 8
            else:
                table[name], offset = _decode_value(data, offset, end, kind, depth)
    except (IndexError, struct.error) as error:
        raise Malformed(f"a field table breaks off at byte {offset}") from error
    if offset != end:
        raise Malformed(f"a field reaches {offset - end} bytes beyond its table")
    return table, end


def _decode_value(data: bytes, offset: int, end: int, kind: int, depth: int) -> tuple[Any, int]:
    """A value of one of the rarer types, or an item of an array; the caller looks whether it ends too late."""
    number = _NUMBER.get(kind)
    if number is not None:
        layout, made = number
        value = layout.unpack_from(data, offset)[0]
        return (value if type(value) is made else made.__new__(made, value)), offset + layout.size
    if kind == 0x74:  # t
        return data[offset] != 0, offset + 1
    if kind == 0x56:  # V
        return None, offset
    if kind in (0x53, 0x78):  # S, x
        start = offset + 4
        stop = start + _read_size(data, offset)[0]
        if stop > end:
            raise Malformed(f"a text or byte array reaches {stop - end} bytes beyond its table")
        return (data[start:stop] if kind == 0x78 else text(data[start:stop])), stop
    if kind == 0x54:  # T
        return _long(_unsigned(data, offset) * 1000), offset + 8
    if kind == 0x4C:  # L
        return _long(_unsigned(data, offset)), offset + 8
    if kind == 0x44:  # D
        return _read_int(data, offset + 1)[0] / 10 ** data[offset], offset + 5
    if depth >= MAX_DEPTH:
        raise Malformed(f"tables and arrays lie deeper in each other than {MAX_DEPTH} levels")
    if kind == 0x46:  # F
        return _decode_table(data, offset, end, depth + 1)
    if kind == 0x41:  # A
        return _decode_array(data, offset, end, depth + 1)
    raise Malformed(f"unknown field type {kind:#04x} at byte {offset - 1}")


def _decode_array(data: bytes, offset: int, limit: int, depth: int) -> tuple[list[Any], int]:
    items: list[Any] = []
    end = offset + 4 + _read_size(data, offset)[0]
    if end > limit:
        raise Malformed(f"an array reaches {end - limit} bytes beyond its table")
    offset += 4
    while offset < end:
        value, offset = _decode_value(data, offset + 1, end, data[offset], depth)
        items.append(value)
    if offset != end:
        raise Malformed(f"an item reaches {offset - end} bytes beyond its array")
    return items, end


def _unsigned(data: bytes, offset: int) -> int:
    return int.from_bytes(struct.unpack_from(">8s", data, offset)[0], "big")


def _long(value: int) -> Any:
    return int.__new__(Long, value) if value < 1 << 63 else str(value)


def without(table: bytes, names: Collection[str]) -> bytes:
    """An encoded table, with its length, less some entries; the other entries stay byte for byte; Malformed."""
    kept = bytearray()
    end = 4 + _read_size(table)[0] if len(table) >= 4 else -1
    if end != len(table):
        raise Malformed("the bytes are no field table")
    offset = 4
    try:
        while offset < end:
            start = offset
            offset += 1 + table[offset]
            name = text(table[start + 1 : offset])
            _, offset = _decode_value(table, offset + 1, end, table[offset], 0)
            if name not in names:
                kept += table[start:offset]
    except (IndexError, struct.error) as error:
        raise Malformed(f"a field table breaks off at byte {offset}") from error
    if offset != end:
        raise Malformed(f"a field reaches {offset - end} bytes beyond its table")
    return len(kept).to_bytes(4, "big") + kept
