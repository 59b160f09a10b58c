"""A copy of a received message for another queue, such as the dead-letter queue. Pure.

Everything that need not change keeps its bytes: ids, times, types that JMS does not have, body, footer.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from jmsbridge.spi import Address, BodyKind
from jmsbridge_amqp.messages.bodies import encode as encode_body
from jmsbridge_amqp.messages.conventions import DELIVERY_TIME, DESTINATION, DUPLICATE, EXPIRATION
from jmsbridge_amqp.messages.encoding import annotations, header, properties
from jmsbridge_amqp.messages.naming import Naming, kind_byte
from jmsbridge_amqp.messages.sections import (
    ANNOTATIONS,
    APPLICATION,
    DELIVERY_ANNOTATIONS,
    HEADER,
    PROPERTIES,
    Splitter,
    read_header,
    walk,
)
from jmsbridge_amqp.protocol.errors import Malformed
from jmsbridge_amqp.protocol.reading import compound, decode
from jmsbridge_amqp.protocol.writing import compound_map, encode, encode_pairs, string, symbol

__all__ = ["copy_for"]

_USER, _TO, _EXPIRATION = 1, 2, 8
_ANNOTATIONS: Final = b"\x00\x53\x72"
_APPLICATION: Final = b"\x00\x53\x74"


def copy_for(data: bytes, address: Address, notes: Mapping[str, Any], naming: Naming) -> bytes:
    """The message for another queue, with ``notes`` among its properties.

    It omits what would make it expire or wait again, the count of its deliveries, its user id, which some brokers
    check, and its duplicate id, with which Artemis would drop it. A malformed message is copied as the body of a bytes
    message.
    """
    try:
        Splitter().split(data)
        return _copied(data, address, notes, naming)
    except Malformed:
        front = header(True, 4, 0) + annotations(BodyKind.BYTES, address)
        to = properties({_TO: string(naming.text(address))})
        return front + to + _APPLICATION + encode_pairs(notes) + encode_body(BodyKind.BYTES, data)


def _copied(data: bytes, address: Address, notes: Mapping[str, Any], naming: Naming) -> bytes:
    head = noted = delivery = b""
    fields: dict[int, bytes | None] = {}
    own: dict[Any, bytes] = {}
    rest = []
    for code, start, offset, end in walk(data):
        if code == HEADER:
            found = read_header(data, offset)[0]
            head = header(found.persistent, found.priority, 0, explicit=True)
        elif code == DELIVERY_ANNOTATIONS:
            delivery = data[start:end]
        elif code == ANNOTATIONS:
            noted = _ANNOTATIONS + _annotated(_pairs(data, offset), address)
        elif code == PROPERTIES:
            fields = dict(enumerate(_items(data, offset)))
        elif code == APPLICATION:
            own = _pairs(data, offset)
        else:
            rest.append(data[start:end])
    fields |= {_USER: None, _TO: string(naming.text(address)), _EXPIRATION: None}
    own.pop(DUPLICATE, None)
    own |= {name: string(name) + encode(value) for name, value in notes.items()}
    application = _APPLICATION + compound_map(b"".join(own.values()), len(own)) if own else b""
    return b"".join([head, delivery, noted, properties(fields), application, *rest])


def _annotated(table: dict[Any, bytes], address: Address) -> bytes:
    """The message annotations without a delivery time; if they have a destination, it is replaced by the new one."""
    for name in (DELIVERY_TIME, "x-opt-delivery-delay", EXPIRATION):
        table.pop(name, None)
    if DESTINATION in table:
        table[DESTINATION] = symbol(DESTINATION) + bytes((0x51, kind_byte(address)))
    return compound_map(b"".join(table.values()), len(table))


def _items(data: bytes, offset: int) -> Iterator[bytes]:
    """The encoded items of a list or map; Malformed."""
    count, offset, end = compound(data, offset)
    for _ in range(count):
        start = offset
        offset = decode(data, start)[1]
        yield data[start:offset]
    if offset != end:
        raise Malformed(f"a list or map ends at byte {offset} instead of {end}")


def _pairs(data: bytes, offset: int) -> dict[Any, bytes]:
    """The encoded pairs of a map by their decoded keys; Malformed."""
    items = _items(data, offset)
    found = {}
    for key in items:
        name = decode(key, 0)[0]
        value = next(items, None)
        if value is None or isinstance(name, (list, dict)):
            raise Malformed(f"a map before byte {offset} has a key without a value, or a list as a key")
        found[name] = key + value
    return found
