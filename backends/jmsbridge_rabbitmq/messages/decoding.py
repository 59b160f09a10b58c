"""Messages of either dialect, and of other programs, as envelopes; import it from ``wire``. Pure."""

import struct
from typing import Any, Final

import msgspec

from jmsbridge.spi import Address, BodyKind, Envelope
from jmsbridge_rabbitmq.messages import bodies, dead_letters, headers, java_decoding
from jmsbridge_rabbitmq.messages.conventions import BROKER_NAMED, HEADS, ID_KEY, KIND_NAMES, TIME_KEY, UNNAMED
from jmsbridge_rabbitmq.messages.headers import ABSENT_TEXT, CORRELATION, DELIVERIES, PLAIN, REPLY_KIND, STAMP
from jmsbridge_rabbitmq.protocol.fields import Malformed, strict_text
from jmsbridge_rabbitmq.protocol.properties import Properties
from jmsbridge_rabbitmq.protocol.properties import decode as decode_list

__all__ = ["FAULT", "Inbound", "decode"]

FAULT: Final = "JMS_jmsbridge_fault"
"""The property with the reason why a message could not be decoded."""

_LATEST_SECONDS: Final = 10**11  # year 5138: a larger AMQP timestamp is in milliseconds
_both: Final = struct.Struct(f">{len(TIME_KEY)}sq{len(ID_KEY)}sB")
_REPLY_KINDS: Final = {name: kind for kind, name in KIND_NAMES.items()}


class Inbound(msgspec.Struct, frozen=True, gc=False):
    """A decoded message: ``delivery_count`` includes this delivery, ``stamp`` is the sender's stamp (no-local) or None.

    ``fault`` says why a message could not be decoded and is a bytes message with the raw body; None if it could.
    ``returns`` is how often it was requeued, on a queue that counts it.
    """

    envelope: Envelope
    delivery_count: int
    stamp: str | None
    fault: str | None
    returns: int = 0


def decode(address: Address, properties: bytes, body: bytes, redelivered: bool = False) -> Inbound:
    """Decode a message of either dialect, received from ``address``; never raises.

    The delivery count is the broker's (``x-acquired-count``, ``x-delivery-count``) plus one, else 1 or 2, plus the
    count from before the message was copied to the tail of its queue.
    """
    read = _read(properties)
    table, fault = read[2], read[4]
    envelope = None
    if body[:4] == b"\xac\xed\0\5" and PLAIN not in table and java_decoding.is_java(body):
        try:
            envelope = _java(read, java_decoding.decode(body, address))
            fault = None  # the body has everything, even if the properties are malformed
        except Malformed as error:
            fault = str(error)
    if envelope is None:
        envelope, fault = _plain(address, read, body, fault)
    if not table and not redelivered:
        return Inbound(envelope, 1, None, fault)
    stamp = table.get(STAMP)
    times, returns = 1, 0
    if redelivered:
        before = _int(table.get("x-acquired-count", table.get("x-delivery-count")))
        times = 2 if before is None else max(before + 1, 2)
        returns = _int(table.get("x-delivery-count")) or 0
    if DELIVERIES in table:
        times += max(0, _int(table[DELIVERIES]) or 0)
    return Inbound(envelope, min(times, 0x7FFFFFFF), stamp if isinstance(stamp, str) else None, fault, returns)


_Read = tuple[Properties, dict[str, Any], dict[str, Any], int | None, str | None]


def _read(properties: bytes) -> _Read:
    """The list, the application's properties, the other headers, the time of the send, and a fault or None."""
    try:
        known = decode_list(properties)
    except Malformed as error:
        return Properties(), {}, {}, None, str(error)
    data = known.headers
    if data is None or len(data) == 4:  # no headers
        return known, {}, {}, None, None
    start, timestamp = 4, None
    # The first headers of every message of jmsbridge are compared, or read in one step.
    head = HEADS.get((known.delivery_mode, known.priority))
    if head is not None and data.startswith(head, 4) and len(data) >= (at := 4 + len(head)) + _both.size:
        time_key, number, id_key, size = _both.unpack_from(data, at)
        if id_key == ID_KEY and time_key == TIME_KEY and known.message_id is not None:
            start, timestamp = at + _both.size + size, number
    try:
        return known, *headers.decode(data, start), timestamp, None
    except Malformed as error:
        return known, {}, {}, None, str(error)


def _java(read: _Read, envelope: Envelope) -> Envelope:
    """Add what a body of the Java client does not contain."""
    known, mine, table, _, _ = read
    reply_to = known.reply_to
    topic = envelope.reply_to is not None and envelope.reply_to.topic  # the client names temporary topics as queues
    if not topic and reply_to is not None and reply_to.startswith(BROKER_NAMED):
        envelope = msgspec.structs.replace(envelope, reply_to=Address(reply_to, temporary=True))
    if CORRELATION in table:
        envelope = msgspec.structs.replace(envelope, correlation_id=_correlation(None, table))
    if table and dead_letters.is_dead(table):
        noted = envelope.properties | dead_letters.notes(table, mine)
        envelope = msgspec.structs.replace(envelope, expiration=0, properties=noted)
    return envelope


def _plain(address: Address, read: _Read, body: bytes, fault: str | None) -> tuple[Envelope, str | None]:
    """Decode a message in dialect amqp; with a fault it becomes a bytes message."""
    known, mine, table, timestamp, _ = read
    priority = known.priority
    message_id, jms_type, timestamp, expiration, delivery_time = _headers(known, table, timestamp)
    marked = jms_type is None and table.get("JMSType") == "TextMessage"
    absent = ABSENT_TEXT in table
    kind, content, fault = _content(known, marked, absent, body, fault)
    if fault is not None:
        mine = {**mine, FAULT: fault}
    if "x-death" in table:
        mine = dead_letters.notes(table, mine) | mine
    if known.user_id is not None or known.app_id is not None:
        mine = _with_sender(known, mine)
    return (
        Envelope(
            address,
            kind,
            content,
            mine,
            None if message_id is None or message_id.startswith(UNNAMED) else message_id,
            timestamp,
            known.delivery_mode == 2,
            4 if priority is None else min(priority, 9),
            expiration,
            delivery_time,
            _correlation(known.correlation_id, table) if table or known.correlation_id is not None else None,
            None if known.reply_to is None else _reply_to(known.reply_to, table.get(REPLY_KIND)),
            jms_type,
        ),
        fault,
    )


def _headers(
    known: Properties, table: dict[str, Any], timestamp: int | None
) -> tuple[str | None, str | None, int, int, int]:
    """Message id, type, and the times of sending, expiration and delivery."""
    message_id, jms_type = known.message_id, known.type
    expiration = delivery_time = 0
    if table:
        shown = table.get("JMSType")
        if shown is not None and (shown != "TextMessage" or jms_type is not None):
            jms_type = str(shown)
        if message_id is None and "JMSMessageID" in table:
            message_id = str(table["JMSMessageID"])
        if timestamp is None:
            timestamp = _int(table.get("JMSTimestamp"))
        expiration = _int(table.get("JMSExpiration")) or 0
        delivery_time = _int(table.get("JMSDeliveryTime")) or 0
    if timestamp and known.expiration is not None and not expiration:
        # Counted from jmsbridge's time of the send. AMQP's timestamp may have any meaning; with it, only the broker
        # enforces the expiration, so that no message is dropped too early.
        expiration = timestamp + (_int(known.expiration) or 0)
    if expiration and dead_letters.is_dead(table):
        expiration = 0
    if timestamp is None:
        timestamp = _milliseconds(known.timestamp)
    return message_id, jms_type, timestamp, expiration, delivery_time


def _content(
    known: Properties, marked: bool, absent: bool, body: bytes, fault: str | None
) -> tuple[BodyKind, Any, str | None]:
    """Kind and body, and the fault or None."""
    if fault is None:
        try:
            if known.content_type in bodies.PLAIN_TEXTS and known.content_encoding is None and not absent:
                return BodyKind.TEXT, strict_text(body), None
            return *bodies.decode(known.content_type, known.content_encoding, marked, absent, body), None
        except Malformed as error:
            fault = str(error)
    return BodyKind.BYTES, body, fault


def _int(value: Any) -> int | None:
    """A number that fits a long, also if the sender wrote it as text; None for anything else."""
    if isinstance(value, str) and len(value) <= 20 and value.isascii() and value.removeprefix("-").isdigit():
        value = int(value)
    if isinstance(value, int) and -(1 << 63) <= value < 1 << 63:
        return int(value)
    return None


def _milliseconds(timestamp: int | None) -> int:
    if timestamp is None:
        return 0
    return timestamp * 1000 if timestamp < _LATEST_SECONDS else timestamp if timestamp < 1 << 63 else 0


def _correlation(raw: bytes | None, table: dict[str, Any]) -> str | bytes | None:
    """The correlation id: the AMQP property, or the header if it is too long for that; bytes if set as bytes."""
    digits = table.get(CORRELATION)
    if isinstance(digits, str):
        try:
            as_bytes = bytes.fromhex(digits)
        except ValueError:
            as_bytes = None
        # A replying program may have copied the headers of the request.
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
    return Address(name, *(named or (False, name.startswith(BROKER_NAMED))))


def _with_sender(found: Properties, mine: dict[str, Any]) -> dict[str, Any]:
    """Add JMSXUserID, which the broker has checked, and JMSXAppID."""
    sender = {"JMSXUserID": found.user_id, "JMSXAppID": found.app_id}
    return {name: value for name, value in sender.items() if value is not None} | mine
