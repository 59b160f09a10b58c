"""How many bytes a message counts for in a window of bytes."""

from collections.abc import Iterable
from typing import Any

from jmsbridge.spi import Envelope

__all__ = ["weigh"]

_HEADERS = 128  # what the headers of a message take, about
_NUMBER = 8


def weigh(envelope: Envelope) -> int:
    """The bytes of body and properties, about as they travel."""
    return _HEADERS + _size(envelope.body) + _size(envelope.properties)


def _size(value: Any) -> int:
    if isinstance(value, str):
        return len(value) if value.isascii() else len(value.encode("utf-8", "surrogatepass"))
    if isinstance(value, bytes | bytearray):
        return len(value)
    if isinstance(value, dict):
        return _sum(value.keys()) + _sum(value.values())
    if isinstance(value, list | tuple):
        return _sum(value)
    return 0 if value is None else _NUMBER


def _sum(values: Iterable[Any]) -> int:
    return sum(map(_size, values))
