"""Conversion of text, including lone surrogates, which JPype refuses."""

from typing import Any

import jpype

__all__ = ["to_java", "to_python"]


def to_python(value: Any) -> str | None:
    """A Java string as text; None for null."""
    if value is None:
        return None
    try:
        return str(value)
    except UnicodeDecodeError:
        return bytes(memoryview(value.toCharArray())).decode("utf-16", "surrogatepass")


def to_java(value: str | None) -> Any:
    """Text as a Java string; null for None."""
    if value is None:
        return None
    try:
        return jpype.JString(value)
    except UnicodeEncodeError:
        units = memoryview(value.encode("utf-16-le", "surrogatepass")).cast("H")
        return jpype.JString(jpype.JArray(jpype.JChar)([chr(unit) for unit in units]))
