"""Encodes envelopes as the headers and body of SEND; import it from ``wire``. Pure.

Java programs and selectors see each property as a header of its own, as text. What is no text, or has no place in a
header, is described in two headers of JSON, which only jmsbridge reads.
"""

import json
from collections.abc import Callable
from functools import lru_cache
from operator import call
from typing import Any, Final, NamedTuple

import msgspec

from jmsbridge.codecs import mutf8
from jmsbridge.spi import Address, BodyKind, Envelope
from jmsbridge.transport.literal_names import is_unicode
from jmsbridge.transport.typed_values import encode_map, encode_stream, property_forms
from jmsbridge_stomp.messages.conventions import SIDE, TYPES, is_plain_name
from jmsbridge_stomp.messages.dialects import Dialect
from jmsbridge_stomp.protocol.frames import MOST_LINE, Unencodable, header

__all__ = ["Encoder", "Side"]

_LONGEST: Final = 2000  # characters of a header's value: at most 8000 bytes
_LONGEST_NAME: Final = 490  # characters of a property's name that has a header: with such a value less than MOST_LINE
_PIECE: Final = 4000  # characters of one header of JSON, which escapes may double
_PIECES: Final = 200
_KNOWN: Final = 128  # kinds of messages whose types are cached, and names of properties
_MOST: Final = 400  # properties in headers of their own
_FEW: Final = 30  # properties of a message whose shape is cached
_STRUCTURES: Final[dict[BodyKind, Callable[[Any], bytes]]] = {
    BodyKind.MAP: encode_map,
    BodyKind.STREAM: encode_stream,
}
_SEQUENCES: Final = range(1, 1 << 31)
_SIDE_BEGIN: Final = f"{SIDE}:".encode()
_encode_json: Final = msgspec.json.Encoder().encode


class Side(msgspec.Struct, omit_defaults=True):
    """What is in the header ``SIDE``."""

    kind: BodyKind = BodyKind.TEXT
    id: str | None = None
    timestamp: int = 0
    expiration: int = 0
    delivery_time: int = 0
    no_text: bool = False
    correlation: str | None = None
    correlation_hex: str | None = None
    type: str | None = None
    reply_temporary: bool = False
    sender: str | None = None
    """The link that sent the message, for no-local."""
    properties: dict[str, str] = {}
    """Properties without a header of their own."""


class _Shape(NamedTuple):
    """How properties of certain names and types are written if each value is plain text; as most messages are."""

    types: list[bytes]
    forms: tuple[Callable[[Any], str], ...]
    """What makes the text of each."""
    headers: str
    """With a %s for each text; empty if not every one has a header of its own."""


class Encoder:
    """Encodes for one dialect; one per link, for any thread. ``sender`` is written into messages to topics.

    ``delays`` says that the broker keeps a message until its delivery time, ``detects`` that it knows duplicate ids.
    """

    def __init__(self, dialect: Dialect, sender: str | None, *, delays: bool, detects: bool) -> None:
        self._dialect = dialect
        self._sender = sender
        self._delays = delays
        self._detects = detects
        self._largest = dialect.largest
        # On RabbitMQ it would make a queue that belongs to the connection.
        self._transient = b"" if dialect.amqp else b"persistent:false\n"
        self._target: tuple[Address | None, bytes] = (None, b"")
        self._begins: dict[str, bytes] = {}  # how the headers of properties begin, as far as remembered
        self._shapes: dict[tuple[tuple[str, ...], tuple[type, ...]], _Shape] = {}  # as far as remembered

    def encode(self, envelope: Envelope, now: int, *, is_copy: bool = False) -> bytes:
        """What follows the command and ``receipt`` in a frame; AddressRefused, or Unencodable for what it cannot carry.

        ``now`` is the time in milliseconds. A copy of a received message keeps its reply-to, whatever its name.
        """
        side = Side(kind=envelope.kind, id=envelope.message_id, timestamp=envelope.timestamp)
        lines = [self._destination(envelope.address), b"persistent:true\n" if envelope.persistent else self._transient]
        if envelope.priority != 4:
            lines.append(b"priority:%d\n" % envelope.priority)
        if self._sender is not None and envelope.address.topic:
            side.sender = self._sender
        if envelope.reply_to is not None and not is_copy:
            self._dialect.check(envelope.reply_to)
        self._rare(envelope, now, side, lines)
        if envelope.properties:
            self._properties(envelope.properties, side, lines)
        body = self._body(envelope.kind, envelope.body, side, lines)
        lines += _side_lines(side)
        data = b"".join((*lines, b"\n", body, b"\0"))
        if self._largest and len(data) > self._largest:
            raise Unencodable(
                f"a frame of {len(data):,} bytes; {self._dialect.name} takes at most {self._largest:,} over STOMP: "
                "send smaller messages, or use rabbitmq://"
            )
        return data

    def _destination(self, address: Address) -> bytes:
        known, lines = self._target
        if known is not address:
            self._dialect.check(address)
            name, routing = self._dialect.destination(address)
            lines = header("destination", name) + (header("destination-type", routing) if routing else b"")
            lines += b"".join(header(*made) for made in self._dialect.creation(address))
            self._target = address, lines
        return lines

    def _rare(self, envelope: Envelope, now: int, side: Side, lines: list[bytes]) -> None:
        """The headers that few messages have."""
        delayed = self._delays and envelope.delivery_time > now
        if delayed and self._dialect.routes:
            lines.append(b"AMQ_SCHEDULED_TIME:%d\n" % envelope.delivery_time)
        elif delayed:
            lines.append(b"AMQ_SCHEDULED_DELAY:%d\n" % (envelope.delivery_time - now))
        if envelope.timestamp > 0 and self._dialect.keeps_timestamp and not delayed:
            lines.append(b"timestamp:%d\n" % envelope.timestamp)
        if envelope.expiration > 0 and self._dialect.amqp:
            lines.append(b"expiration:%d\n" % max(0, envelope.expiration - now))
        elif envelope.expiration > 0:
            lines.append(b"expires:%d\n" % envelope.expiration)
        side.expiration, side.delivery_time = envelope.expiration, envelope.delivery_time
        correlation = envelope.correlation_id
        if isinstance(correlation, bytes):
            side.correlation_hex = correlation.hex()
        elif correlation is not None:
            side.correlation = self._if_unfit("correlation-id", correlation, lines)
        if envelope.jms_type is not None:
            side.type = self._if_unfit("type", envelope.jms_type, lines)
        if envelope.reply_to is not None:
            reply_to = self._dialect.reply_to(envelope.reply_to)
            if not self._dialect.is_short(reply_to):
                raise Unencodable(f"a name of a destination for answers that is too long for {self._dialect.name}")
            lines.append(header("reply-to", reply_to))
            side.reply_temporary = envelope.reply_to.temporary
        if self._detects and envelope.duplicate_id is not None:
            lines.append(header("_AMQ_DUPL_ID", envelope.duplicate_id))

    def _properties(self, properties: dict[str, Any], side: Side, lines: list[bytes]) -> None:
        kind = tuple(properties), tuple(map(type, properties.values()))
        shape = self._shapes.get(kind) or self._shape(*kind)
        texts = tuple(map(call, shape.forms, properties.values()))
        lines += shape.types
        if shape.headers:
            whole = "".join(texts)
            if len(whole) <= _LONGEST and _is_plain(whole):
                lines.append((shape.headers % texts).encode())
                return
        self._each_property(properties, texts, side, lines)

    def _shape(self, names: tuple[str, ...], kinds: tuple[type, ...]) -> _Shape:
        forms, types = property_forms(names, kinds)
        about = [] if not types else _types_lines(types) if len(types) <= _PIECE else _json_lines(TYPES, types)
        if len(self._shapes) >= _KNOWN or len(names) > _FEW or len("".join(names)) > _LONGEST:
            return _Shape(about, forms, "")
        begins = [self._begin(name).decode() for name in names]
        headers = "" if type(None) in kinds or not all(begins) else "".join(f"{begin}%s\n" for begin in begins)
        made = self._shapes[names, kinds] = _Shape(about, forms, headers)
        return made

    def _each_property(
        self, properties: dict[str, Any], texts: tuple[str, ...], side: Side, lines: list[bytes]
    ) -> None:
        begins, more = self._begins, side.properties
        room = _MOST - len(lines)
        for name, text in zip(properties, texts, strict=True):
            begin = begins.get(name)
            if begin is None:
                begin = self._begin(name)
            if not begin or room <= 0 or len(text) > _LONGEST or properties[name] is None:
                more[name] = text
            elif _is_plain(text):
                lines.append(b"%b%b\n" % (begin, text.encode()))
                room -= 1
            elif _fits(text):
                lines.append(header(name, text))
                room -= 1
            else:
                more[name] = text
        if "JMSXGroupID" in properties:
            self._group(properties, lines)

    def _begin(self, name: str) -> bytes:
        """How the header of a property begins; empty if it has none of its own."""
        has_own = len(name) <= _LONGEST_NAME and is_plain_name(name) and _fits(name) and not self._dialect.hides(name)
        begin = f"{name}:".encode() if has_own else b""
        if len(self._begins) < _KNOWN:
            self._begins[name] = begin
        return begin

    def _group(self, properties: dict[str, Any], lines: list[bytes]) -> None:
        """What the broker needs to know of a message group."""
        group, sequence = properties["JMSXGroupID"], properties.get("JMSXGroupSeq")
        if isinstance(group, str) and group and _fits(group):
            lines.append(header("JMSXGroupID", group))
            if type(sequence) is int and sequence in _SEQUENCES:
                lines.append(b"JMSXGroupSeq:%d\n" % sequence)

    def _if_unfit(self, name: str, text: str, lines: list[bytes]) -> str | None:
        """Add a header, and return None; or return the text if it does not fit into one."""
        if not text or not _fits(text) or not self._dialect.is_short(text):
            return text
        lines.append(header(name, text))
        return None

    def _body(self, kind: BodyKind, body: Any, side: Side, lines: list[bytes]) -> bytes:
        if kind is BodyKind.TEXT:
            side.no_text = body is None
            return self._text(body or "", lines)
        if kind is BodyKind.NONE:
            return b""
        if kind in _STRUCTURES:
            return self._text(_STRUCTURES[kind](body).decode(), lines)
        data: bytes = body or b""
        lines.append(b"content-length:%d\n" % len(data))
        return data

    def _text(self, text: str, lines: list[bytes]) -> bytes:
        """A text as the broker takes it for one; what it would not becomes bytes, which ``SIDE`` says are a text."""
        if self._dialect.modified_utf8:
            return mutf8.encode(text)
        try:
            data = text.encode()
        except UnicodeEncodeError:  # a lone surrogate
            data = text.encode("utf-8", "surrogatepass")
            lines.append(b"content-length:%d\n" % len(data))
            return data
        if b"\0" in data:
            if self._dialect.text_header:
                lines.append(b"amq-msg-type:text\n")
            lines.append(b"content-length:%d\n" % len(data))
        return data


def _is_plain(text: str) -> bool:
    """Whether nothing in it must be escaped."""
    return text.isascii() and text.isprintable() and ":" not in text and "\\" not in text


def _fits(text: str) -> bool:
    """Whether every broker keeps this text in a header as it is."""
    return len(text) <= _LONGEST and "\0" not in text and is_unicode(text)


def _side_lines(side: Side) -> list[bytes]:
    try:
        data = _encode_json(side)
    except UnicodeEncodeError:  # lone surrogates, which JSON has escapes for
        data = b""
    if data and data.isascii():
        if len(data) <= _PIECE:
            return [_SIDE_BEGIN + data.replace(b"\\", b"\\\\").replace(b":", b"\\c") + b"\n"]
        return _json_lines(SIDE, data.decode())
    return _json_lines(SIDE, json.dumps(msgspec.structs.asdict(side)))


@lru_cache(_KNOWN)
def _types_lines(types: str) -> list[bytes]:
    return _json_lines(TYPES, types)


def _json_lines(name: str, text: str) -> list[bytes]:
    """The header, in pieces if it is long: ``name``, ``name_2``, …"""
    if len(text) <= _PIECE:
        return [header(name, text)]
    pieces = [text[start : start + _PIECE] for start in range(0, len(text), _PIECE)]
    if len(pieces) > _PIECES:
        raise Unencodable(
            f"properties of {len(text):,} characters; headers of {MOST_LINE:,} bytes carry {_PIECES * _PIECE:,}"
        )
    return [header(name if number == 1 else f"{name}_{number}", piece) for number, piece in enumerate(pieces, 1)]
