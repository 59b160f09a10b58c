"""Encodes canonical values as AMQP 1.0 types, in the same bytes as Qpid's Java codec. Pure functions.

The loop over properties handles each common type inline, and the encoded names are cached.
"""

import struct
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from jmsbridge.spi import Byte, Char, Float, Long, Short
from jmsbridge_amqp.protocol.errors import Unencodable

__all__ = [
    "PairWriter",
    "binary",
    "compound_list",
    "compound_map",
    "encode",
    "encode_pairs",
    "name_string",
    "string",
    "symbol",
    "uint",
    "utf8",
]

_MAX_DEPTH: Final = 32
_MOST_NAMES: Final = 4096
_OCTETS: Final = tuple(bytes((number,)) for number in range(256))
_pack_size: Final = struct.Struct(">I").pack
_pack_sizes: Final = struct.Struct(">II").pack
_pack_int: Final = struct.Struct(">i").pack
_pack_long: Final = struct.Struct(">q").pack
_pack_float: Final = struct.Struct(">f").pack
_pack_double: Final = struct.Struct(">d").pack
_pack_short: Final = struct.Struct(">h").pack


class _Keys(dict[str, bytes]):
    """A cache of encoded strings, each followed by the code of a value's type; bounded.

    ``refused`` are names for which the lookup raises KeyError.
    """

    def __init__(self, code: bytes, refused: frozenset[str] = frozenset()) -> None:
        super().__init__()
        self._code = code
        self._refused = refused

    def __missing__(self, name: str) -> bytes:
        if name in self._refused:
            raise KeyError(name)
        key = string(name) + self._code
        if len(key) < 256:
            if len(self) >= _MOST_NAMES:
                self.clear()
            self[name] = key
        return key


def utf8(value: str) -> bytes:
    """The text as UTF-8; lone surrogates, which only jmsbridge can read, take three bytes each."""
    try:
        return value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-8", "surrogatepass")


def string(value: str) -> bytes:
    """A string."""
    return _string(utf8(value))


def _string(data: bytes) -> bytes:
    size = len(data)
    return b"\xa1" + _OCTETS[size] + data if size < 256 else b"\xb1" + _long_size(size) + data


def name_string(value: str) -> bytes:
    """A string that brokers read, and end the connection for if it is not UTF-8; Unencodable for lone surrogates."""
    try:
        return _string(value.encode())
    except UnicodeEncodeError as error:
        raise Unencodable(f"{value[:80]!r} has an unpaired surrogate, which brokers do not allow here") from error


def symbol(value: str) -> bytes:
    """A symbol of at most 255 ASCII characters."""
    return b"\xa3" + _OCTETS[len(value)] + value.encode("ascii")


def binary(value: bytes) -> bytes:
    """Binary data."""
    size = len(value)
    return b"\xa0" + _OCTETS[size] + value if size < 256 else b"\xb0" + _long_size(size) + value


def uint(value: int) -> bytes:
    """An unsigned integer of 32 bits."""
    if value == 0:
        return b"\x43"
    return b"\x52" + _OCTETS[value] if value < 256 else b"\x70" + _pack_size(value)


def _encode_long(value: int) -> bytes:
    """A long."""
    return b"\x55" + _OCTETS[value & 255] if -128 <= value < 128 else b"\x81" + _pack_long(value)


def compound_list(body: bytes, count: int) -> bytes:
    """A list from its encoded items."""
    if not count:
        return b"\x45"
    if count < 256 and len(body) < 254:
        return b"\xc0" + _OCTETS[len(body) + 1] + _OCTETS[count] + body
    return b"\xd0" + _pack_sizes(_checked(len(body) + 4), count) + body


def compound_map(body: bytes, pairs: int) -> bytes:
    """A map from its encoded pairs."""
    if pairs < 128 and len(body) < 254:
        return b"\xc1" + _OCTETS[len(body) + 1] + _OCTETS[2 * pairs] + body
    return b"\xd1" + _pack_sizes(_checked(len(body) + 4), 2 * pairs) + body


def _long_size(size: int) -> bytes:
    return _pack_size(_checked(size))


def _checked(size: int) -> int:
    if size >= 1 << 32:
        raise Unencodable(f"a value of {size} bytes is too large for AMQP 1.0, which has 4 bytes for a size")
    return size


class PairWriter:
    """Encodes dictionaries with names as keys; those of ``refused`` raise KeyError."""

    def __init__(self, refused: frozenset[str] = frozenset()) -> None:
        self._plain = _Keys(b"", refused)
        self._string = _Keys(b"\xa1", refused)
        self._true = _Keys(b"\x41", refused)
        self._false = _Keys(b"\x42", refused)
        self._small = _Keys(b"\x54", refused)
        self._int = _Keys(b"\x71", refused)
        self._long = _Keys(b"\x81", refused)
        self._double = _Keys(b"\x82", refused)

    def encode(self, table: Mapping[str, Any]) -> bytes:
        """A map with its size; Unencodable."""
        parts: list[bytes] = []
        add = parts.append
        for name, value in table.items():
            kind = type(value)
            if kind is str:
                try:
                    data = value.encode()
                except UnicodeEncodeError:
                    data = utf8(value)
                size = len(data)
                if size < 256:
                    add(self._string[name] + _OCTETS[size] + data)
                else:
                    add(self._plain[name] + string(value))
            elif kind is int:
                if -128 <= value < 128:
                    add(self._small[name] + _OCTETS[value & 255])
                else:
                    try:
                        add(self._int[name] + _pack_int(value))
                    except struct.error:
                        add(self._plain[name] + encode(value))
            elif kind is bool:
                add((self._true if value else self._false)[name])
            elif kind is float:
                add(self._double[name] + _pack_double(value))
            elif kind is Long and not -128 <= value < 128:
                add(self._long[name] + _pack_long(value))
            else:
                add(self._plain[name] + encode(value))
        return compound_map(b"".join(parts), len(parts))


_fields: Final = PairWriter()


def encode_pairs(table: Mapping[str, Any]) -> bytes:
    """A map with texts as keys; Unencodable."""
    return _fields.encode(table)


def encode(value: Any, depth: int = 0) -> bytes:
    """Any canonical value, list or dictionary; Unencodable."""
    made = _WRITERS.get(type(value))
    if made is not None:
        return made(value)
    if isinstance(value, (list, tuple, dict)):
        if depth >= _MAX_DEPTH:
            raise Unencodable(f"lists and maps are nested more than {_MAX_DEPTH} levels deep")
        if isinstance(value, dict):
            items = (part for pair in value.items() for part in pair)
            return compound_map(_join(items, depth), len(value))
        return compound_list(_join(value, depth), len(value))
    raise Unencodable(f"AMQP 1.0 has no type for a {type(value).__name__}")


def _join(items: Iterable[Any], depth: int) -> bytes:
    return b"".join([encode(item, depth + 1) for item in items])


def _int(value: int) -> bytes:
    if -128 <= value < 128:
        return b"\x54" + _OCTETS[value & 255]
    if -(1 << 31) <= value < 1 << 31:
        return b"\x71" + _pack_int(value)
    if -(1 << 63) <= value < 1 << 63:
        return b"\x81" + _pack_long(value)
    raise Unencodable(f"an integer of {value.bit_length()} bits does not fit a long")


_WRITERS: Final[dict[type, Callable[[Any], bytes]]] = {
    type(None): lambda value: b"\x40",
    bool: lambda value: b"\x41" if value else b"\x42",
    Byte: lambda value: b"\x51" + _OCTETS[value & 255],
    Short: lambda value: b"\x61" + _pack_short(value),
    int: _int,
    Long: _encode_long,
    Float: lambda value: b"\x72" + _pack_float(value),
    float: lambda value: b"\x82" + _pack_double(value),
    Char: lambda value: b"\x73" + _pack_size(ord(value)),
    str: string,
    bytes: binary,
}
