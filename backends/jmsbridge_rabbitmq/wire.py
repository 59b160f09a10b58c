"""Envelopes as RabbitMQ messages and back, in two dialects; pure, no I/O.

``amqp`` is plain AMQP 0-9-1 (text as text, typed headers); ``jms`` is what RabbitMQ's Java client for JMS writes in its
own mode. A message tells which one it is, so ``decode`` is not asked.
"""

import struct
from itertools import count
from typing import Any, Final, Literal
from uuid import uuid4

import msgspec

from jmsbridge.spi import Address, BodyKind, Envelope, Long
from jmsbridge_rabbitmq import bodies, javabody, javaread
from jmsbridge_rabbitmq.fields import Malformed, decode_table, encode_pairs, field, longstr, text
from jmsbridge_rabbitmq.headers import (
    ABSENT_TEXT,
    CORRELATION,
    PLAIN,
    REPLY_KIND,
    STAMP,
    encode_properties,
    read_properties,
)
from jmsbridge_rabbitmq.losses import LOSSES
from jmsbridge_rabbitmq.properties import Properties, shortstr
from jmsbridge_rabbitmq.properties import decode as decode_list

__all__ = ["FAULT", "LOSSES", "Dialect", "Encoder", "Inbound", "Outbound", "decode"]

Dialect = Literal["amqp", "jms"]

FAULT: Final = "JMS_jmsbridge_fault"
"""The property that says why a message could not be read."""

_UNNAMED: Final = "jb-none:"
_MAX_EXPIRATION: Final = (1 << 32) - 1
_LATEST_SECONDS: Final = 10**11  # year 5138: a larger AMQP timestamp is one in milliseconds
_KIND_NAMES: Final = {(True, False): "topic", (False, True): "temp-queue", (True, True): "temp-topic"}
_REPLY_KINDS: Final = {name: kind for kind, name in _KIND_NAMES.items()}
_BROKER_NAMED: Final = ("amq.rabbitmq.reply-to", "amq.gen-", "jms-temp-queue-")
_HEADS: Final = {
    (persistent, priority): field("JMSDeliveryMode", "PERSISTENT" if persistent else "NON_PERSISTENT")
    + field("JMSPriority", priority)
    for persistent in (True, False)
    for priority in range(10)
}
_MODES: Final = {(persistent, priority): bytes((2 if persistent else 1, priority)) for persistent, priority in _HEADS}
_ID_KEY: Final = b"\x0cJMSMessageIDS"
_TIME_KEY: Final = b"\x0cJMSTimestampl"
_NO_TEXT: Final = field(ABSENT_TEXT, True)
_OPAQUE: Final = frozenset({BodyKind.BYTES, BodyKind.OBJECT})
_IS_PLAIN: Final = field(PLAIN, True)
_pack_flags: Final = struct.Struct(">H").pack


class Outbound(msgspec.Struct, frozen=True, gc=False):
    """What ``Publisher.frames`` wants, and the AMQP message-id by which a return is matched."""

    properties: bytes
    body: bytes
    message_id: str


class Inbound(msgspec.Struct, frozen=True, gc=False):
    """A decoded message: ``delivery_count`` counts this delivery, ``stamp`` is the sender's stamp (no-local) or None.

    ``fault`` says why a message could not be read and is a bytes message with its raw body; None where all is well.
    """

    envelope: Envelope
    delivery_count: int
    stamp: str | None
    fault: str | None


class Encoder:
    """Writes envelopes in one dialect; one per link. Safe for use by several threads.

    ``stamp`` goes as a header into messages for topics; ``text_marker`` says that texts without a JMSType get
    ``JMSType=TextMessage`` in dialect amqp, which the Java client needs to see text.
    """

    def __init__(self, dialect: Dialect = "amqp", stamp: str | None = None, text_marker: bool = False) -> None:
        self._java = dialect == "jms"
        self._stamp = field(STAMP, stamp) if stamp else b""
        self._marker = field("JMSType", "TextMessage") if text_marker and dialect == "amqp" else b""
        self._prefix = f"{_UNNAMED}{uuid4().hex}:"
        self._numbers = count(1)

    def encode(self, envelope: Envelope, now: int) -> Outbound:
        """The message; Unencodable for what does not fit. ``now`` (ms) makes the relative ``expiration``.

        A message with a delivery time to come gets no ``expiration``: it would count while the message waits.
        """
        kind = envelope.kind
        modes = envelope.persistent, envelope.priority
        headers = _HEADS[modes]
        flags = 0xB880
        message_id = envelope.message_id
        if message_id is None:
            message_id = f"{self._prefix}{next(self._numbers)}"
        else:
            headers += _ID_KEY + longstr(message_id)
        last = b""
        timestamp = envelope.timestamp
        if timestamp:
            headers += _TIME_KEY + timestamp.to_bytes(8, "big")
            last = (timestamp // 1000).to_bytes(8, "big")
            flags |= 0x40
        if envelope.properties:
            headers += encode_properties(envelope.properties)
        if self._stamp and envelope.address.topic:
            headers += self._stamp
        body, content_type = envelope.body, bodies.CONTENT_TYPES[kind]
        if self._java:
            body, content_type = javabody.encode(envelope, message_id), bodies.CONTENT_TYPES[2]
        else:
            if kind is BodyKind.TEXT:
                if body is None:
                    headers += _NO_TEXT
                if envelope.jms_type is None:
                    headers += self._marker
            elif kind in _OPAQUE and body and javaread.is_java(body):
                headers += _IS_PLAIN
            body = bodies.encode(kind, body)
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
        properties = b"".join(
            (
                _pack_flags(flags),
                content_type,
                len(headers).to_bytes(4, "big"),
                headers,
                _MODES[modes],
                middle,
                shortstr(message_id, "message id"),
                last,
            )
        )
        return Outbound(properties, body, message_id)


def _rare(envelope: Envelope, now: int) -> tuple[int, bytes, bytes, bytes]:
    """What few messages have: flags, headers, the properties before the message id, and those behind the timestamp."""
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
        flags |= 0x0200
        middle += shortstr(reply_to.name, "name of the reply-to destination")
        if reply_to.topic or reply_to.temporary:
            table[REPLY_KIND] = _KIND_NAMES[reply_to.topic, reply_to.temporary]
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


def decode(address: Address, properties: bytes, body: bytes, redelivered: bool = False) -> Inbound:
    """The message in either dialect, as one for ``address``; never raises.

    The count is the broker's (``x-acquired-count``, ``x-delivery-count``) plus one, else 1 or 2.
    """
    found, table, mine, fault = _read_list(properties)
    envelope = None
    if body[:4] == b"\xac\xed\0\5" and PLAIN not in table and javaread.is_java(body):
        try:
            envelope = _java(found, table, javaread.decode(body, address))
            fault = None  # the body says all, whatever is wrong with the properties beside it
        except Malformed as error:
            fault = str(error)
    if envelope is None:
        envelope, fault = _plain(address, found, table, mine, body, fault)
    stamp = table.get(STAMP)
    times = 1
    if redelivered:
        before = _int(table.get("x-acquired-count", table.get("x-delivery-count")))
        times = 2 if before is None else min(max(before + 1, 2), 0x7FFFFFFF)
    return Inbound(envelope, times, stamp if isinstance(stamp, str) else None, fault)


def _read_list(properties: bytes) -> tuple[Properties, dict[str, Any], dict[str, Any], str | None]:
    """The basic properties, the header table, the application's properties in it, and what is wrong with them."""
    found = Properties()
    table: dict[str, Any] = {}
    try:
        found = decode_list(properties)
        if found.headers is not None:
            table = decode_table(found.headers)[0]
            return found, table, read_properties(table), None
    except Malformed as error:
        return found, table, {}, str(error)
    return found, table, {}, None


def _java(found: Properties, table: dict[str, Any], envelope: Envelope) -> Envelope:
    """What a body of the Java client cannot hold or does not say."""
    if found.reply_to is not None and found.reply_to.startswith(_BROKER_NAMED):
        envelope = msgspec.structs.replace(envelope, reply_to=Address(found.reply_to, temporary=True))
    if CORRELATION in table:
        envelope = msgspec.structs.replace(envelope, correlation_id=_correlation(None, table))
    return envelope


def _plain(
    address: Address, found: Properties, table: dict[str, Any], mine: dict[str, Any], body: bytes, fault: str | None
) -> tuple[Envelope, str | None]:
    """A message in dialect amqp, or one whose fault makes it a bytes message."""
    get = table.get
    jms_type, mark = found.type, get("JMSType")
    marked = mark == "TextMessage" and jms_type is None
    if mark is not None and not marked:
        jms_type = str(mark)
    kind, content = BodyKind.BYTES, body
    if fault is None:
        try:
            kind, content = bodies.decode(
                found.content_type, found.content_encoding, marked, ABSENT_TEXT in table, body
            )
        except Malformed as error:
            fault = str(error)
    if fault is not None:
        mine = {**mine, FAULT: fault}
    if found.user_id is not None or found.app_id is not None:
        mine = _with_sender(found, mine)
    message_id = get("JMSMessageID")
    if message_id is None:
        message_id = found.message_id
        if message_id is not None and message_id.startswith(_UNNAMED):
            message_id = None
    timestamp = _int(get("JMSTimestamp"))
    if timestamp is None:
        timestamp = _milliseconds(found.timestamp)
    priority = found.priority
    if priority is None or priority > 9:
        priority = 4 if priority is None else 9
    expiration = _int(get("JMSExpiration"))
    if expiration is None:
        expiration = 0 if found.expiration is None else _absolute(found, table, timestamp)
    return (
        Envelope(
            address,
            kind,
            content,
            mine,
            message_id if message_id is None else str(message_id),
            timestamp,
            found.delivery_mode == 2,
            priority,
            expiration,
            _int(get("JMSDeliveryTime")) or 0,
            None if found.correlation_id is None and not table else _correlation(found.correlation_id, table),
            None if found.reply_to is None else _reply_to(found.reply_to, get(REPLY_KIND)),
            jms_type,
        ),
        fault,
    )


def _int(value: Any) -> int | None:
    """A number that fits a long, also where the sender wrote it as text; None for anything else."""
    if isinstance(value, str) and len(value) <= 20 and value.isascii() and value.removeprefix("-").isdigit():
        value = int(value)
    if isinstance(value, int) and -(1 << 63) <= value < 1 << 63:
        return int(value)
    return None


def _milliseconds(timestamp: int | None) -> int:
    if timestamp is None:
        return 0
    return timestamp * 1000 if timestamp < _LATEST_SECONDS else timestamp if timestamp < 1 << 63 else 0


def _absolute(found: Properties, table: dict[str, Any], timestamp: int) -> int:
    """When a message of another sender expires; 0 where nobody can know, which leaves it to the broker."""
    lasts = _int(found.expiration)
    if not timestamp or lasts is None:
        return 0
    # A timestamp in whole seconds is up to one too early, and what has not expired must not be dropped.
    return timestamp + lasts + (0 if "JMSTimestamp" in table else 999)


def _correlation(raw: bytes | None, table: dict[str, Any]) -> str | bytes | None:
    """The correlation id: the AMQP property, or the header where it is too long for that; bytes if set as bytes."""
    digits = table.get(CORRELATION)
    if isinstance(digits, str):
        try:
            as_bytes = bytes.fromhex(digits)
        except ValueError:
            as_bytes = None
        # A program that answers may have copied the headers of the question.
        if as_bytes is not None and (raw is None or raw == as_bytes):
            return as_bytes
    if raw is None:
        shown = table.get("JMSCorrelationID")
        return None if shown is None else str(shown)
    try:
        return raw.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return raw


def _reply_to(name: str, kind: Any) -> Address | None:
    if not name:
        return None
    named = _REPLY_KINDS.get(kind) if isinstance(kind, str) else None
    return Address(name, *(named or (False, name.startswith(_BROKER_NAMED))))


def _with_sender(found: Properties, mine: dict[str, Any]) -> dict[str, Any]:
    """The user whom the broker has checked, and the application that the sender names."""
    sender = {"JMSXUserID": found.user_id, "JMSXAppID": found.app_id}
    return {name: value for name, value in sender.items() if value is not None} | mine
