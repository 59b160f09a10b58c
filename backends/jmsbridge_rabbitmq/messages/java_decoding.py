"""Decodes bodies of RabbitMQ's Java client for JMS, which ``java_encoding`` writes. Pure.

Checks bounds strictly, and otherwise accepts any order and size of blocks and properties, as Java may write them.
"""

import struct
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from jmsbridge.codecs import mutf8
from jmsbridge.spi import Address, BodyKind, Byte, Char, Envelope, Float, Long, Short
from jmsbridge_rabbitmq.messages.java_encoding import CLASSES, CLIENT, DESTINATION, HEADER
from jmsbridge_rabbitmq.messages.java_objects import JavaFields, ObjectReader
from jmsbridge_rabbitmq.protocol.cache import Cache
from jmsbridge_rabbitmq.protocol.fields import Malformed, strict_text

__all__ = ["decode", "is_java"]

_KINDS: Final = {data[2:]: kind for kind, data in CLASSES.items()}


def is_java(body: bytes) -> bool:
    """Whether this looks like a body of the Java client's own mode."""
    if body[:4] != HEADER:
        return False
    start = {0x77: 8, 0x7A: 11}.get(body[4] if len(body) > 4 else 0)
    return start is not None and body.startswith(CLIENT, start)


def decode(body: bytes, address: Address) -> Envelope:
    """The envelope in a body, with this address; Malformed.

    As in the Java client, only the body is used: the AMQP headers are for the broker's selectors.
    """
    stream = _Stream(body, 4)
    kind = _KINDS.get(stream.take(stream.number(2)))
    if kind is None:
        raise Malformed("a Java message has an unknown class")
    stream.utf()
    own: dict[str, Any] = {}
    for _ in range(stream.count()):
        name = stream.utf()
        own[name] = stream.tagged(objects=True)
    properties: dict[str, Any] = {}
    for _ in range(stream.count()):
        name = stream.utf()
        value = stream.tagged(objects=True)
        if not isinstance(value, (JavaFields, bytes, Char)):
            properties[name] = value
    content = _read_content(kind, stream)
    if kind is not BodyKind.BYTES and stream.more():
        raise Malformed("a Java message has bytes after its content")
    return _envelope(address, kind, content, properties, own)


def _envelope(
    address: Address, kind: BodyKind, content: Any, properties: dict[str, Any], own: dict[str, Any]
) -> Envelope:
    def get(name: str, wanted: type, default: Any) -> Any:
        value = own.get("rmq.jms.message." + name)
        return value if isinstance(value, wanted) else default

    return Envelope(
        address,
        kind,
        content,
        properties,
        get("id", str, None),
        int(get("timestamp", int, 0)),
        get("delivery.mode", int, 2) == 2,
        min(max(get("priority", int, 4), 0), 9),
        max(int(get("expiration", int, 0)), 0),
        int(get("delivery.type", int, 0)),
        get("correlation.id", str, None),
        _address(own.get("rmq.jms.message.reply.to")),
        get("type", str, None),
    )


def _address(found: Any) -> Address | None:
    """A destination object as an address; None for anything without a name."""
    if not isinstance(found, JavaFields) or found.class_name != DESTINATION:
        return None
    fields = found.fields
    # An 'amqp' destination is reached by its routing key; its name is local to the program that created it.
    name = fields.get("amqpRoutingKey" if fields.get("amqp") is True else "destinationName")
    if not isinstance(name, str) or not name:
        return None
    return Address(name, fields.get("isQueue") is not True, fields.get("isTemporary") is True)


def _read_content(kind: BodyKind, stream: "_Stream") -> Any:
    if kind is BodyKind.TEXT or kind is BodyKind.OBJECT:
        if stream.number(1):
            return None
        data = stream.take(stream.number(4))
        return strict_text(data) if kind is BodyKind.TEXT else data
    if kind is BodyKind.BYTES:
        return stream.raw_rest()
    if kind is BodyKind.MAP:
        fields = {}
        for _ in range(stream.count()):
            name = stream.utf()
            fields[name] = stream.tagged()
        return fields
    if kind is BodyKind.STREAM:
        nested = stream.take(stream.number(4))
        if nested[:4] != HEADER:
            raise Malformed("a Java stream message has no stream of fields")
        inner = _Stream(nested, 4)
        items = []
        while inner.more():
            items.append(inner.tagged())
        return items
    return None


_read_size: Final = struct.Struct(">I").unpack_from
_NUMBERS: Final[dict[int, tuple[Callable[[bytes], tuple[Any, ...]], int, Callable[[Any], Any] | None]]] = {
    tag: (struct.Struct(layout).unpack, struct.calcsize(layout), made)
    for tag, layout, made in (
        (1, ">?", None),
        (2, ">b", partial(int.__new__, Byte)),
        (3, ">h", partial(int.__new__, Short)),
        (4, ">i", None),
        (5, ">q", partial(int.__new__, Long)),
        (6, ">f", partial(float.__new__, Float)),
        (7, ">d", None),
        (9, ">H", lambda value: Char(chr(value))),
    )
}


def _any_text(data: bytes) -> str:
    try:
        return mutf8.decode(data)
    except mutf8.ModifiedUtf8Error as error:
        raise Malformed("a text in a Java stream is malformed") from error


_names: Final = Cache(_any_text)


def _text(data: bytes) -> str:
    return _names[data] if len(data) <= 32 else _any_text(data)  # longer ones are ids


class _Stream:
    """The block data of a Java stream as contiguous bytes, with objects where a tag announces them."""

    def __init__(self, data: bytes, start: int) -> None:
        self._data = data
        self._at = self._end = start  # where the current block is read, and where it ends
        self._objects: ObjectReader | None = None

    def more(self) -> bool:
        """Whether bytes are left."""
        while self._at == self._end:
            if self._end == len(self._data):
                return False
            self._next_block()
        return True

    def _next_block(self) -> None:
        data, end = self._data, self._end
        tag = data[end] if end < len(data) else -1
        if tag == 0x77 and end + 1 < len(data):
            self._at = end + 2
            self._end = self._at + data[end + 1]
        elif tag == 0x7A and end + 4 < len(data):
            self._at = end + 5
            self._end = self._at + _read_size(data, end + 1)[0]
        else:
            raise Malformed(f"a Java stream has no block at byte {end}")
        if self._end > len(data):
            raise Malformed(f"a block of a Java stream extends {self._end - len(data)} bytes beyond it")

    def take(self, count: int) -> bytes:
        """``count`` bytes, across blocks."""
        at = self._at
        stop = at + count
        if stop <= self._end:
            self._at = stop
            return self._data[at:stop]
        if count > len(self._data):
            raise Malformed(f"a Java stream of {len(self._data)} bytes announces {count} bytes")
        pieces = []
        while count:
            if self._at == self._end:
                self._next_block()
            stop = min(self._at + count, self._end)
            pieces.append(self._data[self._at : stop])
            count -= stop - self._at
            self._at = stop
        return b"".join(pieces)

    def number(self, size: int) -> int:
        """An unsigned number."""
        return int.from_bytes(self.take(size), "big")

    def count(self) -> int:
        """The number of entries that follow, which cannot exceed the number of bytes."""
        found = self.number(4)
        if found > len(self._data):
            raise Malformed(f"a Java stream of {len(self._data)} bytes announces {found} entries")
        return found

    def utf(self) -> str:
        """A text as ``writeUTF`` encodes it."""
        at = self._at
        start = at + 2
        if start <= self._end:
            stop = start + (self._data[at] << 8 | self._data[at + 1])
            if stop <= self._end:
                self._at = stop
                return _text(self._data[start:stop])
        return _text(self.take(self.number(2)))

    def tagged(self, objects: bool = False) -> Any:
        """A value after its tag."""
        at = self._at
        tag = self._data[at] if at < self._end else -1
        if tag < 0:
            tag = self.number(1)
        else:
            self._at = at + 1
        number = _NUMBERS.get(tag)
        if number is not None:
            unpack, size, made = number
            value = unpack(self.take(size))[0]
            return value if made is None else made(value)
        if tag == 8:
            return self.utf()
        if tag == 0xFF:
            return None
        if tag == 0x0A:
            return self.take(self.number(4))
        if not objects or self._at != self._end:
            raise Malformed(f"a Java stream has a value with the unknown tag {tag:#04x}")
        if self._objects is None:
            self._objects = ObjectReader(self._data)
        value, self._end = self._objects.read(self._end)
        self._at = self._end
        return value

    def raw_rest(self) -> bytes:
        """The bytes after the blocks."""
        if self._at != self._end:
            raise Malformed("a Java bytes message has bytes after its properties in their block")
        return self._data[self._end :]
