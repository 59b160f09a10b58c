"""Encodes bodies as RabbitMQ's Java client for JMS does in its own mode (``com.rabbitmq.jms``).

A body is a Java object stream: class, id, the client's own properties, the user's properties, the content. Pure.
The constant part for a destination is cached, because it is most of the work.
"""

import struct
from collections.abc import Callable
from typing import Any, Final

from jmsbridge.codecs import mutf8
from jmsbridge.spi import Address, BodyKind, Byte, Char, Envelope, Float, Long, Short
from jmsbridge_rabbitmq.protocol.cache import Cache
from jmsbridge_rabbitmq.protocol.fields import Unencodable, text

__all__ = ["CLASSES", "CLIENT", "DESTINATION", "HEADER", "encode"]

_JAVA_EXCHANGES: Final = {
    (False, False): "jms.durable.queues",
    (False, True): "",
    (True, False): "jms.durable.topic",
    (True, True): "jms.temp.topic",
}
"""The exchange with which a Java program reaches each kind of destination, by (topic, temporary).

The client binds its own temporary queues to ``jms.temp.queues``; the default exchange reaches every queue.
"""

HEADER: Final = b"\xac\xed\0\5"
CLIENT: Final = b"com.rabbitmq.jms.client."
_NAMES: Final = {
    BodyKind.NONE: "RMQNullMessage",
    BodyKind.TEXT: "message.RMQTextMessage",
    BodyKind.BYTES: "message.RMQBytesMessage",
    BodyKind.MAP: "message.RMQMapMessage",
    BodyKind.STREAM: "message.RMQStreamMessage",
    BodyKind.OBJECT: "message.RMQObjectMessage",
}
CLASSES: Final = {kind: mutf8.write_utf(CLIENT.decode() + name) for kind, name in _NAMES.items()}
DESTINATION: Final = "com.rabbitmq.jms.admin.RMQDestination"

_pack_size: Final = struct.Struct(">I").pack
_pack_long: Final = struct.Struct(">q").pack


def _key(name: str) -> bytes:
    return mutf8.write_utf("rmq.jms.message." + name)


_ID: Final = _key("id") + b"\x08"
_CORRELATION: Final = _key("correlation.id") + b"\x08"
_TYPE: Final = _key("type") + b"\x08"
_DELIVERY: Final = _key("delivery.type") + b"\x05"  # the delivery time; the client uses this wrong name
_TO: Final = _key("destination") + b"\x7f"
_REPLY_TO: Final = _key("reply.to") + b"\x7f"
_FIXED_KEYS: Final = (
    _key("delivery.mode") + b"\x04",
    _key("timestamp") + b"\x05",
    _key("priority") + b"\x04",
    _key("expiration") + b"\x05",
)
_MODE, _TIME, _PRIORITY, _EXPIRY = _FIXED_KEYS
_pack_fixed: Final = struct.Struct(">{}si{}sq{}si{}sq".format(*map(len, _FIXED_KEYS))).pack
_DESCRIPTOR: Final = b"".join(
    (
        b"\x73\x72",
        mutf8.write_utf(DESTINATION),
        bytes.fromhex("0848d98d95d12629 02 0008"),
        *(b"Z" + mutf8.write_utf(name) for name in ("amqp", "isQueue", "isTemporary")),
        b"L" + mutf8.write_utf("amqpExchangeName") + b"\x74" + mutf8.write_utf("Ljava/lang/String;"),
        *(
            b"L" + mutf8.write_utf(name) + b"\x71\0\x7e\0\1"
            for name in ("amqpQueueName", "amqpRoutingKey", "destinationName")
        ),
        b"L" + mutf8.write_utf("queueDeclareArguments") + b"\x74" + mutf8.write_utf("Ljava/util/Map;"),
        b"\x78\x70",
    )
)
_SECOND: Final = b"\x73\x71\0\x7e\0\0"


def _utf(value: str) -> bytes:
    try:
        return mutf8.write_utf(value)
    except mutf8.ModifiedUtf8Error as error:
        raise Unencodable(f"RabbitMQ's Java client cannot read a text or name of this length here: {error}") from error


def _object(address: Address, handle: int) -> bytes:
    """The fields of a destination; ``handle`` refers to its name, which Java writes once."""
    again = b"\x71\0\x7e" + handle.to_bytes(2, "big")
    return b"".join(
        (
            bytes((0, not address.topic, address.temporary)),
            b"\x74" + _utf(_JAVA_EXCHANGES[address.topic, address.temporary]),
            b"\x74" + _utf(address.name),
            again,
            again,
            b"\x70",
        )
    )


def _block(data: bytes) -> bytes:
    size = len(data)
    return (b"\x77" + bytes((size,)) if size < 256 else b"\x7a" + _pack_size(size)) + data


_names: Final = Cache(_utf)
_heads: Final[Cache[Address, bytes]] = Cache(lambda address: _DESCRIPTOR + _object(address, 5))
_replies: Final[Cache[Address, bytes]] = Cache(lambda address: _block(_REPLY_TO) + _SECOND + _object(address, 8))


def encode(envelope: Envelope, message_id: str) -> bytes:
    """Encode a body; ``message_id`` is used if ids are disabled. Unencodable if a text exceeds 65,535 bytes."""
    kind, address, reply_to = envelope.kind, envelope.address, envelope.reply_to
    count, parts = _own(envelope)
    parts.append(_pack_size(len(envelope.properties)))
    for name, value in envelope.properties.items():
        parts.append(_names[name] + _tagged(value))
    parts.append(_content(kind, envelope.body))
    raw_id = message_id[3:] if message_id.startswith("ID:") else message_id
    first = (CLASSES[kind], _utf(raw_id), _pack_size(count if reply_to is None else count + 1), _TO)
    whole = [HEADER, _block(b"".join(first)), _heads[address]]
    if reply_to is not None:
        whole.append(_replies[reply_to])
    whole.append(_block(b"".join(parts)))
    if kind is BodyKind.BYTES:
        whole.append(envelope.body)
    return b"".join(whole)


def _own(envelope: Envelope) -> tuple[int, list[bytes]]:
    """The client's own properties without the destinations, and their number including the one destination."""
    parts = [
        _pack_fixed(
            _MODE,
            2 if envelope.persistent else 1,
            _TIME,
            envelope.timestamp,
            _PRIORITY,
            envelope.priority,
            _EXPIRY,
            envelope.expiration,
        )
    ]
    count = 5
    if envelope.delivery_time:  # as in Java, which writes it only if there was a delay
        parts.append(_DELIVERY + _pack_long(envelope.delivery_time))
        count += 1
    if envelope.message_id is not None:
        parts.append(_ID + _utf(envelope.message_id))
        count += 1
    correlation = envelope.correlation_id
    if correlation is not None:
        parts.append(_CORRELATION + _utf(correlation if isinstance(correlation, str) else text(correlation)))
        count += 1
    if envelope.jms_type is not None:
        parts.append(_TYPE + _utf(envelope.jms_type))
        count += 1
    return count, parts


def _content(kind: BodyKind, body: Any) -> bytes:
    if kind is BodyKind.TEXT or kind is BodyKind.OBJECT:
        if body is None:
            return b"\1"
        # Java's getBytes would replace lone surrogates by question marks; these can be decoded by jmsbridge.
        data: bytes = body if kind is BodyKind.OBJECT else body.encode("utf-8", "surrogatepass")
        return b"\0" + _pack_size(len(data)) + data
    if kind is BodyKind.MAP:
        return _pack_size(len(body)) + b"".join([_utf(name) + _tagged(value) for name, value in body.items()])
    if kind is BodyKind.STREAM:
        fields = b"".join(map(_tagged, body))
        nested = HEADER + _block(fields) if fields else HEADER
        return _pack_size(len(nested)) + nested
    return b""


_TAGGED: Final[dict[type, Callable[[Any], bytes]]] = {
    type(None): lambda _: b"\xff",
    bool: lambda value: b"\1\1" if value else b"\1\0",
    Byte: lambda value: struct.pack(">Bb", 2, value),
    Short: lambda value: struct.pack(">Bh", 3, value),
    int: lambda value: struct.pack(">Bi", 4, value),
    Long: lambda value: struct.pack(">Bq", 5, value),
    Float: lambda value: struct.pack(">Bf", 6, value),
    float: lambda value: struct.pack(">Bd", 7, value),
    str: lambda value: b"\x08" + _utf(value),
    Char: lambda value: struct.pack(">BH", 9, ord(value)),
    bytes: lambda value: b"\x0a" + _pack_size(len(value)) + value,
}


def _tagged(value: Any) -> bytes:
    return _TAGGED[type(value)](value)
