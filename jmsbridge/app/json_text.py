"""JSON by msgspec, for pydantic's models too, with a limit for size and for depth. Knows nothing of messages."""

import re
from array import array
from collections.abc import Callable
from dataclasses import is_dataclass
from itertools import accumulate
from math import isfinite
from typing import Any

import msgspec

__all__ = ["BadJson", "JsonText", "text_as", "without_values"]

_ESCAPES = re.compile(rb"\\.", re.DOTALL)
_STRINGS = re.compile(rb'"[^"]*"')
_BRACKETS = bytes.maketrans(b"{}", b"[]")
_OTHERS = bytes(set(range(256)) - set(b"[]{}"))
_STEPS = bytes.maketrans(b"[]", b"\x01\xff")  # 1 and -1
_PIECE = 65_536  # brackets that are counted at a time, so that other threads get their turn
_CHECKED = "a check of the type refuses it"  # its own text could quote a value
_REFUSED = re.compile(r"(Invalid (?:enum )?value) .*?( - at [^\']*)?$", re.DOTALL)  # the values of enums, Literal, tags


class BadJson(ValueError):
    """The text cannot be read as the type, or the object cannot be written; never quotes a value of the text."""


class _Shown(ValueError):
    """Its text has no value in it."""


class JsonText:
    """Writes and reads JSON. Thread-safe; keeps a reader for each type that its callers have asked for."""

    def __init__(self, max_size: int, max_depth: int) -> None:
        self._max_size = max_size
        self._max_depth = max_depth
        self._encoder = msgspec.json.Encoder(enc_hook=_write_other)
        self._readers: dict[Any, Callable[[bytes], Any]] = {}

    def prepare(self, kind: Any) -> None:
        """Make the reader of a type; TypeError if there can be none."""
        self._reader(kind)

    def _reader(self, kind: Any) -> Callable[[bytes], Any]:
        reader = self._readers.get(kind)
        if reader is None:
            info = msgspec.inspect.type_info(kind)
            if isinstance(info, msgspec.inspect.CustomType) and not hasattr(kind, "model_validate"):
                raise TypeError("it is neither a dataclass, a TypedDict, a struct of msgspec nor a model of pydantic")
            model: Callable[[bytes], Any] | None = getattr(kind, "model_validate_json", None)
            if _is_dataclass_of_pydantic(kind):
                model = kind.__pydantic_validator__.validate_json
            reader = model or msgspec.json.Decoder(kind, dec_hook=_read_other).decode
            self._readers[kind] = reader
        return reader

    def encode(self, value: Any) -> bytes:
        """The value as JSON in UTF-8."""
        try:
            text = _pydantic(value) or self._encode(value)
        except (TypeError, ValueError, RecursionError) as error:
            raise BadJson(f"{type(value).__qualname__} cannot be written as JSON: {error}") from error
        if len(text) > self._max_size:
            raise BadJson(f"the JSON has {len(text)} bytes; max_size is {self._max_size}")
        return text

    def _encode(self, value: Any) -> bytes:
        text = self._encoder.encode(value)
        if b"null" in text and _has_no_number(msgspec.to_builtins(value, enc_hook=_write_other)):
            raise ValueError("it has a float that is NaN or infinite, which would become null: use None, or a text")
        return text

    def decode(self, text: bytes, kind: Any) -> Any:
        """The value of this type."""
        if len(text) > self._max_size:
            raise BadJson(f"the JSON has {len(text)} bytes; max_size is {self._max_size}")
        if _is_deeper(text, self._max_depth):
            raise BadJson(f"the JSON is nested deeper than max_depth, {self._max_depth}")
        try:
            return self._reader(kind)(text)
        except (ValueError, TypeError, RecursionError) as error:
            raise BadJson(without_values(error)) from error
        except Exception as error:  # raised by a check that the type makes itself; its text could quote a value
            raise BadJson(f"a check of the type raised {type(error).__name__}") from error


def text_as(text: str, kind: Any) -> Any:
    """A text that is not JSON as a value of the type: a str, a member of an enum, a date; BadJson if it is none."""
    try:
        return msgspec.convert(text, kind)
    except (ValueError, TypeError) as error:
        raise BadJson(without_values(error)) from error


def _pydantic(value: Any) -> bytes | None:
    """The JSON of a model or dataclass of pydantic, under the aliases of its fields; None for other objects."""
    if _is_dataclass_of_pydantic(value.__class__):
        text: bytes = value.__pydantic_serializer__.to_json(value, by_alias=True)
        return text
    dump = getattr(value, "model_dump_json", None)
    return dump(by_alias=True).encode() if callable(dump) and not isinstance(value, type) else None


def _is_dataclass_of_pydantic(kind: Any) -> bool:
    """Whether it checks itself, which msgspec would leave out."""
    return hasattr(kind, "__pydantic_validator__") and is_dataclass(kind)


def _write_other(value: Any) -> Any:
    """What msgspec does not know: a pydantic model in something else, and typed values of maps and properties."""
    for plain in (int, float, str):
        if isinstance(value, plain):
            return plain(value)
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json", by_alias=True)
    raise TypeError(f"JSON has no {type(value).__qualname__}")


def _has_no_number(value: Any) -> bool:
    """Whether a float in it is NaN or infinite, which JSON does not have."""
    if isinstance(value, float):
        return not isfinite(value)
    if isinstance(value, dict):
        return any(map(_has_no_number, value.values()))
    return isinstance(value, list | tuple) and any(map(_has_no_number, value))


def _read_other(kind: Any, value: Any) -> Any:
    validate = getattr(kind, "model_validate", None)
    if not callable(validate):
        raise TypeError(f"JSON has no {getattr(kind, '__qualname__', kind)}")
    try:
        return validate(value)
    except ValueError as error:
        raise _Shown(without_values(error)) from error


def without_values(error: Exception) -> str:
    """The text of an error without the value that it refuses, which pydantic's and some of msgspec's would quote."""
    errors = getattr(error, "errors", None)
    if not callable(errors):
        if error.__cause__ is not None and not isinstance(error.__cause__, _Shown):
            return _CHECKED
        refused = _REFUSED.match(str(error))
        return str(error) if refused is None else f"{refused[1]}{refused[2] or ''}"
    wrong = errors(include_input=False, include_url=False, include_context=False)
    return "; ".join(f"{_place(each['loc']) or 'the object'}: {_said(each)}" for each in wrong[:5])


def _place(parts: tuple[int | str, ...]) -> str:
    """Where in the object, without the keys of a dict that are wrong themselves."""
    return ".".join("…" if parts[at + 1 : at + 2] == ("[key]",) else str(part) for at, part in enumerate(parts))


def _said(wrong: Any) -> str:
    """The text of an error of pydantic, unless it is one of the type's own."""
    return _CHECKED if wrong["type"] in ("value_error", "assertion_error") else wrong["msg"]


def _is_deeper(text: bytes, limit: int) -> bool:
    """Whether brackets are nested deeper than the limit; malformed text is left to the decoder, which refuses it.

    Its time grows with the size of the text only. Innermost pairs are removed while that halves what is left, which
    is fast for usual texts; the rest is counted.
    """
    if text.count(b"[") + text.count(b"{") <= limit:
        return False
    bare = _STRINGS.sub(b"", _ESCAPES.sub(b"", text)).translate(_BRACKETS, _OTHERS)
    while bare and limit > 0:
        inner = bare.replace(b"[]", b"")
        if 2 * len(inner) > len(bare):
            break
        bare, limit = inner, limit - 1
    steps, depth = bare.translate(_STEPS), 0
    for begin in range(0, len(steps), _PIECE):
        depths = list(accumulate(array("b", steps[begin : begin + _PIECE]), initial=depth))
        if max(depths) > limit:
            return True
        depth = depths[-1]
    return False
