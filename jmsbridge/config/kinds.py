"""The types of options, and conversion of text to them."""

import math
import re
from datetime import timedelta
from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec.inspect import FloatType, LiteralType, Metadata, NoneType, StrType, Type, UnionType

__all__ = [
    "LONGEST",
    "Count",
    "CountOrNone",
    "Factor",
    "Limit",
    "LongestPause",
    "Positive",
    "PositiveOrNone",
    "Seconds",
    "Timeout",
    "convert_option",
    "to_seconds",
]

LONGEST = 2_147_483.647
"""Seconds, 24 days: the longest timeout that all platforms, and a Java int in milliseconds, can hold."""

_INT = 2**31 - 1
_UNLIMITED = "unlimited"  # annotation: the value for -1 and for this word; types without it refuse both

Seconds: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=LONGEST)]
Timeout: TypeAlias = Annotated[float, msgspec.Meta(gt=0, le=LONGEST)]
LongestPause: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=LONGEST, extra={_UNLIMITED: LONGEST})]
Factor: TypeAlias = Annotated[float, msgspec.Meta(ge=1, le=1000, extra={"duration": False})]
Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=_INT)]
Positive: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=_INT)]
CountOrNone: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=_INT, extra={_UNLIMITED: None})] | None
PositiveOrNone: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=_INT, extra={_UNLIMITED: None})] | None
Limit: TypeAlias = Annotated[int, msgspec.Meta(ge=-1, le=_INT, extra={_UNLIMITED: -1})]

_DURATION = re.compile(r"([0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?)\s*(ms|s|m|h|d)?", re.ASCII)
_WORDS = {"int": "a whole number", "bool": "true or false", "str": "text", "null": "none", "object": "a table"}
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, None: 1.0}


def to_seconds(value: object) -> float:
    """A duration as seconds, from a number, a ``timedelta`` or text such as ``"250ms"``; ValueError otherwise."""
    if isinstance(value, timedelta):
        seconds = value.total_seconds()
    elif isinstance(value, int | float) and not isinstance(value, bool):
        seconds = float(value)
    else:
        match = _DURATION.fullmatch(value.strip()) if isinstance(value, str) else None
        if match is None:
            raise ValueError("expected a duration: seconds, or text such as '250ms', '2s', '1m'")
        seconds = float(match[1]) * _UNITS[match[2]]
    if not 0 <= seconds < math.inf:
        raise ValueError("expected a finite duration of 0 or more seconds")
    return seconds


def convert_option(struct: type[msgspec.Struct], name: str, value: object) -> Any:
    """Convert a value for the field ``name`` of ``struct``; ValueError says what was expected.

    Text is converted (``"true"``, ``"250"``, ``"none"``), everything else must already have the right type. A field of
    type float is a duration. -1 and ``"unlimited"`` mean "without limit" if the field allows that.
    """
    field = next(field for field in msgspec.structs.fields(struct) if field.name == name)
    kinds, extra = _alternatives(msgspec.inspect.type_info(field.type))
    if isinstance(value, str) and not any(isinstance(kind, StrType) for kind in kinds):
        value = value.strip()
        if value.lower() in {"none", "null"} and any(isinstance(kind, NoneType) for kind in kinds):
            return None
    if _UNLIMITED in extra and not isinstance(value, bool) and str(value).lower() in {"-1", _UNLIMITED}:
        return extra[_UNLIMITED]
    if any(isinstance(kind, FloatType) for kind in kinds) and extra.get("duration", True) and value is not None:
        value = to_seconds(value)
    try:
        return msgspec.convert(value, field.type, strict=not isinstance(value, str))
    except msgspec.ValidationError as error:
        expected = _in_words(str(error), kinds, "seconds" if extra.get("duration", True) else "a number")
    raise ValueError(expected + (", or -1 for no limit" if _UNLIMITED in extra else ""))


def _alternatives(kind: Type) -> tuple[list[Type], dict[str, Any]]:
    """The types of a field, and the extra data of its annotation."""
    extra: dict[str, Any] = {}
    kinds = []
    for each in kind.types if isinstance(kind, UnionType) else (kind,):
        if isinstance(each, Metadata):
            extra |= each.extra or {}
            each = each.type
        kinds.append(each)
    return kinds, extra


def _in_words(text: str, kinds: list[Type], number: str) -> str:
    """A message of msgspec in the words of a user, without the value, which may be a secret."""
    if "Invalid enum value" in text:
        values = [str(value) for kind in kinds if isinstance(kind, LiteralType) for value in kind.values]
        return f"expected {' or '.join(values)}" if values else "not one of the allowed values"
    _, types, limit = text.partition(", got ")[0].split("`")
    words = {**_WORDS, "float": number}
    expected = " or ".join(words.get(kind, kind) for kind in types.split(" | "))
    return f"expected {expected}{limit.replace(f'<= {LONGEST}', f'<= {LONGEST} (24 days)')}"
