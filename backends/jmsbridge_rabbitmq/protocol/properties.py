"""Encoding and decoding of the property list in AMQP 0-9-1's content header."""

import struct
from typing import Final

import msgspec

from jmsbridge_rabbitmq.protocol.fields import Malformed, Unencodable, text

__all__ = ["Properties", "decode", "encode", "shortstr"]

_read_flags: Final = struct.Struct(">H").unpack_from
_read_size: Final = struct.Struct(">I").unpack_from
_read_time: Final = struct.Struct(">Q").unpack_from
_content_types: Final = {
    name.encode(): name
    for name in ("text/plain;charset=utf-8", "text/plain", "application/octet-stream", "application/json")
}


class Properties(msgspec.Struct):
    """The fourteen basic properties; ``headers`` is the raw field table with its length, None if absent."""

    content_type: str | None = None
    content_encoding: str | None = None
    headers: bytes | None = None
    delivery_mode: int | None = None
    priority: int | None = None
    correlation_id: bytes | None = None  # bytes, because invalid UTF-8 must survive
    reply_to: str | None = None
    expiration: str | None = None
    message_id: str | None = None
    timestamp: int | None = None
    type: str | None = None
    user_id: str | None = None
    app_id: str | None = None
    cluster_id: str | None = None


def decode(data: bytes) -> Properties:
    """The properties in ``Content.properties``; Malformed."""
    try:
        found, end = _decode(data)
    except (IndexError, struct.error) as error:
        raise Malformed("a property list is cut off") from error
    if end != len(data):
        raise Malformed(f"a property list of {len(data)} bytes ends at byte {end}")
    return found


def _decode(data: bytes) -> tuple[Properties, int]:
    flags = _read_flags(data)[0]
    if flags & 3:
        raise Malformed("a property list has flags that AMQP 0-9-1 does not define")
    found = Properties()
    offset = 2
    if flags & 0x8000:
        offset = (start := offset + 1) + data[offset]
        found.content_type = _content_types.get(data[start:offset]) or text(data[start:offset])
    if flags & 0x4000:
        offset = (start := offset + 1) + data[offset]
        found.content_encoding = text(data[start:offset])
    if flags & 0x2000:
        start = offset
        offset += 4 + _read_size(data, offset)[0]
        found.headers = data[start:offset]
    if flags & 0x1000:
        found.delivery_mode = data[offset]
        offset += 1
    if flags & 0x0800:
        found.priority = data[offset]
        offset += 1
    if flags & 0x0400:
        offset = (start := offset + 1) + data[offset]
        found.correlation_id = data[start:offset]
    if flags & 0x0300:
        offset = _decode_texts(data, offset, flags, found, _MIDDLE)
    if flags & 0x0080:
        offset = (start := offset + 1) + data[offset]
        found.message_id = text(data[start:offset])
    if flags & 0x0040:
        found.timestamp = _read_time(data, offset)[0]
        offset += 8
    if flags & 0x003C:
        offset = _decode_texts(data, offset, flags, found, _LAST)
    return found, offset


_Texts = tuple[tuple[int, str], ...]
_MIDDLE: Final[_Texts] = ((0x0200, "reply_to"), (0x0100, "expiration"))
_LAST: Final[_Texts] = ((0x20, "type"), (0x10, "user_id"), (0x08, "app_id"), (0x04, "cluster_id"))


def _decode_texts(data: bytes, offset: int, flags: int, found: Properties, which: _Texts) -> int:
    """Decode properties that few messages have."""
    for bit, name in which:
        if flags & bit:
            offset = (start := offset + 1) + data[offset]
            setattr(found, name, text(data[start:offset]))
    return offset


def shortstr(value: str | bytes, name: str) -> bytes:
    """A text after its one-byte length; above 255 bytes Unencodable, which names the property."""
    data = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
    if len(data) > 255:
        raise Unencodable(f"the {name} takes {len(data)} bytes, but AMQP 0-9-1 has room for 255")
    return bytes((len(data),)) + data


def encode(properties: Properties) -> bytes:
    """The raw property list: two bytes of flags, then the values; Unencodable."""
    flags = 0
    parts: list[bytes] = []
    for position, name in enumerate(Properties.__struct_fields__):
        value = getattr(properties, name)
        if value is None:
            continue
        flags |= 0x8000 >> position
        if name == "headers":
            parts.append(value)
        elif name == "timestamp":
            parts.append(value.to_bytes(8, "big"))
        elif isinstance(value, int):
            parts.append(bytes((value,)))
        else:
            parts.append(shortstr(value, name.replace("_", " ")))
    return flags.to_bytes(2, "big") + b"".join(parts)
