"""Values of properties as text beside the name of their Java type. Pure."""

import re
from collections.abc import Callable
from typing import Any, Final

from jmsbridge.codecs.javatext import double_text, float_text, parse_boolean, parse_double, parse_float, parse_integer
from jmsbridge.spi import Byte, Float, Long, Short

__all__ = ["READ", "WRITE"]

WRITE: Final[dict[type, tuple[str, Callable[[Any], str]]]] = {
    bool: ("boolean", lambda value: "true" if value else "false"),
    int: ("int", int.__repr__),
    Long: ("long", int.__repr__),
    float: ("double", double_text),
    Float: ("float", float_text),
    Short: ("short", int.__repr__),
    Byte: ("byte", int.__repr__),
}
"""By Python type: the Java type's name, and what makes the text. Text itself has no type, and null has no text."""

_plain_double: Final = re.compile(r"-?[0-9]{1,15}\.[0-9]{1,18}").fullmatch


def _int(text: str) -> int:
    if len(text) <= 9 and text.isdecimal() and text.isascii():  # most of them, and faster
        return int(text)
    return parse_integer(text, 32)


def _long(text: str) -> int:
    if len(text) <= 18 and text.isdecimal() and text.isascii():
        return Long(int(text))
    return Long(parse_integer(text, 64))


def _double(text: str) -> float:
    return float(text) if _plain_double(text) else parse_double(text)


READ: Final[dict[str, Callable[[str], Any]]] = {
    "boolean": parse_boolean,
    "int": _int,
    "long": _long,
    "double": _double,
    "float": lambda text: Float(parse_float(text)),
    "short": lambda text: Short(parse_integer(text, 16)),
    "byte": lambda text: Byte(parse_integer(text, 8)),
}
"""By Java type: what reads the text, as Java reads it; ValueError."""
