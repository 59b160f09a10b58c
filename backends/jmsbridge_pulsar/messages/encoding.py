"""Encodes envelopes as what a message of Pulsar consists of. Pure.

Java programs see each property as text, beside a property with its type. What Starlight for JMS has no place for is in
one more property, which only jmsbridge reads, and which few messages have.
"""

import json
from base64 import b64encode
from typing import Any, Final

import msgspec

from jmsbridge.spi import Envelope
from jmsbridge.transport.literal_names import is_unicode
from jmsbridge.transport.typed_values import encode_properties
from jmsbridge_pulsar.messages import bodies
from jmsbridge_pulsar.messages.conventions import (
    CONNECTION,
    CORRELATION,
    DELIVERY_TIME,
    EXPIRATION,
    GROUP,
    ID,
    JMS_TYPE,
    KIND,
    KINDS,
    LONGEST_CACHED,
    MODE,
    PRIORITY,
    REPLY_KIND,
    REPLY_TO,
    SIDE,
    TYPE_SUFFIX,
    type_name,
    type_name_once,
)
from jmsbridge_pulsar.messages.names import Names, looks_temporary
from jmsbridge_pulsar.messages.typed_texts import WRITE

__all__ = ["Outgoing", "encode"]

_EXPIRATION_TYPE: Final = EXPIRATION + TYPE_SUFFIX
_GROUP_TYPE: Final = GROUP + TYPE_SUFFIX
_FIXED: Final = 256  # bytes of Pulsar's own metadata
_EACH: Final = 16  # bytes around a property
_SMALL: Final = 1 << 14  # below this size an estimate is enough, because no broker refuses it


class Outgoing(msgspec.Struct, frozen=True, gc=False):
    """What the client library sends.

    ``body`` is None for Pulsar's null value, ``key`` for no partition key. Times are milliseconds since the epoch, 0
    for none; ``deliver_at`` may be in the past. ``size`` is at least what counts for the broker's limit.
    """

    body: bytes | None
    properties: dict[str, str]
    key: str | None
    event_time: int
    deliver_at: int
    size: int


def encode(envelope: Envelope, names: Names, connection: str | None = None) -> Outgoing:
    """The message; AddressRefused for its reply-to destination, SendRefused for a text that is too long.

    ``connection`` is the id that a consumer with no-local compares. The duplicate id is not in it.
    """
    kind = envelope.kind
    side: dict[str, Any] = {}
    wire: dict[str, str] = {}
    if envelope.properties:
        _properties(envelope.properties, wire, side)
    wire[KIND] = KINDS[kind]
    if envelope.message_id is None:
        side["no_id"] = True
    else:
        _text(ID, "id", envelope.message_id, wire, side)
    if connection is not None:
        wire[CONNECTION] = connection
    _headers(envelope, names, wire, side)
    if side:
        wire[SIDE] = json.dumps(side, separators=(",", ":"))
    body = bodies.encode(kind, envelope.body)
    return Outgoing(
        body,
        wire,
        None if _GROUP_TYPE in wire else wire.get(GROUP) or None,
        envelope.timestamp,
        envelope.delivery_time,
        _size(wire) + (0 if body is None else len(body)),
    )


def _properties(properties: dict[str, Any], wire: dict[str, str], side: dict[str, Any]) -> None:
    unfit: dict[str, Any] = {}
    for name, value in properties.items():
        typed = type_name_once(name) if len(name) <= LONGEST_CACHED else type_name(name)
        kind = type(value)
        form = WRITE.get(kind)
        if not typed or (form is None and (kind is not str or not is_unicode(value))):
            unfit[name] = value
        elif form is None:
            wire[name] = value
        else:
            wire[typed], wire[name] = form[0], form[1](value)
    if unfit:
        side["properties"], types = encode_properties(unfit)
        if types:
            side["types"] = types


def _headers(envelope: Envelope, names: Names, wire: dict[str, str], side: dict[str, Any]) -> None:
    """The headers that few messages have."""
    if not envelope.persistent:
        wire[MODE] = "1"
    if envelope.priority != 4:
        wire[PRIORITY] = str(envelope.priority)
    if envelope.expiration:
        wire[EXPIRATION], wire[_EXPIRATION_TYPE] = str(envelope.expiration), "long"
    if envelope.delivery_time:
        wire[DELIVERY_TIME] = str(envelope.delivery_time)
    if envelope.jms_type is not None:
        _text(JMS_TYPE, "type", envelope.jms_type, wire, side)
    correlation = envelope.correlation_id
    if correlation is not None:
        raw = correlation if isinstance(correlation, bytes) else correlation.encode("utf-8", "surrogatepass")
        wire[CORRELATION] = b64encode(raw).decode()
    reply_to = envelope.reply_to
    if reply_to is not None:
        wire[REPLY_TO] = names.full(reply_to.name)
        if reply_to.topic:
            wire[REPLY_KIND] = "topic"
        if reply_to.temporary != looks_temporary(reply_to.name):
            side["temporary"] = reply_to.temporary


def _text(name: str, field: str, text: str, wire: dict[str, str], side: dict[str, Any]) -> None:
    if is_unicode(text):
        wire[name] = text
    else:
        side[field] = text


def _size(wire: dict[str, str]) -> int:
    """At least the bytes of properties, key and metadata; not much more where they are many."""
    texts = (*wire, *wire.values(), wire.get(GROUP, ""))
    most = 4 * len("".join(texts))
    if most > _SMALL:
        most = sum([len(text.encode()) for text in texts])
    return most + _EACH * len(wire) + _FIXED
