"""Lossless conversion of Java-typed values to JSON and back.

Types that JSON can distinguish are written plainly: text, booleans, null, a Java int as an integer, a double with a
fraction as a number. Others are an object whose only member names the type: ``{"short": 5}``, ``{"bytes": "AAEC"}``.
"""

import base64
import math
from collections.abc import Callable
from typing import Any

from jmsbridge.codecs import javaserial, javatext
from jmsbridge.values import Byte, Char, Double, Float, Int, Long, Short

__all__ = ["from_base64", "from_json", "to_base64", "to_json"]

_EXACT_IN_JSON = 1 << 53
_INT_RANGE = range(-(1 << 31), 1 << 31)
_NON_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def to_json(value: Any) -> Any:
    """A property, field or object value in JSON's types; ValueError if it has no JSON form."""
    writer = _WRITERS.get(type(value))
    if writer is None:
        raise ValueError(f"a {type(value).__name__} has no JSON form")
    return writer(value)


def from_json(value: Any) -> Any:
    """The typed value that ``to_json`` wrote; ValueError for anything else."""
    if isinstance(value, list):
        return [from_json(item) for item in value]
    if isinstance(value, dict):
        return _tagged(value)
    if isinstance(value, int) and not isinstance(value, bool) and value not in _INT_RANGE:
        return Long(value)
    return value


def to_base64(data: bytes) -> str:
    """Bytes as JSON text."""
    return base64.b64encode(data).decode("ascii")


def from_base64(text: Any) -> bytes:
    """Bytes from JSON text; ValueError if it is not base64."""
    if not isinstance(text, str):
        raise ValueError("bytes must be base64 text")
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as error:
        raise ValueError(f"not valid base64: {error}") from None


def _tagged(value: dict[str, Any]) -> Any:
    if len(value) != 1:
        raise ValueError('a typed value must be an object with one member, such as {"short": 5}')
    tag, inner = next(iter(value.items()))
    reader = _READERS.get(tag)
    if reader is None:
        raise ValueError(f"unknown type {tag!r}; known: {', '.join(_READERS)}")
    return reader(inner)


def _long_to_json(value: int) -> dict[str, Any]:
    # Other JSON readers round above 2^53, so the digits are written as text.
    return {"long": int(value) if abs(value) <= _EXACT_IN_JSON else str(int(value))}


def _double_to_json(value: float) -> Any:
    if math.isfinite(value) and not value.is_integer():
        return float(value)
    return {"double": float(value) if math.isfinite(value) else javatext.double_text(float(value))}


def _float_to_json(value: float) -> dict[str, Any]:
    text = javatext.float_text(value)
    return {"float": text if text in _NON_FINITE else float(text)}


def _plain_int_to_json(value: int) -> Any:
    return int(value) if value in _INT_RANGE else _long_to_json(value)


def _integer(kind: Callable[[int], Any]) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if isinstance(value, str) and value.lstrip("-").isascii() and value.lstrip("-").isdigit():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError("an integer type must hold an integer")
        return kind(value)

    return read


def _floating(kind: Callable[[float], Any]) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if isinstance(value, str) and value in _NON_FINITE:
            value = _NON_FINITE[value]
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError('float and double must hold a number, "NaN", "Infinity" or "-Infinity"')
        return kind(float(value))

    return read


def _read_map(value: Any) -> dict[Any, Any]:
    if not isinstance(value, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in value):
        raise ValueError("a map must be a list of [key, value] pairs")
    return {from_json(key): from_json(item) for key, item in value}


def _read_char(value: Any) -> Char:
    if not isinstance(value, str):
        raise ValueError("a char must hold text of one character")
    return Char(value)


_WRITERS: dict[type, Callable[[Any], Any]] = {
    type(None): lambda value: None,
    bool: lambda value: value,
    str: lambda value: value,
    int: _plain_int_to_json,
    Int: int,
    Byte: lambda value: {"byte": int(value)},
    Short: lambda value: {"short": int(value)},
    Long: _long_to_json,
    float: _double_to_json,
    Double: _double_to_json,
    Float: _float_to_json,
    Char: lambda value: {"char": str.__str__(value)},
    bytes: lambda value: {"bytes": to_base64(value)},
    list: lambda value: [to_json(item) for item in value],
    dict: lambda value: {"map": [[to_json(key), to_json(item)] for key, item in value.items()]},
    javaserial.JavaObject: lambda value: {"java": to_base64(value.data)},
}

_READERS: dict[str, Callable[[Any], Any]] = {
    "byte": _integer(Byte),
    "short": _integer(Short),
    "int": _integer(Int),
    "long": _integer(Long),
    "float": _floating(Float),
    "double": _floating(Double),
    "char": _read_char,
    "bytes": from_base64,
    "map": _read_map,
    "java": lambda value: javaserial.loads(from_base64(value)),
}
