"""Byte for byte what Qpid JMS sent, in both directions."""

from typing import Any

import pytest

from jmsbridge.codecs import javaserial
from jmsbridge.spi import Address, BodyKind, Envelope
from jmsbridge_amqp.messages.conventions import KINDS
from jmsbridge_amqp.messages.wire import Decoder, Encoder
from tests.amqp.messages import golden
from tests.rabbitmq.messages.envelopes import typed

CREATED = 0x01A1FD19B851
EXPIRES = 0x01A1FD22E011
ID = "ID:3db7149c-34e7-4132-9c82-23d8c7d25a0b:1:1:1-2"
MINIMAL_ID = "ID:6d9fe739-f92f-4e5b-97fa-ee868d3aff16:1:7:7-4"


def both_ways(envelope: Envelope, expected: str, now: int = CREATED) -> None:
    data = Encoder().encode(envelope, now)
    assert data.hex() == expected
    found = Decoder(envelope.address).decode(data)
    assert found.fault is None
    assert typed(found.envelope) == typed(envelope)


def full(kind: BodyKind, body: Any) -> Envelope:
    return Envelope(
        Address("pa.mx.art"),
        kind,
        body,
        {**golden.TYPED, "JMSXGroupID": "group-1", "JMSXGroupSeq": 3},
        ID,
        CREATED,
        True,
        7,
        EXPIRES,
        0,
        "corr-1",
        Address("peer.matrix.reply"),
        "type-1",
    )


def test_a_text_with_every_header() -> None:
    body, section = golden.BODIES[BodyKind.TEXT]
    expected = [
        golden.HEADERS[True, 7, 600000],
        golden.ANNOTATIONS_WITH_REPLY + "05",
        golden.FULL_PROPERTIES,
        golden.PROPERTIES,
        section,
    ]
    both_ways(full(BodyKind.TEXT, body), "".join(expected), EXPIRES - 600000)


@pytest.mark.parametrize("kind", BodyKind)
def test_a_message_of_each_kind(kind: BodyKind) -> None:
    body, section = golden.BODIES[kind]
    envelope = Envelope(Address("pa.tempann"), kind, body, {}, MINIMAL_ID, 0x01A1FD23EB27)
    properties = golden.MINIMAL_PROPERTIES
    content_type = {
        BodyKind.BYTES: b"\xa3\x18application/octet-stream",
        BodyKind.OBJECT: b"\xa3\x24application/x-java-serialized-object",
    }.get(kind)
    if content_type is not None:  # the seventh field, so that the section is longer
        size = 0x51 + len(content_type) - 1
        properties = f"005373d0{size:08x}" + properties[16:-24] + content_type.hex() + properties[-22:]
    annotations = f"{golden.ANNOTATIONS}{KINDS[kind]:02x}"
    both_ways(envelope, golden.HEADERS[True, 4, 0] + annotations + properties + section)


@pytest.mark.parametrize(("mode", "priority", "ttl"), golden.HEADERS)
def test_headers(mode: bool, priority: int, ttl: int) -> None:
    expiration = CREATED + ttl if ttl else 0
    envelope = Envelope(Address("q"), BodyKind.NONE, None, {}, "ID:1", CREATED, mode, priority, expiration)
    data = Encoder().encode(envelope, CREATED)
    assert data.hex().partition("005372")[0] == golden.HEADERS[mode, priority, ttl]
    assert typed(Decoder(Address("q")).decode(data).envelope) == typed(envelope)


def test_a_delayed_message_with_a_temporary_topic() -> None:
    envelope = Envelope(
        Address("q"),
        BodyKind.TEXT,
        None,
        {},
        "ID:1",
        CREATED,
        delivery_time=0x01A1FD23F2FC,
        reply_to=Address("t", topic=True, temporary=True),
    )
    data = Encoder().encode(envelope, CREATED)
    assert data.hex().startswith(golden.HEADERS[True, 4, 0] + golden.DELAYED)
    assert data.endswith(b"\x00\x53\x77\x40")
    assert typed(Decoder(Address("q")).decode(data).envelope) == typed(envelope)


def test_the_object_is_the_text_that_java_sent() -> None:
    assert javaserial.loads(golden.BODIES[BodyKind.OBJECT][0]) == "object " + golden.TYPED["p_string"]
