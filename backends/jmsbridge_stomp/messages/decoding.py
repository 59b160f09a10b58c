"""Decodes MESSAGE frames; import it from ``wire``. Pure."""

import contextlib
import json
from collections.abc import Callable
from typing import Any, Final

import msgspec

from jmsbridge.codecs import mutf8
from jmsbridge.spi import Address, BodyKind, Envelope
from jmsbridge.transport.typed_values import (
    decode_map,
    decode_properties,
    decode_stream,
    header_number,
    property_readers,
)
from jmsbridge_stomp.messages.conventions import FAULT, SIDE, TYPES, is_plain_name
from jmsbridge_stomp.messages.dialects import Dialect
from jmsbridge_stomp.messages.encoding import Side
from jmsbridge_stomp.protocol.frames import Frame, unescaped

__all__ = ["Decoder", "Inbound"]

_MOST_SECONDS: Final = 10**11  # year 5138: a larger timestamp is in milliseconds
_TEXTS: Final = ("text/", "application/json", "application/xml")
_decode_side: Final = msgspec.json.Decoder(Side).decode
_STRUCTURES: Final = {BodyKind.MAP: decode_map, BodyKind.STREAM: decode_stream}


class Inbound(msgspec.Struct, frozen=True, gc=False):
    """A decoded message. ``sender`` is the link that sent it, if that was jmsbridge and the address is a topic."""

    envelope: Envelope
    redelivered: bool
    sender: str | None


class Decoder:
    """Decodes what was received from ``address``; never raises. For one thread."""

    def __init__(self, dialect: Dialect, address: Address) -> None:
        self._dialect = dialect
        self._address = address
        self._shape: tuple[tuple[str, ...], str] = (), ""  # names and types of the message before
        self._plain: list[str] = []  # those of its names that are properties
        self._readers: list[tuple[str, Callable[[str], Any]]] | None = None  # of these; None if they are no usual ones

    def decode(self, frame: Frame) -> Inbound:
        """The message. One that cannot be decoded has its raw body, and the property ``FAULT`` with the reason."""
        headers = frame.headers
        side, fault = _read_side(headers)
        kind, body, bad_body = self._body(frame, side)
        properties, bad_properties = self._properties(headers, side)
        fault = fault or bad_body or bad_properties
        if fault is not None:
            properties[FAULT] = fault
        envelope = Envelope(
            self._address,
            kind,
            body,
            properties,
            self._message_id(headers) if side is None else side.id,
            self._timestamp(headers) if side is None else side.timestamp,
            headers.get("persistent", "").lower() == "true",
            min(header_number(headers.get("priority"), 4), 9),
            header_number(headers.get("expires")) if side is None else side.expiration,
            header_number(headers.get("_AMQ_SCHED_DELIVERY")) if side is None else side.delivery_time,
            _correlation(headers, side),
            self._reply_to(headers, side),
            _text(headers, "type") if side is None or side.type is None else side.type,
        )
        return Inbound(envelope, headers.get("redelivered") == "true", None if side is None else side.sender)

    def _timestamp(self, headers: dict[str, str]) -> int:
        given = header_number(headers.get("timestamp"))
        return given * 1000 if self._dialect.amqp and given < _MOST_SECONDS else given

    def _message_id(self, headers: dict[str, str]) -> str | None:
        if self._dialect.amqp:
            return _text(headers, "amqp-message-id")  # the broker's own differs with each delivery
        given = headers.get("__HDR_MESSAGE_ID", headers.get("message-id"))  # that of OpenWire, or the broker's own
        if given is None:
            return None
        given = unescaped(given)
        if self._dialect.routes:  # "consumer,message": the second part is the same for every consumer
            given = given.rpartition(",")[2]
        return given if given.startswith("ID:") else f"ID:{given}"

    def _reply_to(self, headers: dict[str, str], side: Side | None) -> Address | None:
        found = self._dialect.reply_address(_text(headers, "reply-to") or "")
        if found is not None and side is not None and side.reply_temporary:
            return msgspec.structs.replace(found, temporary=True)
        return found

    def _body(self, frame: Frame, side: Side | None) -> tuple[BodyKind, Any, str | None]:
        body = frame.body
        if side is None:
            is_bytes = _is_bytes(frame.headers, self._dialect)
            return (BodyKind.BYTES, body, None) if is_bytes else self._as_text(body)
        kind = side.kind
        if kind is BodyKind.TEXT:
            return (kind, None, None) if side.no_text and not body else self._as_text(body)
        if kind is BodyKind.NONE and not body:
            return kind, None, None
        if kind is BodyKind.BYTES:
            return kind, body, None
        if kind is BodyKind.OBJECT:
            return kind, body or None, None
        read = _STRUCTURES.get(kind)
        if read is None:
            return self._as_text(body)
        try:
            data = mutf8.decode(body).encode("utf-8", "surrogatepass") if self._dialect.modified_utf8 else body
            return kind, read(data), None
        except ValueError:  # a program replied with the headers of the request, but with another body
            return self._as_text(body)

    def _as_text(self, body: bytes) -> tuple[BodyKind, Any, str | None]:
        try:
            if self._dialect.modified_utf8:
                return BodyKind.TEXT, mutf8.decode(body), None
            return BodyKind.TEXT, body.decode("utf-8", "surrogatepass"), None
        except ValueError:
            return BodyKind.BYTES, body, "a text that is not in UTF-8"

    def _properties(self, headers: dict[str, str], side: Side | None) -> tuple[dict[str, Any], str | None]:
        shape = tuple(headers), headers.get(TYPES, "")
        if shape != self._shape:
            self._learn(*shape)
        if self._readers is not None and side is not None and not side.properties:  # most messages, and faster
            try:
                return {name: read(headers[name]) for name, read in self._readers}, None
            except (ValueError, OverflowError):  # a value that does not fit its type: such messages one by one
                self._readers = None
        texts = {name: unescaped(headers[name]) for name in self._plain}
        if side is not None:
            texts |= side.properties
        elif "_AMQ_GROUP_ID" in headers:
            return _with_group(texts, headers), None
        if "JMSXUserID" in headers:
            texts["JMSXUserID"] = unescaped(headers["JMSXUserID"])
        try:
            return decode_properties(texts, _joined(headers, TYPES)), None
        except ValueError as error:
            return dict(texts), str(error)

    def _learn(self, names: tuple[str, ...], types: str) -> None:
        reserved = self._dialect.reserved
        self._plain = [name for name in names if name not in reserved and is_plain_name(name)]
        self._readers = None
        if "JMSXUserID" not in names and f"{TYPES}_2" not in names:
            with contextlib.suppress(ValueError):
                readers = property_readers(unescaped(types))
                self._readers = [(name, readers.get(name, unescaped)) for name in self._plain]
        self._shape = names, types


def _text(headers: dict[str, str], name: str) -> str | None:
    value = headers.get(name)
    return None if value is None else unescaped(value)


def _with_group(properties: dict[str, Any], headers: dict[str, str]) -> dict[str, Any]:
    """The properties of another program's message on Artemis, and its group."""
    properties["JMSXGroupID"] = unescaped(headers["_AMQ_GROUP_ID"])
    sequence = header_number(headers.get("_AMQ_GROUP_SEQUENCE"))
    if 0 < sequence < 1 << 31:
        properties["JMSXGroupSeq"] = sequence
    if "JMSXUserID" in headers:
        properties["JMSXUserID"] = unescaped(headers["JMSXUserID"])
    return properties


def _is_bytes(headers: dict[str, str], dialect: Dialect) -> bool:
    """Whether a message of another program is one of bytes; RabbitMQ writes the length of every body."""
    if dialect.amqp:
        return not headers.get("content-type", "").startswith(_TEXTS)
    if "content-length" not in headers or headers.get("amq-msg-type") == "text":
        return False
    if not dialect.routes:
        return True
    order = list(headers)  # Artemis writes the length of bytes before the message's id, that of a text as the last
    return order.index("content-length") < (order.index("message-id") if "message-id" in headers else 0)


def _joined(headers: dict[str, str], name: str) -> str:
    text = headers.get(name, "")
    number = 2
    while (piece := headers.get(f"{name}_{number}")) is not None:
        text += piece
        number += 1
    return unescaped(text)


def _read_side(headers: dict[str, str]) -> tuple[Side | None, str | None]:
    if SIDE not in headers:
        return None, None
    text = _joined(headers, SIDE)
    try:
        try:
            side = _decode_side(text)
        except msgspec.DecodeError:
            side = msgspec.convert(json.loads(text), Side)  # lone surrogates
    except (ValueError, RecursionError) as error:
        return None, f"the header {SIDE} cannot be read: {error}"
    return side, None


def _correlation(headers: dict[str, str], side: Side | None) -> str | bytes | None:
    shown = _text(headers, "correlation-id")
    if side is not None and side.correlation_hex is not None and shown is None:
        try:
            return bytes.fromhex(side.correlation_hex)
        except ValueError:
            return None
    return side.correlation if side is not None and shown is None else shown
