"""Header tables of messages: JMS headers, properties of the application, and the broker's headers.

The JMS headers are those of RabbitMQ's Java client, which the broker's selectors see as well; ``x-jb-…`` are those of
jmsbridge. Nulls, byte arrays, timestamps and tables are never written, because they crash the broker's selector plugin
and with it the channel; neither are NaN and infinities, for which the broker closes the connection.
"""

import json
import math
from collections.abc import Mapping
from typing import Any, Final

from jmsbridge.spi import Byte, Float, Long, Short
from jmsbridge_rabbitmq.protocol.fields import (
    Malformed,
    Names,
    NotFinite,
    TooLong,
    decode_entries,
    encode_pairs,
    strict_text,
)

__all__ = [
    "ABSENT_TEXT",
    "BROKER_HEADERS",
    "CORRELATION",
    "DEAD",
    "DELIVERIES",
    "PLAIN",
    "REPLY_KIND",
    "STAMP",
    "decode",
    "encode_properties",
]

STAMP: Final = "x-jb-conn"
"""The sending link, for no-local."""
REPLY_KIND: Final = "x-jb-reply-to"
"""What ``reply-to`` names, if not a plain queue: topic, temp-queue, temp-topic."""
CORRELATION: Final = "x-jb-correlation"
"""A correlation id that was set as bytes, in hexadecimal digits."""
ABSENT_TEXT: Final = "x-jb-null"
"""The text is None, not empty."""

DEAD: Final = "x-jb-dead"
"""jmsbridge dead-lettered the message: it does not expire, even if its body has an expiration."""

DELIVERIES: Final = "x-jb-deliveries"
"""The deliveries before the message was copied to the tail of its queue, where the broker counts from 0."""

PLAIN: Final = "x-jb-plain"
"""The body looks like one of the Java client but is not."""

_NULLS: Final = "x-jb-nulls"  # the names of the properties that are None, as a JSON array
_FLOATS: Final = "x-jb-floats"  # the types of NaN and infinities, which are sent as texts, by name, as JSON
_LONG: Final = "x-jb-long"  # the names of more than 255 bytes, by their substitutes, as JSON
_ESCAPED: Final = {"CC": "x-jb-p-CC", "BCC": "x-jb-p-BCC"}  # RabbitMQ would use these as further routing keys
_NOTES: Final = frozenset({_NULLS, _FLOATS, _LONG, *_ESCAPED.values()})

BROKER_HEADERS: Final = {
    "CC": "further routing keys of the sender",
    "BCC": "the same; removed on delivery",
    "x-acquired-count": "deliveries so far, quorum queues from 4.3",
    "x-death": "a record of each dead-lettering",
    "x-delay": "the delay for the plugin for delayed messages",
    "x-delivery-count": "deliveries so far, quorum queues",
    "x-first-death-exchange": "where it was first dead-lettered",
    "x-first-death-queue": "the same",
    "x-first-death-reason": "the same",
    "x-last-death-exchange": "where it was last dead-lettered",
    "x-last-death-queue": "the same",
    "x-last-death-reason": "the same",
    "x-received-from": "federation: the brokers on its route",
    "x-routing-key": "AMQP 1.0 bridges: its routing key",
    "x-exchange": "AMQP 1.0 bridges: its exchange",
    "x-shovelled": "shovels: its route",
    "x-shovelled-timestamp": "shovels: the time",
    "x-stream-offset": "its offset in a stream",
    "delayed-exchange": "the target of a delayed message of the Java client",
}
"""Headers that brokers add, which are not properties of a message."""


def _is_property(name: str) -> bool:
    if name.startswith("JMS"):
        return name[3:4] in ("X", "_") and name != "JMSXDeliveryCount"
    return bool(name) and name not in BROKER_HEADERS and not name.startswith(("x-jb-", "rmq."))


_names: Final = Names(_is_property)
_LONGEST: Final = 255  # bytes of a name
_TEXTS: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}  # as Java's toString writes them
_CARRIED: Final = frozenset({bool, Byte, Short, int, Long, Float, float, str, type(None)})


def encode_properties(properties: Mapping[str, Any], *, java: bool = False) -> bytes:
    """The entries for the application's properties.

    With ``java``, numbers that are not finite and long names are omitted, because the body contains all properties.
    """
    if None in properties.values() or "CC" in properties or "BCC" in properties:
        return _encode_rare(properties, java)
    try:
        return encode_pairs(properties)
    except (NotFinite, TooLong):
        return _encode_rare(properties, java)


def _encode_rare(properties: Mapping[str, Any], java: bool) -> bytes:
    table = {}
    nulls = []
    floats = {}
    long: dict[str, str] = {}
    for name, value in properties.items():
        key = _ESCAPED.get(name, name)
        if len(name) > _LONGEST or len(name.encode("utf-8", "surrogatepass")) > _LONGEST:
            if java:
                continue
            key = f"{_LONG}-{len(long)}"
            long[key] = name
        if value is None:
            nulls.append(name)
        elif not isinstance(value, float) or math.isfinite(value):
            table[key] = value
        elif not java:
            table[key] = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
            floats[name] = "float" if isinstance(value, Float) else "double"
    if long:
        table[_LONG] = json.dumps(long)
    if nulls:
        table[_NULLS] = json.dumps(nulls)
    if floats:
        table[_FLOATS] = json.dumps(floats)
    return encode_pairs(table)


def decode(data: bytes, start: int = 4) -> tuple[dict[str, Any], dict[str, Any]]:
    """The application's properties in an encoded table, after its length, and the other headers; Malformed."""
    mine: dict[str, Any] = {}
    others: dict[str, Any] = {}
    if decode_entries(data, start, len(data), _names, mine, others):
        mine = _carried(mine)
    if _NOTES.isdisjoint(others):
        return mine, others
    for name, escaped in _ESCAPED.items():
        if escaped in others:
            mine[name] = others[escaped]
    if _LONG in others:
        _restore_names(others, mine)
    if _NULLS in others:
        try:
            mine.update(dict.fromkeys(map(str, json.loads(others[_NULLS]))))
        except (TypeError, ValueError, RecursionError) as error:
            raise Malformed(f"the header {_NULLS} lists no names") from error
    if _FLOATS in others:
        _restore_floats(others[_FLOATS], mine)
    return _carried(mine), others  # what was restored may be anything, from a foreign sender


def _restore_names(others: dict[str, Any], mine: dict[str, Any]) -> None:
    try:
        names = dict(json.loads(others[_LONG]))
    except (TypeError, ValueError, RecursionError) as error:
        raise Malformed(f"the header {_LONG} lists no names") from error
    for key, name in names.items():
        if key in others and type(name) is str:
            mine[name] = others[key]


def _restore_floats(note: Any, mine: dict[str, Any]) -> None:
    try:
        kinds = dict(json.loads(note))
    except (TypeError, ValueError, RecursionError) as error:
        raise Malformed(f"the header {_FLOATS} lists no types") from error
    for name, kind in kinds.items():
        shown = mine.get(name)
        value = _TEXTS.get(shown) if type(shown) is str else None
        if value is not None:  # a replying program may have copied the note without the property
            mine[name] = Float(value) if kind == "float" else value


def _carried(table: dict[str, Any]) -> dict[str, Any]:
    """The entries with a JMS type: no tables and arrays, and byte arrays only if they are texts."""
    kept = {}
    for name, value in table.items():
        if type(value) is bytes:
            try:
                value = strict_text(value)
            except Malformed:  # not a text, so JMS has no type for it
                continue
        if type(value) in _CARRIED:
            kept[name] = value
    return kept
