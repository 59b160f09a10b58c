"""Header tables of messages: which entries are JMS headers, properties of the application, or the broker's own.

The JMS ones are those of RabbitMQ's Java client, which the broker's selectors see as well; ``x-jb-…`` are ours. No
entry is ever a null, byte array, timestamp or table: the broker's selector plugin dies of these, and its channel with
it.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from jmsbridge.spi import Byte, Float, Long, Short
from jmsbridge_rabbitmq.fields import Malformed, encode_pairs, strict_text

__all__ = [
    "ABSENT_TEXT",
    "BROKER_HEADERS",
    "CORRELATION",
    "PLAIN",
    "REPLY_KIND",
    "STAMP",
    "encode_properties",
    "read_properties",
]

STAMP: Final = "x-jb-conn"
"""Who sent it, for no-local."""
REPLY_KIND: Final = "x-jb-reply-to"
"""What ``reply-to`` names, where it is no plain queue: topic, temp-queue, temp-topic."""
CORRELATION: Final = "x-jb-correlation"
"""A correlation id that was set as bytes, in hexadecimal digits."""
ABSENT_TEXT: Final = "x-jb-null"
"""There is no text, not an empty one."""

PLAIN: Final = "x-jb-plain"
"""The body looks like one of the Java client's and is none."""

_NULLS: Final = "x-jb-nulls"  # the names of the properties that are None, as a JSON array
_ESCAPED: Final = "x-jb-p-"
_ROUTING: Final = frozenset({"CC", "BCC"})  # RabbitMQ takes these for further routing keys
_MOST_NAMES: Final = 4096

BROKER_HEADERS: Final = {
    "CC": "routing keys of the sender, followed by the broker",
    "BCC": "the same; removed on delivery",
    "x-acquired-count": "deliveries so far, quorum queues from 4.3",
    "x-death": "each time that it was dead-lettered",
    "x-delay": "delay asked of the plugin for delayed messages",
    "x-delivery-count": "deliveries so far, quorum queues",
    "x-first-death-exchange": "where it was first dead-lettered",
    "x-first-death-queue": "the same",
    "x-first-death-reason": "the same",
    "x-last-death-exchange": "where it was last dead-lettered",
    "x-last-death-queue": "the same",
    "x-last-death-reason": "the same",
    "x-received-from": "federation: the brokers that it came through",
    "x-routing-key": "AMQP 1.0 bridges: the key that it was sent with",
    "x-exchange": "AMQP 1.0 bridges: the exchange that it was sent to",
    "x-shovelled": "shovels: how it came",
    "x-shovelled-timestamp": "shovels: when",
    "x-stream-offset": "its place in a stream",
    "delayed-exchange": "where the Java client's delayed message goes in the end",
}
"""Headers that brokers add for themselves: never properties of a message."""


class _Keep(dict[str, bool]):
    """Whether a header is a property of the application; names are remembered, up to a bound."""

    def __missing__(self, name: str) -> bool:
        if len(self) >= _MOST_NAMES:
            self.clear()
        if name.startswith("JMS"):
            found = name[3:4] in ("X", "_") and name != "JMSXDeliveryCount"
        else:
            found = bool(name) and name not in BROKER_HEADERS and not name.startswith(("x-jb-", "rmq."))
        self[name] = found
        return found


_keep: Final = _Keep()
_CARRIED: Final = frozenset({bool, Byte, Short, int, Long, Float, float, str, type(None)})


def encode_properties(properties: Mapping[str, Any]) -> bytes:
    """The entries for the properties of an application; Unencodable for names that are too long."""
    if None in properties.values() or "CC" in properties or "BCC" in properties:
        return _encode_rare(properties)
    return encode_pairs(properties)


def _encode_rare(properties: Mapping[str, Any]) -> bytes:
    table = {}
    nulls = []
    for name, value in properties.items():
        if value is None:
            nulls.append(name)
        else:
            table[_ESCAPED + name if name in _ROUTING else name] = value
    if nulls:
        table[_NULLS] = json.dumps(nulls)
    return encode_pairs(table)


def read_properties(table: dict[str, Any]) -> dict[str, Any]:
    """The application's properties in a header table; Malformed where our own notes in it are none."""
    keep = _keep
    found = {name: value for name, value in table.items() if keep[name]}
    if not _CARRIED.issuperset(map(type, found.values())):
        found = _carried(found)
    for name in _ROUTING:
        if _ESCAPED + name in table:
            found[name] = table[_ESCAPED + name]
    if _NULLS in table:
        try:
            found.update(dict.fromkeys(map(str, json.loads(table[_NULLS]))))
        except (TypeError, ValueError, RecursionError) as error:
            raise Malformed(f"the header {_NULLS} lists no names") from error
    return found


def _carried(table: dict[str, Any]) -> dict[str, Any]:
    """Without what JMS has no type for: tables and arrays; byte arrays where they are no text."""
    kept = {}
    for name, value in table.items():
        if type(value) is bytes:
            try:
                value = strict_text(value)
            except Malformed:
                continue
        if type(value) in _CARRIED:
            kept[name] = value
    return kept
