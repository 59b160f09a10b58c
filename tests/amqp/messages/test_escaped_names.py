"""Addresses of brokers that escape names, and the sections that those want in every message."""

import pytest

from jmsbridge.spi import Address, BodyKind, Envelope
from jmsbridge_amqp.messages.wire import Decoder, Encoder, Naming, copy_for

NAMING = Naming("/queues/", "/exchanges/amq.topic/", escapes=True)


@pytest.mark.parametrize(
    ("address", "text"),
    [
        (Address("a.b"), "/queues/a.b"),
        (Address("a/b c%é"), "/queues/a%2Fb%20c%25%C3%A9"),
        (Address("a/b", topic=True), "/exchanges/amq.topic/a%2Fb"),
    ],
)
def test_names_are_escaped_and_read_again(address: Address, text: str) -> None:
    assert NAMING.text(address) == text
    assert NAMING.address(text, None, Address("own")) == address


def test_a_plain_message_has_null_as_its_body() -> None:
    envelope = Envelope(Address("a"), BodyKind.NONE, None, {}, None, 0)
    data = Encoder(NAMING, explicit=True).encode(envelope, 0)
    assert data.endswith(bytes.fromhex("00537740"))
    assert Decoder(Address("a"), NAMING).decode(data).envelope.kind is BodyKind.NONE


@pytest.mark.parametrize("message_id", [None, "ID:1"])
def test_a_non_persistent_message_has_a_header(message_id: str | None) -> None:
    envelope = Envelope(Address("a"), BodyKind.TEXT, "x", {}, message_id, 1, persistent=False)
    data = Encoder(NAMING, explicit=True).encode(envelope, 1)
    assert data.startswith(bytes.fromhex("005370c0020142"))
    assert copy_for(data, Address("dead"), {}, NAMING).startswith(bytes.fromhex("005370c0020142"))
