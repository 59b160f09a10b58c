"""Bodies of stream messages, as ``java.io.DataOutputStream`` writes them: each value after a tag. Pure."""

import struct
from collections.abc import Callable
from math import isnan, nan
from typing import Any, Final

from jmsbridge.codecs import mutf8
from jmsbridge.spi import Byte, Char, Float, Long, Short

__all__ = ["decode", "encode"]

_FORMS: Final[dict[type, Callable[[Any], bytes]]] = {
    bool: lambda value: b"\1\1" if value else b"\1\0",
    str: lambda value: b"\2" + mutf8.write_utf(value),
    int: lambda value: struct.pack(">bi", 3, value),
    Short: lambda value: struct.pack(">bh", 4, value),
    Long: lambda value: struct.pack(">bq", 5, value),
    # Java writes the same bits for every NaN.
    Float: lambda value: struct.pack(">bf", 6, nan if isnan(value) else value),
    float: lambda value: struct.pack(">bd", 7, nan if isnan(value) else value),
    Byte: lambda value: struct.pack(">bb", 8, value),
    Char: lambda value: struct.pack(">bH", 9, ord(value)),
    bytes: lambda value: struct.pack(">bi", 10, len(value)) + value,
    type(None): lambda _: b"\x0b",
}
_NUMBERS: Final[dict[int, tuple[struct.Struct, Callable[[Any], Any]]]] = {
    1: (struct.Struct(">?"), bool),
    3: (struct.Struct(">i"), int),
    4: (struct.Struct(">h"), Short),
    5: (struct.Struct(">q"), Long),
    6: (struct.Struct(">f"), Float),
    7: (struct.Struct(">d"), float),
    8: (struct.Struct(">b"), Byte),
    9: (struct.Struct(">H"), lambda unit: Char(chr(unit))),
}
_size: Final = struct.Struct(">i")


def encode(values: list[Any]) -> bytes:
    """The body; ModifiedUtf8Error for a text of more than 65,535 bytes."""
    return b"".join([_FORMS[type(value)](value) for value in values])


def decode(data: bytes) -> list[Any]:
    """The values; ValueError if the bytes are not such a body."""
    values: list[Any] = []
    at, end = 0, len(data)
    try:
        while at < end:
            value, at = _value(data, at)
            values.append(value)
    except struct.error as error:
        raise ValueError(f"a stream message ends within its last value: {error}") from error
    return values


def _value(data: bytes, at: int) -> tuple[Any, int]:
    """The value at an offset, and the offset after it."""
    tag, at = data[at], at + 1
    number = _NUMBERS.get(tag)
    if number is not None:
        layout, made = number
        return made(layout.unpack_from(data, at)[0]), at + layout.size
    if tag == 2:
        return mutf8.read_utf(data, at)
    if tag == 10:
        start = at + 4
        stop = start + _size.unpack_from(data, at)[0]
        if not start <= stop <= len(data):
            raise ValueError(f"the bytes in a stream message at byte {at} do not end within it")
        return data[start:stop], stop
    if tag == 11:
        return None, at
    raise ValueError(f"a stream message has the unknown tag {tag} at byte {at - 1}")
