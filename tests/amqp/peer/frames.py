"""Raw frames, for what proton would never write."""

import struct
from typing import Any

import proton

__all__ = ["AMQP_0_9_1", "AMQP_1_0", "BEGIN", "DISPOSITION", "FLOW", "SASL", "TRANSFER", "described", "frame", "sasl"]

AMQP_1_0 = b"AMQP\x00\x01\x00\x00"
AMQP_0_9_1 = b"AMQP\x00\x00\x09\x01"
SASL = b"AMQP\x03\x01\x00\x00"

BEGIN, FLOW, TRANSFER, DISPOSITION = 0x11, 0x13, 0x14, 0x15


def described(code: int, *fields: Any) -> bytes:
    """A described list, such as a performative; None is null, a trailing None need not be given."""
    data = proton.Data()
    data.put_object(proton.Described(proton.ulong(code), list(fields)))
    return bytes(data.encode())


def frame(body: bytes, channel: int = 0, kind: int = 0) -> bytes:
    """A frame with its header."""
    return struct.pack(">IBBH", len(body) + 8, 2, kind, channel) + body


def sasl(code: int, *fields: Any) -> bytes:
    """A frame of the security layer."""
    return frame(described(code, *fields), kind=1)
