"""Encodes envelopes in the bytes of Qpid JMS; import it from ``wire``. Pure."""

import struct
from collections.abc import Mapping
from typing import Any, Final

from jmsbridge.spi import Address, BodyKind, Envelope, Long
from jmsbridge_amqp.messages import bodies, ids
from jmsbridge_amqp.messages.conventions import (
    CONTENT_TYPES,
    DELIVERY_TIME,
    DESTINATION,
    DUPLICATE,
    EXPIRATION,
    GROUP,
    KIND,
    KINDS,
    MOVED,
    REPLY_GROUP,
    REPLY_TO,
    SEQUENCE,
    SETTINGS,
    TTL,
    TYPED,
)
from jmsbridge_amqp.messages.naming import Naming, kind_byte
from jmsbridge_amqp.protocol.errors import Unencodable
from jmsbridge_amqp.protocol.writing import (
    PairWriter,
    binary,
    compound_list,
    compound_map,
    encode_pairs,
    name_string,
    symbol,
    uint,
    utf8,
)
from jmsbridge_amqp.protocol.writing import encode as encode_value

__all__ = ["Encoder", "annotations", "header", "properties"]

_NULL: Final = b"\x40"
_LARGEST_TTL: Final = (1 << 32) - 2
_NULL_BODY: Final = bytes.fromhex("00537740")
_MOST_STARTS: Final = 1024
_TYPES: Final = {kind: symbol(name) for kind, name in CONTENT_TYPES.items()}
_MIDDLES: Final = {kind: _NULL * 3 + _TYPES.get(kind, _NULL) + _NULL * 2 + b"\x83" for kind in BodyKind}
_pairs: Final = PairWriter(MOVED | SETTINGS)
_pack_sizes: Final = struct.Struct(">II").pack
_pack_time: Final = struct.Struct(">q").pack
_ANNOTATIONS: Final = {name: symbol(name) for name in (REPLY_TO, DELIVERY_TIME, EXPIRATION, DESTINATION, KIND)}


class Encoder:
    """Encodes envelopes for one broker; one per link, for any thread.

    ``user`` becomes the user id of each message; ``duplicates`` says that the broker detects duplicates by the property
    of Artemis; ``explicit`` that it takes no message without a body, and one without a header for persistent: then both
    are always written, null as the body of a plain message.
    """

    def __init__(
        self,
        naming: Naming | None = None,
        user: str | None = None,
        duplicates: bool = False,
        explicit: bool = False,
    ) -> None:
        self._naming = naming or Naming()
        self._user = _NULL if user is None else binary(utf8(user))
        self._duplicates = duplicates
        self._explicit = explicit
        self._plain = _NULL_BODY if explicit else b""
        # By kind, persistence, priority and address: the bytes before the message id, and those between the id and the
        # time. Bounded.
        self._starts: list[dict[tuple[bool, int, Address], tuple[bytes, bytes]]] = [{} for _ in BodyKind]

    def encode(self, envelope: Envelope, now: int) -> bytes:
        """Encode a message; Unencodable if AMQP 1.0 cannot represent it. ``now`` (ms) is needed for ``expiration``."""
        try:
            if (
                envelope.reply_to is None
                and envelope.correlation_id is None
                and envelope.jms_type is None
                and not envelope.expiration
                and not envelope.delivery_time
                and envelope.message_id is not None
                and envelope.timestamp
                and envelope.duplicate_id is None
            ):
                return self._encode_plain(envelope, envelope.message_id)
        except KeyError:  # a property that is a field, or a setting
            pass
        except struct.error as error:
            raise Unencodable(f"a value does not fit its AMQP type: {error}") from error
        try:
            return self._encode_any(envelope, now)
        except struct.error as error:
            raise Unencodable(f"a value does not fit its AMQP type: {error}") from error

    def _encode_plain(self, envelope: Envelope, message_id: str) -> bytes:
        """Encode a message with only the headers that every message has; KeyError if its properties set another one."""
        kind = envelope.kind
        application = b"\x00\x53\x74" + _pairs.encode(envelope.properties) if envelope.properties else b""
        key = (envelope.persistent, envelope.priority, envelope.address)
        start = self._starts[kind].get(key)
        head, middle = self._start(kind, *key) if start is None else start
        raw_id = ids.encode(message_id)
        size = len(raw_id) + len(middle) + 12  # with the count, and the timestamp without its type
        fields = _pack_sizes(size, 10) + raw_id + middle + _pack_time(envelope.timestamp)
        return head + fields + application + (bodies.encode(kind, envelope.body) or self._plain)

    def _start(self, kind: BodyKind, persistent: bool, priority: int, address: Address) -> tuple[bytes, bytes]:
        front = header(persistent, priority, 0, self._explicit) + annotations(kind, address)
        head = front + b"\x00\x53\x73\xd0"
        middle = self._user + name_string(self._naming.text(address)) + _MIDDLES[kind]
        known = self._starts[kind]
        if len(known) >= _MOST_STARTS:
            known.clear()
        known[persistent, priority, address] = head, middle
        return head, middle

    def _encode_any(self, envelope: Envelope, now: int) -> bytes:
        """Encode a message in which everything may be set."""
        table = dict(envelope.properties)
        if envelope.duplicate_id is not None and self._duplicates:
            table[DUPLICATE] = envelope.duplicate_id
        fields, taken = _groups(table), {name: table.pop(name, None) for name in SETTINGS}
        kind, reply_to = envelope.kind, envelope.reply_to
        ttl = taken.get(TTL)
        if type(ttl) is bool or not isinstance(ttl, int):
            ttl = envelope.expiration and max(envelope.expiration - now, 1)
        is_typed = kind is BodyKind.OBJECT and taken.get(TYPED) is True
        fields |= {
            0: None if envelope.message_id is None else ids.encode(envelope.message_id),
            1: None if self._user == _NULL else self._user,
            2: name_string(self._naming.text(envelope.address)),
            3: None if envelope.jms_type is None else name_string(envelope.jms_type),
            4: None if reply_to is None else name_string(self._naming.text(reply_to)),
            5: None if envelope.correlation_id is None else ids.encode(envelope.correlation_id),
            6: None if is_typed else _TYPES.get(kind),
            8: b"\x83" + _pack_time(envelope.expiration) if envelope.expiration else None,
            9: b"\x83" + _pack_time(envelope.timestamp) if envelope.timestamp else None,
        }
        application = b"\x00\x53\x74" + encode_pairs(table) if table else b""
        return (
            header(envelope.persistent, envelope.priority, ttl, self._explicit)
            + annotations(kind, envelope.address, reply_to, envelope.delivery_time, envelope.expiration)
            + properties(fields)
            + application
            + (bodies.encode_typed(envelope.body) if is_typed else bodies.encode(kind, envelope.body) or self._plain)
        )


def _groups(table: dict[str, Any]) -> dict[int, bytes | None]:
    """Take group id, sequence and reply-to group id, which are fields; a negative sequence wraps, as in Java.

    With a value of another type, which no application can set, they stay properties.
    """
    found: dict[int, bytes | None] = {}
    for index, name in ((10, GROUP), (12, REPLY_GROUP)):
        if isinstance(table.get(name), str):
            found[index] = name_string(table.pop(name))
    if type(table.get(SEQUENCE)) is int:
        found[11] = uint(table.pop(SEQUENCE) & 0xFFFFFFFF)
    return found


def header(persistent: bool, priority: int, ttl: int, explicit: bool = False) -> bytes:
    """The header section; unless ``explicit``, nothing if every field has its default."""
    if not 0 < ttl <= _LARGEST_TTL:
        ttl = 0
    if not (persistent or ttl or priority != 4 or explicit):
        return b""
    durable = b"\x41" if persistent else b"\x42"
    level = _NULL if priority == 4 else bytes((0x50, priority))
    if ttl:
        return b"\x00\x53\x70" + compound_list(durable + level + uint(ttl), 3)
    if priority != 4:
        return b"\x00\x53\x70" + compound_list(durable + level, 2)
    return b"\x00\x53\x70" + compound_list(durable, 1)


def annotations(
    kind: BodyKind, address: Address, reply_to: Address | None = None, delivery_time: int = 0, expiration: int = 0
) -> bytes:
    """The message annotations, in the order of Qpid JMS."""
    parts = []
    if reply_to is not None:
        parts.append(_ANNOTATIONS[REPLY_TO] + bytes((0x51, kind_byte(reply_to))))
    if delivery_time:
        parts.append(_ANNOTATIONS[DELIVERY_TIME] + encode_value(Long(delivery_time)))
        if expiration:
            parts.append(_ANNOTATIONS[EXPIRATION] + encode_value(Long(expiration)))
    parts.append(_ANNOTATIONS[DESTINATION] + bytes((0x51, kind_byte(address))))
    parts.append(_ANNOTATIONS[KIND] + bytes((0x51, KINDS[kind])))
    return b"\x00\x53\x72" + compound_map(b"".join(parts), len(parts))


def properties(fields: Mapping[int, bytes | None]) -> bytes:
    """The properties section from its encoded fields, by index; it ends with the last one that is set."""
    count = max((index for index, value in fields.items() if value is not None), default=-1) + 1
    body = b"".join([fields.get(index) or _NULL for index in range(count)])
    return b"\x00\x53\x73\xd0" + _pack_sizes(len(body) + 4, count) + body
