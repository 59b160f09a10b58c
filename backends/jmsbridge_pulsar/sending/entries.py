"""Entries as they are written to a broker: up to a hundred messages in one frame SEND. Pure.

A message is its metadata and its body, each message of an entry after the other, also where there is only one.
"""

import struct
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import google_crc32c

from jmsbridge_pulsar.connection.protocol import SEND, encode_field
from jmsbridge_pulsar.messages.conventions import CONNECTION, KIND, LONGEST_CACHED, TYPE_SUFFIX
from jmsbridge_pulsar.messages.encoding import Outgoing

__all__ = ["encode_entry", "encode_message"]

_SIZE: Final = struct.Struct(">I")
_SIZES: Final = struct.Struct(">II")
_SHORT: Final = 128  # a length below this is one byte
_BYTES: Final = [bytes((number,)) for number in range(_SHORT)]
_BEGINS: Final = [b"\x0a" + number for number in _BYTES]  # of a property, which is field 1, by its length
_VALUE: Final = b"\x12"  # field 2 of a property
_REPEATED: Final = frozenset({KIND, CONNECTION})  # they have the same few values in all messages
_NULL: Final = encode_field(9, 1)
_TYPE: Final = encode_field(1, SEND)  # how the command begins
_CHECKED: Final = b"\x0e\x01"  # a checksum of four bytes follows


def encode_message(message: Outgoing) -> bytes:
    """One message as a part of an entry."""
    parts = []
    for name, value in message.properties.items():
        is_repeated = name in _REPEATED or (name.endswith(TYPE_SUFFIX) and len(name) < _SHORT)
        parts.append(_property_once(name, value) if is_repeated else _property(name, value))
    if message.key is not None:
        parts.append(encode_field(2, message.key.encode()))
    body = b"" if message.body is None else message.body
    parts.append(_field(3, len(body)))
    if message.event_time:
        parts.append(_field(5, message.event_time))
    if message.body is None:
        parts.append(_NULL)
    metadata = b"".join(parts)
    return b"".join((_SIZE.pack(len(metadata)), metadata, body))


def _property(name: str, value: str) -> bytes:
    begin, data = _name(name) if len(name) <= LONGEST_CACHED else _name_anew(name), value.encode()
    size, whole = len(data), len(begin) + 1 + len(data)
    if whole < _SHORT:
        return _BEGINS[whole] + begin + _BYTES[size] + data
    return encode_field(1, begin[:-1] + encode_field(2, data))


def _name_anew(name: str) -> bytes:
    return encode_field(1, name.encode()) + _VALUE


_name = lru_cache(1024)(_name_anew)
_property_once = lru_cache(1024)(_property)
_field = lru_cache(1024)(encode_field)
"""The same names, lengths and times come often."""


def encode_entry(
    producer: int, name: bytes, sequence: int, now: int, deliver_at: int, key: str | None, messages: Sequence[bytes]
) -> tuple[bytes, bytes]:
    """The two parts of the frame; the broker delivers the entry at ``deliver_at``, 0 for at once.

    Times are milliseconds since the epoch; ``key`` is that of the first message.
    """
    count, place = len(messages), encode_field(2, sequence)
    inside = _field(1, producer) + place + _field(3, count)
    command = _TYPE + encode_field(SEND, inside)
    metadata = [_field(1, name), place, _field(3, now)]
    if key is not None:
        metadata.append(encode_field(6, key.encode()))
    metadata.append(_field(11, count))
    if deliver_at:
        metadata.append(encode_field(19, deliver_at))
    about = b"".join(metadata)
    content = b"".join((_SIZE.pack(len(about)), about, *messages))
    check = _CHECKED + _SIZE.pack(google_crc32c.value(content))
    return _SIZES.pack(len(command) + 10 + len(content), len(command)) + command + check, content
