"""Truncated, mutated and malicious messages: never an exception, a crash, or memory out of proportion."""

import random
import tracemalloc

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jmsbridge.codecs import javaserial
from jmsbridge.spi import Address, BodyKind, Byte, Char, Envelope, Float, Long, Short
from jmsbridge_amqp.messages.wire import FAULT, Decoder, Encoder, Inbound, Malformed, Naming, copy_for
from jmsbridge_amqp.protocol import reading

HERE = Address("orders")
NOW = 1_770_000_000_123
FIELDS = {"b": Byte(1), "s": Short(2), "i": 300, "l": Long(4), "f": Float(1.5), "d": -2.25, "t": True, "n": None}
FULL = Envelope(
    HERE,
    BodyKind.MAP,
    {**FIELDS, "c": Char("x"), "raw": b"\0", "text": "x" * 300},
    {**FIELDS, "text": "é" * 200, "JMSXGroupID": "g", "JMSXGroupSeq": 1 << 20},
    "ID:1",
    NOW,
    True,
    7,
    NOW + 5000,
    NOW + 1,
    "ID:AMQP_ULONG:7",
    Address("answers", temporary=True),
    "order",
    "once",
)
BODIES = {
    BodyKind.NONE: None,
    BodyKind.TEXT: "text",
    BodyKind.BYTES: b"bytes",
    BodyKind.STREAM: [1, "x", b"y"],
    BodyKind.OBJECT: javaserial.dumps([1]),
}
MESSAGES = [Encoder(user="me", duplicates=True).encode(FULL, NOW)] + [
    Encoder().encode(Envelope(HERE, kind, body, {"a": 1, "b": "x"}, "ID:1", NOW), NOW) for kind, body in BODIES.items()
]


def checked(data: bytes) -> Inbound:
    """Decode, and check that a fault is all that can go wrong, also in a copy."""
    found = Decoder(HERE).decode(data)
    if found.fault is not None:
        assert (found.envelope.kind, found.envelope.body) == (BodyKind.BYTES, data)
        assert found.envelope.properties[FAULT] == found.fault
    assert 1 <= found.delivery_count < 1 << 31
    again = Decoder(Address("dead")).decode(copy_for(data, Address("dead"), {"note": 1}, Naming()))
    assert again.envelope.properties["note"] == 1
    assert again.envelope.address == Address("dead")
    return found


@given(st.binary(max_size=60))
def test_any_noise_is_a_message(data: bytes) -> None:
    checked(data)
    checked(b"\x00\x53\x77" + data)


@pytest.mark.parametrize("data", MESSAGES)
def test_every_truncation_is_a_message(data: bytes) -> None:
    sections = {0}
    offset = 0
    while (offset := data.find(b"\x00\x53", offset + 1)) >= 0:
        sections.add(offset)
    for size in range(len(data)):
        assert (checked(data[:size]).fault is None) == (size in sections)


@given(st.sampled_from(MESSAGES), st.data())
@settings(max_examples=300)
def test_one_wrong_byte_is_a_message(data: bytes, draw: st.DataObject) -> None:
    at = draw.draw(st.integers(0, len(data) - 1))
    checked(data[:at] + bytes((draw.draw(st.integers(0, 255)),)) + data[at + 1 :])


INTERESTING = (b"\x00", b"\xff", b"\x40", b"\x45", b"\xc0", b"\xc1", b"\xd0", b"\xd1", b"\xe0", b"\xf0", b"\xff" * 4)


def mutated(chance: random.Random, data: bytes) -> bytes:
    """The message with a few bytes replaced, removed, repeated or inserted."""
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(data) + 1)
        end = min(at + chance.randint(0, 6), len(data))
        piece = chance.choice([b"", chance.choice(INTERESTING), chance.randbytes(2), data[at:end] * 2])
        data = data[:at] + piece + data[end:]
    return data


@pytest.mark.parametrize("seed", range(4))
def test_mutations(seed: int) -> None:
    chance = random.Random(seed)
    faults = 0
    for _ in range(1500):
        faults += checked(mutated(chance, chance.choice(MESSAGES))).fault is not None
    assert 300 < faults < 1500


@pytest.mark.parametrize(
    "value",
    [
        b"\xd0\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\xd0\x00\x00\x00\x08\xff\xff\xff\xff" + b"\x40" * 4,
        b"\xd1\x00\x00\x00\x08\xff\xff\xff\xfe" + b"\x40" * 4,
        b"\xd1\xff\xff\xff\xff\x00\x00\x00\x02\x40\x40",
        b"\xc1\x04\x03\x40\x40\x40",
        b"\xc0\x00\x00",
        b"\xb0\xff\xff\xff\xff",
        b"\xb1\x7f\xff\xff\xffx",
        b"\xf0\x00\x00\x00\x05\xff\xff\xff\xff\x41",
        b"\xf0\xff\xff\xff\xff\xff\xff\xff\xff\x41",
        b"\xf0\x00\x00\x00\x05\x00\xff\xff\xff\x45",
        b"\xe0\x00\x00",
        b"\x73\x00\x11\x00\x00",
        b"\xc1\x03\x02\x45\x40",
        b"\x3f",
    ],
    ids=bytes.hex,
)
def test_announced_sizes_cost_nothing(value: bytes) -> None:
    with pytest.raises(Malformed):
        reading.decode(value, 0)
    tracemalloc.start()
    try:
        assert checked(b"\x00\x53\x77" + value).fault is not None
        checked(b"\x00\x53\x73" + value)
        checked(b"\x00\x53\x72" + value)
        assert tracemalloc.get_traced_memory()[1] < 300_000
    finally:
        tracemalloc.stop()


def nested(opening: bytes, levels: int) -> bytes:
    """Lists in lists: ``opening`` is what is before the size of each."""
    value = b"\x40"
    for _ in range(levels):
        value = (
            opening + (len(value) + 4).to_bytes(4, "big") + (1 if opening == b"\xd0" else 2).to_bytes(4, "big") + value
        )
    return value


@pytest.mark.parametrize("levels", [33, 5000])
def test_deep_lists_are_a_fault(levels: int) -> None:
    assert "nested more than 32 levels" in (checked(b"\x00\x53\x77" + nested(b"\xd0", levels)).fault or "")
    assert checked(b"\x00\x53\x77" + nested(b"\xd0", 32)).fault is None


@pytest.mark.parametrize("opening", [b"\x00", b"\x00\x00", b"\x00\x40", b"\xc1\xff\x02\xa1\x01k", b"\xe0\xff\x01\xc0"])
def test_deep_nesting_of_other_kinds_is_a_fault(opening: bytes) -> None:
    for before in (b"", b"\x00\x53\x77", b"\x00\x53\x72", b"\x00\x53\x74", b"\x00\x53\x73"):
        assert checked(before + opening * 100_000).fault is not None


def test_many_small_sections_take_time_in_proportion() -> None:
    many = b"\x00\x53\x75\xa0\x01x" * 100_000
    assert checked(many).envelope.body == b"x" * 100_000
    footers = b"\x00\x53\x78\xc1\x01\x00" * 100_000
    assert "no section begins" in (checked(footers + b"\x01").fault or "")


def test_arrays_are_lists() -> None:
    strings = b"\xe0\x07\x02\xa1\x01a\x02bc"
    assert reading.decode(strings, 0) == (["a", "bc"], len(strings))
    numbers = b"\xf0\0\0\0\x0d\0\0\0\2\x71\0\0\0\1\0\0\0\2"
    assert reading.decode(numbers, 0) == ([1, 2], len(numbers))
    described = b"\xe0\x07\x01\x00\xa1\x01d\x54\x05"
    assert reading.decode(described, 0) == ([5], len(described))
    assert reading.decode(b"\xe0\x02\xff\x41", 0) == ([True] * 255, 4)
    lists = b"\xe0\x06\x01\xc0\x03\x02\x40\x41"
    assert reading.decode(lists, 0) == ([[None, True]], len(lists))
    with pytest.raises(Malformed, match="instead of"):
        reading.decode(b"\xe0\x05\x01\xa1\x01ab", 0)


def test_what_is_remembered_does_not_hide_a_fault() -> None:
    decoder = Decoder(HERE)
    data = MESSAGES[1]
    assert decoder.decode(data).fault is None
    assert decoder.decode(data + b"\1").fault is not None
    whole = decoder.decode(data)
    assert msgspec.structs.asdict(whole) == msgspec.structs.asdict(Decoder(HERE).decode(data))
    for size in range(len(data)):
        assert decoder.decode(data[:size]) == Decoder(HERE).decode(data[:size])
        decoder.decode(data)
