"""Decodes what a message of Pulsar consists of, from every kind of sender. Pure; never raises.

A Java program that sends on what it received writes its headers twice, and this side sees the older ones: JMSType,
JMSReplyTo, JMSCorrelationID, JMSPriority and the id may be those of the first message. Such a message is known by its
property JMSXDeliveryCount.
"""

import json
from base64 import b64decode
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

import msgspec

from jmsbridge.spi import Address, BodyKind, Envelope
from jmsbridge.transport.typed_values import decode_properties, header_number
from jmsbridge_pulsar.messages import bodies
from jmsbridge_pulsar.messages.conventions import (
    CONNECTION,
    CORRELATION,
    DELIVERIES,
    DELIVERY_TIME,
    EXPIRATION,
    FAULT,
    GROUP,
    ID,
    JMS_TYPE,
    KIND,
    MODE,
    PRIORITY,
    REPLY_KIND,
    REPLY_TO,
    SEQUENCE,
    SIDE,
    Side,
    type_name,
)
from jmsbridge_pulsar.messages.names import Names
from jmsbridge_pulsar.messages.typed_texts import READ

__all__ = ["decode"]

_MOST_TIME: Final = (1 << 63) - 1
_RAW: Final = BodyKind.BYTES
_PRIORITIES: Final = {str(number): number for number in range(10)}
_PLAIN: Final = frozenset({KIND, ID, CONNECTION})
_LONGEST_CACHED: Final = 1024  # characters of the names in one message that are remembered
_Shown = tuple[tuple[str, str], ...]
_NO_SIDE: Final = Side()
_decode_side: Final = msgspec.json.Decoder(Side).decode


def decode(
    *,
    body: bytes,
    is_null: bool,
    properties: Mapping[str, str] | None,
    key: str | None,
    event_time: int,
    message_id: tuple[int, int, int, int],
    address: Address,
    names: Names,
    fault: str | None = None,
) -> Envelope:
    """The message received from ``address``.

    ``is_null`` says that the body is Pulsar's null value, ``key`` is the partition key, and ``message_id`` has ledger,
    entry, partition and the index in the batch. ``properties`` is None if the client library cannot read them because
    they are not in UTF-8. A message that cannot be decoded has its raw body, and the reason in the property ``FAULT``:
    ``fault``, or what is found out here.
    """
    wire = {} if properties is None else properties
    shown, is_plain = _names_in(wire)
    found = _properties(wire, shown, key)
    kind, content, fault = bodies.decode(wire.get(KIND), body, is_null) if fault is None else (_RAW, body, fault)
    timestamp = event_time if event_time <= _MOST_TIME else 0
    if is_plain and fault is None:  # most messages, and faster
        return Envelope(address, kind, content, found, wire[ID], timestamp)
    side = _NO_SIDE
    if properties is None:
        fault = "properties that are not in UTF-8"
    elif SIDE in wire:
        side, bad_side = _read_side(wire[SIDE], found)
        fault = bad_side or fault
    if fault is not None:
        found[FAULT] = fault
    return Envelope(
        *(address, kind, content, found),
        _message_id(wire, side, message_id),
        timestamp,
        wire.get(MODE) != "1",
        _priority(wire.get(PRIORITY)),
        header_number(wire.get(EXPIRATION)),
        _delivery_time(wire, timestamp),
        _correlation(wire.get(CORRELATION)),
        _reply_to(wire, names, side.temporary),
        wire.get(JMS_TYPE, side.type),
    )


def _id_of(ledger: int, entry: int, partition: int, batch: int) -> str:
    """The id of a message whose sender chose none, as Starlight for JMS makes it."""
    whole = f"ID:{ledger}:{entry}:{partition}"
    return whole if batch < 0 else f"{whole}:{batch}"


def _properties(wire: Mapping[str, str], shown: _Shown, key: str | None) -> dict[str, Any]:
    """The application's properties. One that is not of its type is text, as Java shows it."""
    found: dict[str, Any] = {}
    for name, typed in shown:
        text = wire[name]
        read = READ.get(wire[typed]) if typed else None
        if read is None:
            found[name] = text
        else:
            try:
                found[name] = read(text)
            except ValueError:
                found[name] = text
    if key:
        found[GROUP] = key
    if DELIVERIES in wire:  # without a group a Java program read an empty name and a text as number, and sent these on
        if not found.get(GROUP, True):
            del found[GROUP]
        if isinstance(found.get(SEQUENCE), str):
            del found[SEQUENCE]
    return found


def _names_in(wire: Mapping[str, str]) -> tuple[_Shown, bool]:
    names = tuple(wire)
    return (_sorted_once if len("".join(names)) <= _LONGEST_CACHED else _sorted)(names)


def _sorted(names: tuple[str, ...]) -> tuple[_Shown, bool]:
    """Of the names in a message those of the application, each with that of its type, if that is there; and whether
    the others are no more than those that each message of jmsbridge has.
    """
    known = frozenset(names)
    pairs = [(name, type_name(name)) for name in names]
    shown = tuple([(name, typed if typed in known else "") for name, typed in pairs if typed])
    others = known - {part for pair in shown for part in pair}
    return shown, _PLAIN - {CONNECTION} <= others <= _PLAIN


_sorted_once: Final = lru_cache(256)(_sorted)


def _read_side(text: str, found: dict[str, Any]) -> tuple[Side, str | None]:
    """What is in ``SIDE``, its properties added to those found; or why it cannot be read."""
    try:
        try:
            side = _decode_side(text)
        except msgspec.DecodeError:
            side = msgspec.convert(json.loads(text), Side)  # lone surrogates
        found |= decode_properties(side.properties, side.types)
    except (ValueError, RecursionError) as error:
        return _NO_SIDE, f"the property {SIDE} cannot be read: {error}"
    return side, None


def _message_id(wire: Mapping[str, str], side: Side, message_id: tuple[int, int, int, int]) -> str | None:
    known = wire.get(ID, side.id)
    if known is not None:
        return known
    return None if side.no_id else _id_of(*message_id)


def _reply_to(wire: Mapping[str, str], names: Names, temporary: bool | None) -> Address | None:
    full = wire.get(REPLY_TO)
    return None if full is None else names.reply_address(full, wire.get(REPLY_KIND), temporary)


def _delivery_time(wire: Mapping[str, str], timestamp: int) -> int:
    """0 without a delay: Java programs always write a time, that of the send."""
    found = header_number(wire.get(DELIVERY_TIME))
    return 0 if found == timestamp or DELIVERIES in wire else found


def _correlation(text: str | None) -> str | bytes | None:
    """The id in Base64; text that is not is taken as it is, as Java does. Bytes if it is not text."""
    if text is None:
        return None
    try:
        raw = b64decode(text if "=" in text else text + "=" * (-len(text) % 4), validate=True)
    except ValueError:
        return text
    try:
        return raw.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return raw


def _priority(text: str | None) -> int:
    return 4 if text is None else _PRIORITIES.get(text, 4)
