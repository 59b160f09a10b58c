"""Java-typed values in protocols without types: map and stream bodies as JSON, properties and headers as text. No I/O.

A body is JSON, which every language can parse: ``{"map": {"qty": 5, "blob": "AAE="}, "types": {"blob": "bytes"}}``.
``types`` has the Java type of each value whose JSON form does not show it; numbers without an entry are a Java int (a
long if an int is too small) or a double. The types of properties other than text are in a separate JSON text.
"""

import base64
import binascii
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from operator import call
from typing import Any, Final

import msgspec

from jmsbridge.codecs.javatext import double_text, float_text
from jmsbridge.values import Byte, Char, Float, Long, Short

__all__ = [
    "decode_map",
    "decode_properties",
    "decode_stream",
    "encode_map",
    "encode_properties",
    "encode_stream",
    "header_number",
    "property_forms",
    "property_readers",
]

_INT_MIN, _INT_MAX = -(1 << 31), (1 << 31) - 1
_LONG_MAX: Final = (1 << 63) - 1
_KNOWN: Final = 128  # kinds of messages whose types are cached, if they are few and short
_FEW: Final = 30
_SHORT: Final = 2048
_encode_json: Final = msgspec.json.Encoder().encode
_decode_json: Final = msgspec.json.Decoder().decode
_UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError, binascii.Error)

# -- bodies


def encode_map(body: Mapping[str, Any]) -> bytes:
    """The body of a map message."""
    return _encode("map", body.items(), dict)


def encode_stream(body: Sequence[Any]) -> bytes:
    """The body of a stream message."""
    return _encode("stream", enumerate(body), lambda fields: [value for _, value in fields])


def _encode(name: str, fields: Iterable[tuple[Any, Any]], gather: Callable[[Iterable[Any]], Any]) -> bytes:
    types: dict[str, str] = {}
    shown = []
    for key, value in fields:
        form = _FORMS.get(type(value))
        if form is not None and (type(value) is not float or not math.isfinite(value)):
            types[str(key)] = form[0]
            value = form[1](value)
        shown.append((key, value))
    whole = {name: gather(shown), "types": types} if types else {name: gather(shown)}
    try:
        return _encode_json(whole)
    except UnicodeEncodeError:  # lone surrogates, which JSON has escapes for
        return json.dumps(whole).encode()


def decode_map(data: bytes) -> dict[str, Any]:
    """The map that ``encode_map`` wrote; ValueError for anything else."""
    try:
        fields, types = _read(data, "map")
        return {name: _field(value, types.get(name)) for name, value in dict(fields).items()}
    except _UNREADABLE as error:
        raise ValueError(f"the fields of a map message cannot be read: {error}") from error


def decode_stream(data: bytes) -> list[Any]:
    """The list that ``encode_stream`` wrote; ValueError for anything else."""
    try:
        fields, types = _read(data, "stream")
        return [_field(value, types.get(str(at))) for at, value in enumerate(list(fields))]
    except _UNREADABLE as error:
        raise ValueError(f"the fields of a stream message cannot be read: {error}") from error


def _read(data: bytes, name: str) -> tuple[Any, Any]:
    try:
        whole = _decode_json(data)
    except msgspec.DecodeError:
        whole = json.loads(data)  # lone surrogates
    return whole[name], whole.get("types", {})


def _field(value: Any, named: str | None) -> Any:
    if named is not None:
        return _READ[named](value)
    kind = type(value)
    if kind is int:
        if _INT_MIN <= value <= _INT_MAX:
            return value
        return Long(value)
    if kind is str or kind is float or kind is bool or value is None:
        return value
    raise ValueError(f"a field holds a JSON {kind.__name__}")


def _float_text(value: float) -> float | str:
    """Text for NaN and the infinities, which JSON does not have."""
    return float(value) if math.isfinite(value) else repr(float(value))


_FORMS: Final[dict[type, tuple[str, Callable[[Any], Any]]]] = {
    Byte: ("byte", int),
    Short: ("short", int),
    Long: ("long", int),
    Float: ("float", _float_text),
    float: ("double", _float_text),  # only where it is not finite
    Char: ("char", str.__str__),
    bytes: ("bytes", lambda value: base64.b64encode(value).decode()),
}
_READ: Final[dict[str, Callable[[Any], Any]]] = {
    "byte": Byte,
    "short": Short,
    "long": Long,
    "float": lambda value: Float(float(value)),
    "double": float,
    "char": Char,
    "bytes": lambda value: base64.b64decode(value, validate=True),
}

# -- properties

_TO_TEXT: Final[dict[type, tuple[str, Callable[[Any], str]]]] = {
    bool: ("boolean", {True: "true", False: "false"}.__getitem__),
    Byte: ("byte", int.__repr__),
    Short: ("short", int.__repr__),
    int: ("int", int.__repr__),
    Long: ("long", int.__repr__),
    Float: ("float", float_text),
    float: ("double", double_text),
    type(None): ("null", lambda _: ""),
}
_AS_IT_IS: Final = ("", str)
_FROM_TEXT: Final[dict[str, Callable[[str], Any]]] = {
    "boolean": lambda text: text == "true",
    "byte": lambda text: Byte(int(text)),
    "short": lambda text: Short(int(text)),
    "int": int,
    "long": lambda text: Long(int(text)),
    "float": lambda text: Float(float(text)),
    "double": float,
    "null": lambda _: None,
}


def encode_properties(properties: Mapping[str, Any]) -> tuple[dict[str, str], str]:
    """Every property as text, and the types of those other than text as JSON; empty if all are text."""
    forms, types = property_forms(tuple(properties), tuple(map(type, properties.values())))
    return dict(zip(properties, map(call, forms, properties.values()), strict=True)), types


def property_forms(names: tuple[str, ...], kinds: tuple[type, ...]) -> tuple[tuple[Callable[[Any], str], ...], str]:
    """For properties of these names and types what makes the text of each, and their types as JSON."""
    known = [_TO_TEXT.get(kind, _AS_IT_IS) for kind in kinds]
    types = tuple([(name, form) for name, (form, _) in zip(names, known, strict=True) if form])
    forms = tuple([make for _, make in known])
    return forms, "" if not types else _types_text(types) if len(types) <= _FEW else json.dumps(dict(types))


@lru_cache(_KNOWN)
def _types_text(types: tuple[tuple[str, str], ...]) -> str:
    return json.dumps(dict(types))


def property_readers(types: str) -> Mapping[str, Callable[[str], Any]]:
    """How to read each of the properties that are not text; ValueError if ``types`` cannot be read."""
    try:
        return _noted(types) if len(types) <= _SHORT else _read_types(types)
    except _UNREADABLE as error:
        raise ValueError(f"the types of properties cannot be read: {error}") from error


def _read_types(types: str) -> Mapping[str, Callable[[str], Any]]:
    noted = dict(json.loads(types)) if types else {}
    return {name: _FROM_TEXT[form] for name, form in noted.items() if form in _FROM_TEXT}


_noted: Final = lru_cache(_KNOWN)(_read_types)


def decode_properties(texts: Mapping[str, str], types: str) -> dict[str, Any]:
    """The properties that ``encode_properties`` wrote; properties without an entry in ``types`` are text.

    A value that does not fit its type in ``types`` is text, too: the sender may have copied ``types`` from another
    message.
    """
    readers = property_readers(types)
    found: dict[str, Any] = {}
    for name, text in texts.items():
        read = readers.get(name)
        try:
            found[name] = text if read is None else read(text)
        except (ValueError, OverflowError):
            found[name] = text
    return found


# -- headers


def header_number(text: str | None, default: int = 0) -> int:
    """The number that a header is, at most the largest long; the default for a text that is none, or without one."""
    if text is None or not (text.isascii() and text.isdigit() and len(text) <= 19):
        return default
    return min(int(text), _LONG_MAX)
