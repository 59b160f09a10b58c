"""Encoding and decoding of AMQP 0-9-1 field tables with JMS types; pika has no floats and no small integers.

Pure functions on bytes, written for speed: the loops handle each common type inline.
"""

import struct
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

from jmsbridge.spi import Byte, Float, Long, Short
from jmsbridge_rabbitmq.protocol.cache import Cache

__all__ = [
    "Malformed",
    "Names",
    "NotFinite",
    "TooLong",
    "Unencodable",
    "decode_entries",
    "decode_table",
    "encode_pairs",
    "encode_table",
    "field",
    "strict_text",
    "text",
    "without",
]

_MAX_DEPTH: Final = 32
"""The maximum nesting of tables and arrays."""

_MOST_NAMES: Final = 4096
_read_size: Final = struct.Struct(">I").unpack_from
_read_scaled: Final = struct.Struct(">Bi").unpack_from
_pack_size: Final = struct.Struct(">I").pack


def _read_decimal(data: bytes, offset: int) -> tuple[float]:
    places, number = _read_scaled(data, offset)
    return (number / 10**places,)


_Unpack = Callable[[bytes, int], tuple[Any, ...]]
_Made = Callable[[Any], Any] | None
# Types of fixed size: how to read one, its size, and its conversion to a canonical value (None: not needed).
_READ: Final[dict[int, tuple[_Unpack, int, _Made]]] = {
    ord(code): (struct.Struct(layout).unpack_from, struct.calcsize(layout), made)
    for code, layout, made in (
        ("t", ">?", None),
        ("b", ">b", partial(int.__new__, Byte)),
        ("B", ">B", partial(int.__new__, Short)),
        ("s", ">h", partial(int.__new__, Short)),
        ("u", ">H", None),
        ("I", ">i", None),
        ("i", ">I", partial(int.__new__, Long)),
        ("l", ">q", partial(int.__new__, Long)),
        ("f", ">f", partial(float.__new__, Float)),
        ("d", ">d", None),
        ("T", ">Q", lambda value: _long(value * 1000)),
        ("L", ">Q", lambda value: _long(value)),
    )
} | {ord("D"): (_read_decimal, 5, None)}


class Malformed(ValueError):
    """The bytes are not valid AMQP 0-9-1; the only error that decoders of this package raise."""


class Unencodable(ValueError):
    """AMQP 0-9-1 cannot represent a value; the only error that encoders of this package raise."""


class TooLong(Unencodable):
    """A name of more than 255 bytes."""


class NotFinite(Unencodable):
    """A NaN or an infinity: Erlang has neither, and RabbitMQ closes a connection (541) that sends one in a table."""


class _Entry(NamedTuple):
    """The decoded first octets of an entry; ``unpack`` is None if the size is not fixed."""

    name: str
    kind: int
    is_wanted: bool
    unpack: _Unpack | None
    size: int
    made: _Made


class Names(Cache[bytes, _Entry]):
    """A cache of entries by their first octets; ``wanted`` says for a name whether the caller wants it."""

    def __init__(self, wanted: Callable[[str], bool] = lambda name: True) -> None:
        super().__init__(self._read, _MOST_NAMES)
        self._wanted = wanted

    def _read(self, key: bytes) -> _Entry:
        if len(key) < 2 or len(key) != key[0] + 2:
            raise IndexError
        name, kind = text(key[1:-1]), key[-1]
        return _Entry(name, kind, self._wanted(name), *_READ.get(kind, (None, 0, None)))


def _keys(code: str) -> Cache[str, bytes]:
    """A cache of the first octets of entries of one type, by name."""

    def key(name: str) -> bytes:
        data = _utf8(name)
        if len(data) > 255:
            raise TooLong(f"the name {name[:40]!r}… takes {len(data)} bytes, and AMQP 0-9-1 has room for 255")
        return bytes((len(data),)) + data + code.encode()

    return Cache(key, _MOST_NAMES)


def _utf8(value: str) -> bytes:
    try:
        return value.encode()
    except UnicodeEncodeError:  # lone surrogates, which only jmsbridge can read
        return value.encode("utf-8", "surrogatepass")


def text(data: bytes) -> str:
    """Decode any bytes as text: lone surrogates are kept, invalid UTF-8 becomes ``\\xNN``."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        try:
            return data.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return data.decode("utf-8", "backslashreplace")


def strict_text(data: bytes) -> str:
    """Decode UTF-8; Malformed if it is not valid."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        try:
            return data.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            raise Malformed(f"a text is not valid UTF-8 from its byte {error.start} on") from error


def _longstr(value: str) -> bytes:
    """A text after its four-byte length."""
    data = _utf8(value)
    return len(data).to_bytes(4, "big") + data


def field(name: str, value: Any) -> bytes:
    """One entry of a table."""
    return encode_pairs({name: value})


def encode_table(table: Mapping[str, Any]) -> bytes:
    """A field table after its length, from canonical JMS values, bytes, lists and mappings; NotFinite."""
    data = encode_pairs(table)
    return len(data).to_bytes(4, "big") + data


def _finite(layout: str) -> Callable[[float], bytes]:
    pack = struct.Struct(layout).pack

    def packed(value: float) -> bytes:
        if value - value != 0.0:
            raise NotFinite(f"{value!r} cannot be sent in a header: RabbitMQ closes a connection that does so")
        return pack(value)

    return packed


_any_key: Final = _keys("")
_text_key: Final = _keys("S")
_FIXED: Final[dict[type, tuple[Cache[str, bytes], Callable[[Any], bytes]]]] = {
    bool: (_keys("t"), struct.Struct(">?").pack),
    Byte: (_keys("b"), struct.Struct(">b").pack),
    Short: (_keys("s"), struct.Struct(">h").pack),
    int: (_keys("I"), struct.Struct(">i").pack),
    Long: (_keys("l"), struct.Struct(">q").pack),
    Float: (_keys("f"), _finite(">f")),
    float: (_keys("d"), _finite(">d")),
}


def encode_pairs(table: Mapping[str, Any]) -> bytes:
    """The entries of a table, without its length."""
    parts: list[bytes] = []
    add = parts.append
    fixed = _FIXED
    for name, value in table.items():
        kind = type(value)
        if kind is str:
            try:
                data = value.encode()
            except UnicodeEncodeError:
                data = _utf8(value)
            add(_text_key[name] + _pack_size(len(data)) + data)
        elif kind in fixed:
            keys, pack = fixed[kind]
            try:
                add(keys[name] + pack(value))
            except struct.error:
                add(_any_key[name] + _encode_other(value))
        else:
            add(_any_key[name] + _encode_other(value))
    return b"".join(parts)


def _encode_other(value: Any) -> bytes:
    """A value of a rarer type."""
    if value is None:
        return b"V"
    if isinstance(value, bytes):
        return b"x" + _pack_size(len(value)) + value
    if isinstance(value, str):
        return b"S" + _longstr(value)
    try:
        if isinstance(value, int):
            return struct.pack(">Bq", 0x6C, value)
        if isinstance(value, Mapping):
            return b"F" + encode_table(value)
        if isinstance(value, (list, tuple)):
            # encoded as a field with an empty name, of which the first octet is the name's length
            items = b"".join([field("", item)[1:] for item in value])
            return b"A" + _pack_size(len(items)) + items
    except (struct.error, RecursionError) as error:
        raise Unencodable(f"a field of AMQP 0-9-1 cannot hold this {type(value).__name__}: {error}") from error
    raise Unencodable(f"AMQP 0-9-1 has no field type for a {type(value).__name__}")


_names: Final = Names()


def decode_table(data: bytes, offset: int = 0) -> tuple[dict[str, Any], int]:
    """The table at ``offset``, and the offset after it; Malformed.

    Values are canonical if JMS has the type. A timestamp becomes a Long of milliseconds, a decimal a float, an unsigned
    integer the next wider type (the widest a text if a Long is too small); byte arrays, tables and arrays become
    ``bytes``, ``dict`` and ``list``.
    """
    return _decode_table(data, offset, len(data), 0)


def _decode_table(data: bytes, offset: int, limit: int, depth: int) -> tuple[dict[str, Any], int]:
    table: dict[str, Any] = {}
    start = offset + 4
    end = start + _size(data, offset)
    if end > limit:
        raise Malformed(f"a field table of {end - start} bytes is announced, but {limit - start} bytes are left")
    decode_entries(data, start, end, _names, table, table, depth)
    return table, end


def decode_entries(
    data: bytes, offset: int, end: int, names: Names, wanted: dict[str, Any], others: dict[str, Any], depth: int = 0
) -> bool:
    """Decode the entries between two offsets into the dictionary that ``names`` selects for each; Malformed.

    Return whether one of the values is not a text, number or boolean.
    """
    is_odd = False
    try:
        while offset < end:
            start = offset
            offset += data[start] + 2
            name, kind, is_wanted, unpack, size, made = names[data[start:offset]]
            if unpack is not None:
                value: Any = unpack(data, offset)[0]
                offset += size
                if made is not None:
                    value = made(value)
            elif kind == 0x53:  # S
                start = offset + 4
                offset = start + _read_size(data, offset)[0]
                if offset > end:
                    break
                value = data[start:offset]
                try:
                    value = value.decode()
                except UnicodeDecodeError:
                    value = text(value)
            else:
                value, offset = _decode_other(data, offset, end, kind, depth)
                is_odd = True
            if is_wanted:
                wanted[name] = value
            else:
                others[name] = value
    except (IndexError, struct.error) as error:
        raise Malformed(f"a field table is cut off at byte {offset}") from error
    if offset != end:
        raise Malformed(f"a field extends {offset - end} bytes beyond its table")
    return is_odd


def _decode_other(data: bytes, offset: int, end: int, kind: int, depth: int) -> tuple[Any, int]:
    """Decode a value of any type; the caller checks where it ends."""
    known = _READ.get(kind)
    if known is not None:
        unpack, size, made = known
        value = unpack(data, offset)[0]
        return (value if made is None else made(value)), offset + size
    if kind == 0x56:  # V
        return None, offset
    if kind in (0x53, 0x78):  # S, x
        start = offset + 4
        stop = start + _size(data, offset)
        if stop > end:
            raise Malformed(f"a text or byte array extends {stop - end} bytes beyond its table")
        return (data[start:stop] if kind == 0x78 else text(data[start:stop])), stop
    if depth >= _MAX_DEPTH:
        raise Malformed(f"tables and arrays are nested more than {_MAX_DEPTH} levels deep")
    if kind == 0x46:  # F
        return _decode_table(data, offset, end, depth + 1)
    if kind == 0x41:  # A
        return _decode_array(data, offset, end, depth + 1)
    raise Malformed(f"unknown field type {kind:#04x} at byte {offset - 1}")


def _decode_array(data: bytes, offset: int, limit: int, depth: int) -> tuple[list[Any], int]:
    items: list[Any] = []
    end = offset + 4 + _size(data, offset)
    if end > limit:
        raise Malformed(f"an array extends {end - limit} bytes beyond its table")
    offset += 4
    while offset < end:
        value, offset = _decode_other(data, offset + 1, end, data[offset], depth)
        items.append(value)
    if offset != end:
        raise Malformed(f"an item extends {offset - end} bytes beyond its array")
    return items, end


def _size(data: bytes, offset: int) -> int:
    try:
        found: int = _read_size(data, offset)[0]
    except struct.error as error:
        raise Malformed(f"a field table is cut off at byte {offset}") from error
    return found


def _long(value: int) -> Any:
    return int.__new__(Long, value) if value < 1 << 63 else str(value)


def without(table: bytes, names: Collection[str]) -> bytes:
    """An encoded table, with its length, without some entries; the others stay byte for byte; Malformed."""
    kept = bytearray()
    end = 4 + _size(table, 0)
    if end != len(table):
        raise Malformed("the bytes are not a field table")
    offset = 4
    try:
        while offset < end:
            start = offset
            offset += table[start] + 2
            entry = _names[table[start:offset]]
            _, offset = _decode_other(table, offset, end, entry.kind, 0)
            if entry.name not in names:
                kept += table[start:offset]
    except (IndexError, struct.error) as error:
        raise Malformed(f"a field table is cut off at byte {offset}") from error
    if offset != end:
        raise Malformed(f"a field extends {offset - end} bytes beyond its table")
    return len(kept).to_bytes(4, "big") + kept
