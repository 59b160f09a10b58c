"""Envelopes as JSON, which keeps every text, lone surrogates included. Pure."""

import base64
import json
from collections.abc import Callable
from typing import Any

from jmsbridge.spi import Address, BodyKind, Envelope
from jmsbridge.transport.typed_values import (
    decode_map,
    decode_properties,
    decode_stream,
    encode_map,
    encode_properties,
    encode_stream,
)

__all__ = ["decode", "encode"]

_BYTES = (lambda data: base64.b64encode(data).decode(), base64.b64decode)
_BODIES: dict[BodyKind, tuple[Callable[[Any], str], Callable[[Any], Any]]] = {
    BodyKind.TEXT: (str, str),
    BodyKind.BYTES: _BYTES,
    BodyKind.OBJECT: _BYTES,
    BodyKind.MAP: (lambda fields: encode_map(fields).decode(), decode_map),
    BodyKind.STREAM: (lambda fields: encode_stream(fields).decode(), decode_stream),
}
_PLAIN = ("message_id", "timestamp", "persistent", "priority", "expiration", "jms_type", "duplicate_id")


def encode(envelope: Envelope) -> str:
    """Encode everything except the address, which is the place of the message."""
    reply, correlation, body = envelope.reply_to, envelope.correlation_id, envelope.body
    header = {name: getattr(envelope, name) for name in _PLAIN}
    header["kind"] = envelope.kind.name
    header["body"] = None if body is None else _BODIES[envelope.kind][0](body)
    header["properties"] = encode_properties(envelope.properties)
    header["reply_to"] = None if reply is None else [reply.name, reply.topic, reply.temporary]
    header["correlation"] = [correlation.hex(), True] if isinstance(correlation, bytes) else [correlation, False]
    return json.dumps(header)


def decode(address: Address, message: bytes) -> Envelope:
    """Decode the envelope of a message that was found at this address."""
    read = json.loads(message)
    kind, body, reply, (correlation, is_bytes) = (read[name] for name in ("kind", "body", "reply_to", "correlation"))
    return Envelope(
        address,
        BodyKind[kind],
        None if body is None else _BODIES[BodyKind[kind]][1](body),
        decode_properties(*read["properties"]),
        correlation_id=bytes.fromhex(correlation) if is_bytes else correlation,
        reply_to=None if reply is None else Address(*reply),
        **{name: read[name] for name in _PLAIN},
    )
