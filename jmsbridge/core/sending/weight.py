"""The size of a message as counted in a window of bytes."""

from typing import Any

from jmsbridge.spi import Envelope

__all__ = ["weigh", "window_text"]

_HEADERS = 128  # the approximate size of the headers of a message
_NUMBER = 8


def weigh(envelope: Envelope) -> int:
    """The approximate size of a message in transit, in bytes."""
    return _HEADERS + _size(envelope.body) + _size(envelope.properties)


def window_text(window: int, window_bytes: int | None) -> str:
    """The size of a send window, with the options that set it, for error messages."""
    limit = "" if window_bytes is None else f" or {window_bytes} bytes (option confirmation_window_size)"
    return f"window of {window} messages (option send_window){limit}"


def _size(value: Any) -> int:
    if isinstance(value, str):
        return len(value) if value.isascii() else len(value.encode("utf-8", "surrogatepass"))
    if isinstance(value, bytes | bytearray):
        return len(value)
    if isinstance(value, dict):
        return sum(map(_size, value)) + sum(map(_size, value.values()))
    if isinstance(value, list | tuple):
        return sum(map(_size, value))
    return 0 if value is None else _NUMBER
