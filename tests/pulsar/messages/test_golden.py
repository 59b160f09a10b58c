"""Byte for byte and name for name what Starlight for JMS sent, in both directions."""

from typing import Any

import pytest

from jmsbridge.codecs import javaserial
from jmsbridge.spi import Address, BodyKind, Envelope, Float, Long
from jmsbridge_pulsar.messages.decoding import decode
from jmsbridge_pulsar.messages.encoding import encode
from jmsbridge_pulsar.messages.names import Names
from tests.pulsar.messages import golden
from tests.rabbitmq.messages.envelopes import typed

NAMES = Names()
HERE = Address("orders")
SENT = 1795247567119


def read(body: bytes | None, properties: dict[str, str], **more: Any) -> Envelope:
    known: dict[str, Any] = {"key": None, "event_time": SENT, "message_id": (20, 0, -1, -1), **more}
    return decode(body=body or b"", is_null=body is None, properties=properties, address=HERE, names=NAMES, **known)


@pytest.mark.parametrize(("kind", "name", "body", "expected"), golden.BODIES)
def test_bodies(kind: BodyKind, name: str, body: Any, expected: str | None) -> None:
    raw = None if expected is None else bytes.fromhex(expected)
    sent = encode(Envelope(HERE, kind, body, {}, "ID:1", SENT), NAMES)
    assert (sent.body, sent.properties) == (raw, {"JMSPulsarMessageType": name, "JMSMessageId": "ID:1"})
    found = read(raw, {"JMSPulsarMessageType": name})
    assert (found.kind, typed(found.body)) == (kind, typed(body))
    assert found.properties == {}


def test_object_bodies_are_java_objects() -> None:
    assert javaserial.loads(bytes.fromhex(golden.OBJECT_TEXT)) == f"object {golden.TEXT}"
    assert typed(javaserial.loads(bytes.fromhex(golden.ARRAY_LIST))) == typed([1, Long(2), "z", 3.5])


def test_a_text_with_every_header() -> None:
    envelope = Envelope(
        HERE,
        BodyKind.TEXT,
        golden.TEXT,
        golden.TYPED,
        "ID:20:0:-1",
        SENT,
        False,
        7,
        1795248167119,
        0,
        "corr-1",
        Address("peer.matrix.reply"),
        "type-1",
    )
    wire = golden.PROPERTIES | golden.TYPES | golden.HEADERS
    found = read(golden.TEXT.encode(), dict(sorted(wire.items())), key="group-1")
    assert typed(found) == typed(envelope)
    sent = encode(envelope, NAMES, connection="dd420451-158a-438c-8676-7a8b70ec6ff5")
    # Java programs write the time of the send as delivery time; they read it from there if it is absent
    assert sent.properties | {"JMSDeliveryTime": str(SENT)} == wire | {"JMSMessageId": "ID:20:0:-1"}
    assert (sent.key, sent.event_time, sent.deliver_at) == ("group-1", SENT, 0)


@pytest.mark.parametrize(
    ("value", "name", "text"),
    [
        (1e7, "double", "1.0E7"),
        (Float(1 / 3), "float", "0.33333334"),
        (float("nan"), "double", "NaN"),
        (Float(float("-inf")), "float", "-Infinity"),
        (1e21, "double", "1.0E21"),
        (9.999e-4, "double", "9.999E-4"),
        (-0.0, "double", "-0.0"),
        (0.002, "double", "0.002"),
        (Float(100), "float", "100.0"),
        (Float(16777216), "float", "1.6777216E7"),
    ],
)
def test_texts_of_numbers(value: float, name: str, text: str) -> None:
    wire = encode(Envelope(HERE, BodyKind.NONE, None, {"n": value}, "ID:1", SENT), NAMES).properties
    assert (wire["n"], wire["n_jsmtype"]) == (text, name)
    assert typed(read(None, wire).properties["n"]) == typed(value)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("double", "9.999999999999999E22", 1e23),  # before JDK 19
        ("double", "1e+16", 1e16),
        ("float", "3.4e+38", Float(3.4e38)),
        ("boolean", "TRUE", True),
        ("int", "zz", "zz"),  # Java raises when it is read as a number
        ("int", "1_0", "1_0"),
        ("byte", "200", "200"),
        ("long", "9223372036854775808", "9223372036854775808"),
        ("double", "inf", "inf"),
        ("decimal", "1", "1"),
    ],
)
def test_texts_of_others(name: str, text: str, value: Any) -> None:
    found = read(None, {"JMSPulsarMessageType": "header", "n": text, "n_jsmtype": name})
    assert typed(found.properties) == typed({"n": value})


@pytest.mark.parametrize(
    ("correlation", "text"),
    [("corr-0", "Y29yci0w"), ("é世", "w6nkuJY="), (b"\0\xff\x80A", "AP+AQQ=="), ("", "")],
)
def test_correlation_ids(correlation: str | bytes, text: str) -> None:
    sent = encode(Envelope(HERE, BodyKind.NONE, None, {}, "ID:1", SENT, correlation_id=correlation), NAMES)
    assert sent.properties["JMSCorrelationID"] == text
    assert read(None, sent.properties).correlation_id == correlation


def test_a_correlation_id_without_base64_is_shown_as_it_is() -> None:
    assert read(b"", {"JMSCorrelationID": "order 5!"}).correlation_id == "order 5!"
    assert read(b"", {"JMSCorrelationID": "AAA=A"}).correlation_id == "AAA=A"
    assert read(b"", {"JMSCorrelationID": "Y29ycg"}).correlation_id == "corr"  # Java needs no padding


@pytest.mark.parametrize(
    ("message_id", "text"),
    [((20, 0, -1, -1), "ID:20:0:-1"), ((702, 0, -1, 2), "ID:702:0:-1:2"), ((5, 6, 1, -1), "ID:5:6:1")],
)
def test_ids_of_messages_without_one(message_id: tuple[int, int, int, int], text: str) -> None:
    assert read(b"", {}, message_id=message_id).message_id == text
    assert read(b"", {"JMSMessageId": "ID:custom-1"}, message_id=message_id).message_id == "ID:custom-1"


@pytest.mark.parametrize(
    ("address", "full", "kind"),
    [
        (Address("answers"), "persistent://public/default/answers", None),
        (Address("answers", topic=True), "persistent://public/default/answers", "topic"),
        (
            Address("jms-temp-queue-5f3c", temporary=True),
            "persistent://public/default/jms-temp-queue-5f3c",
            None,
        ),
        (Address("persistent://acme/eu/answers"), "persistent://acme/eu/answers", None),
    ],
)
def test_reply_destinations(address: Address, full: str, kind: str | None) -> None:
    sent = encode(Envelope(HERE, BodyKind.NONE, None, {}, "ID:1", SENT, reply_to=address), NAMES)
    assert (sent.properties["JMSReplyTo"], sent.properties.get("JMSReplyToType")) == (full, kind)
    assert "JMS_jmsbridge" not in sent.properties
    assert read(None, sent.properties).reply_to == address


def test_what_a_java_program_received_and_sent_on() -> None:
    """It writes its headers beside the old ones, of which Pulsar's client sees the old; the group was none."""
    wire = {
        "JMSPulsarMessageType": "text",
        "JMSXDeliveryCount": "1",
        "JMSXGroupID": "",
        "JMSXGroupSeq": "0",
        "JMSMessageId": "ID:20:0:-1",
        "JMSDeliveryTime": str(SENT - 5000),
        "JMSTX": "1",
    }
    found = read(b"again", wire)
    assert found.properties == {}
    assert (found.message_id, found.timestamp, found.delivery_time) == ("ID:20:0:-1", SENT, 0)


def test_delayed_messages() -> None:
    sent = encode(Envelope(HERE, BodyKind.NONE, None, {}, "ID:1", SENT, delivery_time=SENT + 700), NAMES)
    assert (sent.deliver_at, sent.properties["JMSDeliveryTime"]) == (SENT + 700, str(SENT + 700))
    assert read(None, sent.properties).delivery_time == SENT + 700
