"""Encodes envelopes in either dialect; import it from ``wire``. Pure."""

import struct
from itertools import count
from typing import Any, Final, Literal
from uuid import uuid4

import msgspec

from jmsbridge.spi import BodyKind, Envelope, Long
from jmsbridge_rabbitmq.messages import bodies, java_encoding
from jmsbridge_rabbitmq.messages.conventions import HEADS, ID_KEY, KIND_NAMES, TIME_KEY, UNNAMED
from jmsbridge_rabbitmq.messages.headers import ABSENT_TEXT, CORRELATION, PLAIN, REPLY_KIND, STAMP, encode_properties
from jmsbridge_rabbitmq.messages.java_decoding import is_java
from jmsbridge_rabbitmq.protocol.fields import Unencodable, encode_pairs, field, text
from jmsbridge_rabbitmq.protocol.names import DIRECT_REPLY
from jmsbridge_rabbitmq.protocol.properties import shortstr

__all__ = ["Dialect", "Encoder", "Outbound"]

Dialect = Literal["amqp", "jms"]

_MAX_EXPIRATION: Final = (1 << 32) - 1
_MODES: Final = {(mode, priority): bytes((mode, priority)) for mode in (1, 2) for priority in range(10)}
_NO_TEXT: Final = field(ABSENT_TEXT, True)
_IS_PLAIN: Final = field(PLAIN, True)
_OPAQUE: Final = frozenset({BodyKind.BYTES, BodyKind.OBJECT})
_pack_flags: Final = struct.Struct(">H").pack
_pack_size: Final = struct.Struct(">I").pack
_pack_time: Final = struct.Struct(">Q").pack


class Outbound(msgspec.Struct, frozen=True, gc=False):
    """Properties and body of a publish, and the AMQP message-id by which a basic.return is matched."""

    properties: bytes
    body: bytes
    message_id: str


class Encoder:
    """Encodes envelopes in one dialect; one per link, for any thread.

    ``stamp`` becomes a header of messages to topics. With ``text_marker``, texts without a JMSType get
    ``JMSType=TextMessage`` in dialect amqp, by which the Java client recognises texts.
    """

    def __init__(self, dialect: Dialect = "amqp", stamp: str | None = None, text_marker: bool = False) -> None:
        self._java = dialect == "jms"
        self._stamp = field(STAMP, stamp) if stamp else b""
        self._marker = field("JMSType", "TextMessage") if text_marker and dialect == "amqp" else b""
        self._prefix = f"{UNNAMED}{uuid4().hex}:"
        self._numbers = count(1)

    def encode(self, envelope: Envelope, now: int) -> Outbound:
        """Encode a message; Unencodable if AMQP 0-9-1 cannot represent it. ``now`` (ms) is needed for ``expiration``.

        A delayed message has no ``expiration``, which would count while the message waits.
        """
        modes = 2 if envelope.persistent else 1, envelope.priority
        flags = 0xB880
        headers = HEADS[modes]
        last = b""
        timestamp = envelope.timestamp
        if timestamp:
            headers += TIME_KEY + _pack_time(timestamp)
            last = _pack_time(timestamp // 1000)
            flags |= 0x40
        message_id = envelope.message_id
        if message_id is None:
            message_id = f"{self._prefix}{next(self._numbers)}"
            raw_id = shortstr(message_id, "message id")
        else:
            raw_id = shortstr(message_id, "message id")
            headers += ID_KEY + raw_id
        if envelope.properties:
            headers += encode_properties(envelope.properties, java=self._java)
        body, content_type, notes = self._body(envelope, message_id)
        headers += notes
        middle = b""
        if (
            envelope.correlation_id is not None
            or envelope.jms_type is not None
            or envelope.reply_to is not None
            or envelope.expiration
            or envelope.delivery_time
        ):
            more_flags, more_headers, middle, more_last = _rare(envelope, now)
            flags |= more_flags
            headers += more_headers
            last += more_last
        size = _pack_size(len(headers))
        parts = (_pack_flags(flags), content_type, size, headers, _MODES[modes], middle, raw_id, last)
        return Outbound(b"".join(parts), body, message_id)

    def _body(self, envelope: Envelope, message_id: str) -> tuple[bytes, bytes, bytes]:
        """The body, its encoded content type, and the headers that belong to it."""
        kind, body = envelope.kind, envelope.body
        notes = self._stamp if self._stamp and envelope.address.topic else b""
        if self._java:
            return java_encoding.encode(envelope, message_id), bodies.CONTENT_TYPES[BodyKind.BYTES], notes
        if kind is BodyKind.TEXT:
            if body is None:
                notes += _NO_TEXT
            if envelope.jms_type is None:
                notes += self._marker
        elif kind in _OPAQUE and body and is_java(body):
            notes += _IS_PLAIN
        return bodies.encode(kind, body), bodies.CONTENT_TYPES[kind], notes


def _rare(envelope: Envelope, now: int) -> tuple[int, bytes, bytes, bytes]:
    """What few messages have: flags, headers, the properties before the message id, and those after the timestamp."""
    flags = 0
    table: dict[str, Any] = {}
    middle = last = b""
    correlation = envelope.correlation_id
    if correlation is not None:
        if isinstance(correlation, bytes):
            raw, shown = correlation, text(correlation)
            table[CORRELATION] = correlation.hex()
        else:
            raw, shown = correlation.encode("utf-8", "surrogatepass"), correlation
        table["JMSCorrelationID"] = shown
        if len(raw) <= 255:
            flags |= 0x0400
            middle += shortstr(raw, "correlation id")
    reply_to = envelope.reply_to
    if reply_to is not None:
        if reply_to.name == DIRECT_REPLY and not reply_to.topic:
            raise Unencodable(f"{DIRECT_REPLY} as reply-to needs a consumer on the same channel; use a temporary queue")
        flags |= 0x0200
        middle += shortstr(reply_to.name, "name of the reply-to destination")
        if reply_to.topic or reply_to.temporary:
            table[REPLY_KIND] = KIND_NAMES[reply_to.topic, reply_to.temporary]
    if envelope.delivery_time:
        table["JMSDeliveryTime"] = Long(envelope.delivery_time)
    if envelope.expiration:
        table["JMSExpiration"] = Long(envelope.expiration)
        if envelope.delivery_time <= now:
            flags |= 0x0100
            middle += shortstr(str(min(max(envelope.expiration - now, 0), _MAX_EXPIRATION)), "expiration")
    jms_type = envelope.jms_type
    if jms_type is not None:
        table["JMSType"] = jms_type
        raw = jms_type.encode("utf-8", "surrogatepass")
        if len(raw) <= 255:
            flags |= 0x0020
            last = shortstr(raw, "type")
    return flags, encode_pairs(table), middle, last
