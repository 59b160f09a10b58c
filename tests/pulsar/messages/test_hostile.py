"""Messages of other programs, and broken or malicious ones: never an exception, or work out of proportion."""

import random
import time
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jmsbridge.codecs import javaserial
from jmsbridge.spi import Address, BodyKind, Envelope
from jmsbridge_pulsar.messages import java_maps
from jmsbridge_pulsar.messages.conventions import FAULT
from jmsbridge_pulsar.messages.decoding import decode
from jmsbridge_pulsar.messages.names import Names
from tests.pulsar.messages import golden

NAMES = Names()
KINDS = ["text", "bytes", "map", "stream", "object", "header"]
NAMED = [
    *("JMSPulsarMessageType", "JMSMessageId", "JMSReplyTo", "JMSReplyToType", "JMSType", "JMSCorrelationID"),
    *("JMSDeliveryMode", "JMSPriority", "JMSDeliveryTime", "JMSExpiration", "JMSXGroupID", "JMSXDeliveryCount"),
    *("JMS_jmsbridge", "n", "n_jsmtype"),
]
TEXTS = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        ["int", "float", "-1", "9" * 30, "٣", "{}", '{"properties":{"a":"x"},"types":"{\\"a\\":\\"int\\"}"}']
    ),
    st.sampled_from(['{"types":"x"}', '{"id":5}', "[" * 2000, '{"type":"\\ud800"}', '{"properties":{"a":1}}', *KINDS]),
)


def read(body: bytes = b"", properties: dict[str, str] | None = None, **more: Any) -> Envelope:
    known: dict[str, Any] = {
        "is_null": False,
        "key": None,
        "event_time": 0,
        "message_id": (1, 2, -1, -1),
        "address": Address("orders"),
        "names": NAMES,
        **more,
    }
    return decode(body=body, properties=properties, **known)


@given(
    properties=st.dictionaries(st.sampled_from(NAMED), TEXTS),
    body=st.one_of(st.binary(max_size=20), st.binary(max_size=20).map(b"\xac\xed\0\5".__add__)),
    is_null=st.booleans(),
    key=st.one_of(st.none(), st.text(max_size=3)),
    event_time=st.integers(0, (1 << 64) - 1),
)
def test_decoding_never_raises(
    properties: dict[str, str], body: bytes, is_null: bool, key: str | None, event_time: int
) -> None:
    found = read(body, properties, is_null=is_null, key=key, event_time=event_time)
    assert 0 <= found.priority <= 9
    for moment in (found.timestamp, found.expiration, found.delivery_time):
        assert 0 <= moment < 1 << 63
    assert set(found.properties) <= {"JMSXGroupID", "n", "a", FAULT}
    if FAULT in found.properties and "JMS_jmsbridge" not in properties:
        assert (found.kind, found.body) == (BodyKind.BYTES, body)


@pytest.mark.parametrize("is_null", [False, True])
def test_a_message_of_another_program_is_one_of_bytes(is_null: bool) -> None:
    found = read(b"" if is_null else b"data", {"trace-id": "7"}, is_null=is_null, key="k", event_time=5)
    assert (found.kind, found.body) == (BodyKind.BYTES, b"" if is_null else b"data")
    assert found.properties == {"trace-id": "7", "JMSXGroupID": "k"}
    assert (found.message_id, found.timestamp, found.persistent, found.priority) == ("ID:1:2:-1", 5, True, 4)


@pytest.mark.parametrize(
    ("name", "is_null", "kind", "body"),
    [
        ("map", False, BodyKind.MAP, {}),
        ("object", False, BodyKind.OBJECT, None),
        ("bytes", True, BodyKind.BYTES, b""),
        ("stream", True, BodyKind.STREAM, []),
        ("header", False, BodyKind.NONE, None),
    ],
)
def test_what_starlight_fails_on_is_read(name: str, is_null: bool, kind: BodyKind, body: Any) -> None:
    found = read(b"", {"JMSPulsarMessageType": name}, is_null=is_null)
    assert (found.kind, found.body, found.properties) == (kind, body, {})


@pytest.mark.parametrize(
    ("name", "body", "reason"),
    [
        ("pickle", b"data", "unknown type of message 'pickle'"),
        ("header", b"data", "has a body"),
        ("text", b"\xff", "UTF-8"),
        ("map", b"data", "header of a Java"),
        ("map", javaserial.dumps({"a": 1}), "block is missing"),
        ("stream", b"\x0c", "unknown tag 12"),
        ("stream", b"\x03\0", "ends within"),
        ("stream", b"\x02\0\5x", "truncated"),
        ("stream", b"\x0a\xff\xff\xff\xff", "do not end"),
        ("stream", b"\x0a\0\0\0\x09x", "do not end"),
    ],
)
def test_a_body_that_cannot_be_read_is_kept_as_bytes(name: str, body: bytes, reason: str) -> None:
    found = read(body, {"JMSPulsarMessageType": name, "n": "1"})
    assert (found.kind, found.body, found.properties["n"]) == (BodyKind.BYTES, body, "1")
    assert reason in found.properties[FAULT]


def test_properties_that_are_not_in_utf_8() -> None:
    found = read(b"data", None)
    assert (found.kind, found.body, list(found.properties)) == (BodyKind.BYTES, b"data", [FAULT])


def field(value: bytes) -> bytes:
    return bytes.fromhex("aced000577070000000100016b") + value


NUMBER = java_maps.encode({"k": 1})
MAPS = {
    "every prefix ends within it": NUMBER[:-1],
    "of a class that is not a field's": field(javaserial.dumps([1])[4:]),
    "an object of a class that is not read": field(b"\x73" + b"\x72\0\1X" + bytes(8) + b"\2\0\0\x78\x70"),
    "a class as a value": field(b"\x76\x72\0\1X" + bytes(8) + b"\2\0\0\x78\x70"),
    "a reference to a class": field(b"\x73\x71\0\x7e\0\0"),
    "a reference to nothing": field(b"\x71\0\x7e\0\x09"),
    "a class with an annotation": field(b"\x73\x72\0\1X" + bytes(8) + b"\2\0\0\x77\1x\x78\x70"),
    "an Integer without a value": field(NUMBER[13:].replace(b"\0\5value", b"\0\5other")),
    "an Integer of a long": field(NUMBER[13:].replace(b"I\0\5value", b"J\0\5value") + b"\xff" * 4),
    "more fields than bytes": b"\xac\xed\0\5\x77\4\xff\xff\xff\xff",
    "more blocks than names": b"\xac\xed\0\5\x77\x0a\0\0\0\1\0\1kabc\x70",
    "endless parents": field(b"\x73" + (b"\x72\0\1X" + bytes(8) + b"\2\0\0\x78") * 50),
    "a block of four gigabytes": b"\xac\xed\0\5\x7a\xff\xff\xff\xff",
    "an array of two gigabytes": field(b"\x75\x72\0\2[B" + bytes(8) + b"\2\0\0\x78\x70\x7f\xff\xff\xff"),
}


@pytest.mark.parametrize("body", MAPS.values(), ids=MAPS)
def test_maps_that_java_would_not_write(body: bytes) -> None:
    tracemalloc.start()
    try:
        found = read(body, {"JMSPulsarMessageType": "map"})
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
    assert (found.kind, found.body) == (BodyKind.BYTES, body)
    assert found.properties[FAULT]


def test_a_map_whose_writer_refers_to_values_again() -> None:
    """Java never does in a map message, but may: ``writeObject`` in place of ``writeUnshared``."""
    twice = b"\xac\xed\0\5\x77\x07\0\0\0\2\0\1a" + b"\x74\0\1x" + b"\x77\x03\0\1b" + b"\x71\0\x7e\0\0"
    assert java_maps.decode(twice) == {"a": "x", "b": "x"}


@pytest.mark.parametrize(("kind", "body"), [(name, raw) for _, name, _, raw in golden.BODIES if raw])
def test_damaged_bodies_are_read_or_kept(kind: str, body: str) -> None:
    chance = random.Random(7)
    whole = bytes.fromhex(body)
    for _ in range(300):
        damaged = bytearray(whole)
        for _ in range(chance.randint(1, 3)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        data = bytes(damaged[: chance.randint(0, len(damaged))])
        found = read(data, {"JMSPulsarMessageType": kind})
        assert FAULT not in found.properties or (found.kind, found.body) == (BodyKind.BYTES, data)


def test_many_and_long_properties_take_no_more_time() -> None:
    properties = {f"p{number}_jsmtype": "int" for number in range(20_000)} | {"x" * 1_000_000: "y" * 1_000_000}
    properties |= {
        "JMSPriority": "9" * 1_000_000,
        "JMSCorrelationID": "A" * 1_000_000,
        "JMSExpiration": "1" * 1_000_000,
    }
    start = time.process_time()
    found = read(b"", properties)
    assert time.process_time() - start < 1
    assert (found.priority, found.expiration) == (4, 0)
