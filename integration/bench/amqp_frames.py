"""Frames of AMQP 1.0 as bytes, for peers and clients of the comparison that must cost next to nothing."""

import struct
from typing import Any

from proton import UNDESCRIBED, Array, Data, Described, symbol, ulong

__all__ = [
    "AMQP",
    "ATTACH",
    "BEGIN",
    "CLOSE",
    "DETACH",
    "DISPOSITION",
    "END",
    "FLOW",
    "MECHANISMS",
    "OPEN",
    "OUTCOME",
    "SASL",
    "SASL_INIT",
    "TRANSFER",
    "code_of",
    "fields_of",
    "frame",
    "split",
    "symbols",
]

AMQP = b"AMQP\x00\x01\x00\x00"
SASL = b"AMQP\x03\x01\x00\x00"
OPEN, BEGIN, ATTACH, FLOW, TRANSFER, DISPOSITION, DETACH, END, CLOSE = range(0x10, 0x19)
MECHANISMS, SASL_INIT, OUTCOME = 0x40, 0x41, 0x44


def split(data: bytes) -> tuple[list[bytes], bytes]:
    """The complete frames, and what is left."""
    frames: list[bytes] = []
    at = 0
    while len(data) - at >= 4:
        end = at + int.from_bytes(data[at : at + 4], "big")
        if end > len(data):
            break
        frames.append(data[at:end])
        at = end
    return frames, data[at:]


def code_of(one: bytes) -> int | None:
    """The code of its performative, behind a header of eight bytes, 0x00 and 0x53; None for an empty frame."""
    return one[10] if len(one) > 10 else None


def symbols(*names: str) -> Array:
    """An array of symbols."""
    return Array(UNDESCRIBED, Data.SYMBOL, *map(symbol, names))


def frame(kind: int, channel: int, code: int, fields: list[Any]) -> bytes:
    """A frame of AMQP (kind 0) or SASL (kind 1)."""
    data = Data()
    data.put_object(Described(ulong(code), fields))
    body: bytes = data.encode()
    return struct.pack(">IBBH", len(body) + 8, 2, kind, channel) + body


def fields_of(one: bytes) -> list[Any]:
    """The fields of a frame's performative."""
    data = Data()
    data.decode(one[8:])
    data.next()
    described: Any = data.get_object()
    fields: list[Any] = described.value
    return fields
