"""Conversions of the typed setters' arguments to canonical values.

A wrong Python type is a TypeError, a number out of range a ValueError: in Java neither call would compile.
"""

from typing import Any

from jmsbridge.errors import NullValueError
from jmsbridge.values import Byte, Char, Double, Float, Int, Long, Short

__all__ = [
    "Buffer",
    "boolean",
    "byte",
    "char",
    "double",
    "floating",
    "integer",
    "long",
    "section",
    "short",
    "text",
]

Buffer = bytes | bytearray | memoryview


def boolean(value: Any) -> bool:
    """A bool; TypeError for anything else."""
    if value is True or value is False:
        return value
    raise TypeError(f"a bool is needed, not {type(value).__name__}")


def byte(value: int) -> Byte:
    """A number of 8 bits."""
    return value if type(value) is Byte else Byte(value)


def short(value: int) -> Short:
    """A number of 16 bits."""
    return value if type(value) is Short else Short(value)


def integer(value: int) -> int:
    """A number of 32 bits."""
    return value if type(value) is int and -2147483648 <= value <= 2147483647 else int(Int(value))


def long(value: int) -> Long:
    """A number of 64 bits."""
    return value if type(value) is Long else Long(value)


def floating(value: float) -> Float:
    """A number, rounded to 32 bits."""
    return value if type(value) is Float else Float(value)


def double(value: float) -> float:
    """A number."""
    return value if type(value) is float else float(Double(value))


def char(value: str) -> Char:
    """One UTF-16 unit."""
    return value if type(value) is Char else Char(value)


def text(value: str | None) -> str | None:
    """Text or None."""
    if type(value) is str or value is None:
        return value
    if isinstance(value, str):
        return str.__str__(value)
    raise TypeError(f"text or None is needed, not {type(value).__name__}")


def section(value: Buffer, offset: int, length: int | None) -> bytes:
    """A copy of a part of the bytes; IndexError if they are shorter."""
    if value is None:
        raise NullValueError("bytes are needed, not None")
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise TypeError(f"bytes are needed, not {type(value).__name__}")
    data = bytes(value)
    end = len(data) if length is None else offset + length
    if not 0 <= offset <= end <= len(data):
        raise IndexError(f"{length} bytes at offset {offset} exceed the {len(data)} bytes given")
    return data[offset:end]
