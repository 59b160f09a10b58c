"""Copies for other queues keep the bytes of everything that need not change."""

from jmsbridge.spi import Address, BodyKind, Envelope
from jmsbridge_amqp.messages.wire import FAULT, Decoder, Encoder, Naming, copy_for
from jmsbridge_amqp.protocol.writing import binary, compound_list, compound_map, encode, string, symbol

NOW = 1_770_000_000_123
DEAD = Address("dead")
NOTES = {"reason": "rejected", "count": 7}


def described(section: int, value: bytes) -> bytes:
    return b"\x00\x53" + bytes((section,)) + value


def test_a_copy_is_the_message_at_another_address() -> None:
    envelope = Envelope(
        Address("news", topic=True),
        BodyKind.STREAM,
        [1, b"x", None],
        {"a": 1, "count": 3},
        "ID:AMQP_UUID:3db7149c-34e7-4132-9c82-23d8c7d25a0b",
        NOW,
        True,
        7,
        NOW + 5000,
        NOW + 9,
        "c",
        Address("answers", temporary=True),
        "type",
        "once",
    )
    data = Encoder(user="me", duplicates=True).encode(envelope, NOW)
    found = Decoder(DEAD).decode(copy_for(data, DEAD, NOTES, Naming()))
    assert found.fault is None
    assert found.envelope == Envelope(
        DEAD,
        BodyKind.STREAM,
        [1, b"x", None],
        {"a": 1, "reason": "rejected", "count": 7},
        envelope.message_id,
        NOW,
        True,
        7,
        0,
        0,
        "c",
        envelope.reply_to,
        "type",
    )


def test_what_jms_does_not_know_keeps_its_bytes() -> None:
    routing = described(0x71, compound_map(symbol("x-route") + b"\x50\x05", 1))
    annotations = symbol("x-vendor") + b"\x00\xa3\x01d\x45" + symbol("x-opt-jms-dest") + b"\x51\x01"
    fields = [b"\x53\x07", binary(b"user"), string("orders"), b"\x40", b"\x40", b"\x98" + b"\1" * 16]
    properties = described(0x73, compound_list(b"".join(fields), len(fields)))
    application = string("big") + b"\x80" + b"\xff" * 8 + string("raw") + binary(b"\xff")
    bodies = described(0x75, binary(b"one")) + described(0x75, binary(b"two"))
    footer = described(0x78, compound_map(symbol("x-hash") + binary(b"\0"), 1))
    header = described(0x70, b"\xc0\x08\x05\x41\x40\x52\x05\x41\x52\x03")
    data = header + routing + described(0x72, compound_map(annotations, 2)) + properties
    data += described(0x74, compound_map(application, 2)) + bodies + footer
    fields[1:3] = [b"\x40", string("queue://dead")]
    assert copy_for(data, DEAD, {"note": 1}, Naming("queue://", "topic://")) == (
        described(0x70, b"\xc0\x02\x01\x41")
        + routing
        + described(0x72, compound_map(annotations[:-1] + b"\0", 2))
        + described(0x73, b"\xd0" + (len(b"".join(fields)) + 4).to_bytes(4, "big") + b"\0\0\0\6" + b"".join(fields))
        + described(0x74, compound_map(application + string("note") + encode(1), 3))
        + bodies
        + footer
    )


def test_a_malformed_message_is_the_body_of_its_copy() -> None:
    data = described(0x77, b"\xa1\x05x")
    found = Decoder(DEAD).decode(copy_for(data, DEAD, NOTES, Naming()))
    assert found.fault is None
    assert (found.envelope.kind, found.envelope.body) == (BodyKind.BYTES, data)
    assert (found.envelope.properties, found.envelope.persistent) == (NOTES, True)


def test_a_message_with_an_unknown_kind_is_copied_as_it_is() -> None:
    data = described(0x72, compound_map(symbol("x-opt-jms-msg-type") + b"\x51\x09", 1)) + described(0x77, b"\x40")
    copy = copy_for(data, DEAD, NOTES, Naming())
    assert symbol("x-opt-jms-msg-type") + b"\x51\x09" in copy
    assert Decoder(DEAD).decode(copy).envelope.properties.keys() == {*NOTES, FAULT}
