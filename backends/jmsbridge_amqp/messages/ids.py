"""Message ids and correlation ids: AMQP allows four types, JMS only text. The texts are those of Qpid JMS."""

from typing import Any, Final
from uuid import UUID

from jmsbridge_amqp.protocol.errors import Unencodable
from jmsbridge_amqp.protocol.writing import binary, name_string

__all__ = ["Ulong", "correlation_id", "encode", "message_id"]

_NO_PREFIX: Final = "ID:AMQP_NO_PREFIX:"
_STRING: Final = "ID:AMQP_STRING:"
_UUID: Final = "ID:AMQP_UUID:"
_ULONG: Final = "ID:AMQP_ULONG:"
_BINARY: Final = "ID:AMQP_BINARY:"
_MARKERS: Final = (_NO_PREFIX, _STRING, _UUID, _ULONG, _BINARY)


class Ulong(int):
    """An id of type ulong."""


def message_id(value: Any) -> str:
    """JMSMessageID for an id of type string, UUID, Ulong or bytes."""
    if isinstance(value, str):
        if not value.startswith("ID:"):
            return _NO_PREFIX + value
        return _STRING + value if value.startswith(_MARKERS) else value
    if isinstance(value, bytes):
        return _BINARY + value.hex().upper()
    return _other(value)


def correlation_id(value: Any) -> str | bytes:
    """JMSCorrelationID for an id of type string, UUID, Ulong or bytes; bytes stay bytes."""
    if isinstance(value, str):
        return _STRING + value if value.startswith(_MARKERS) else value
    if isinstance(value, bytes):
        return value
    return _other(value)


def _other(value: Any) -> str:
    return f"{_ULONG}{int(value)}" if isinstance(value, Ulong) else f"{_UUID}{value}"


def encode(value: str | bytes) -> bytes:
    """The AMQP value of an id; Unencodable if the text after a marker is not of the marker's type."""
    if isinstance(value, bytes):
        return binary(value)
    return _encode_text(value) if value.startswith("ID:AMQP_") else name_string(value)


def _encode_text(value: str) -> bytes:
    """``encode`` for a text that may have a marker."""
    marker = next((each for each in _MARKERS if value.startswith(each)), None)
    if marker is None:
        return name_string(value)
    rest = value[len(marker) :]
    if marker in (_NO_PREFIX, _STRING):
        return name_string(rest)
    try:
        if marker == _BINARY:
            return binary(_from_hex(rest))
        if marker == _UUID:
            return b"\x98" + _uuid(rest).bytes
        return _ulong(rest)
    except ValueError as error:
        raise Unencodable(f"{value[:80]!r} is not an id of AMQP 1.0: {error}") from error


def _from_hex(digits: str) -> bytes:
    if not digits.isalnum():  # bytes.fromhex allows spaces
        if not digits:
            return b""
        raise ValueError("hexadecimal digits are needed")
    return bytes.fromhex(digits)


def _uuid(digits: str) -> UUID:
    found = UUID(digits)
    if str(found) != digits.lower():
        raise ValueError("a UUID has 32 digits in five groups")
    return found


def _ulong(digits: str) -> bytes:
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 20) or (number := int(digits)) >= 1 << 64:
        raise ValueError("a number of at most 64 bits is needed")
    if number == 0:
        return b"\x44"
    return b"\x53" + bytes((number,)) if number < 256 else b"\x80" + number.to_bytes(8, "big")
