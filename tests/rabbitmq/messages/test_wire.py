"""Envelopes through both dialects, what foreign programs write, and hostile messages."""

import json
import math
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jmsbridge.spi import Address, BodyKind, Byte, Char, Envelope, Float, Long, Short
from jmsbridge_rabbitmq.messages import wire
from jmsbridge_rabbitmq.messages.headers import BROKER_HEADERS
from jmsbridge_rabbitmq.messages.java_encoding import encode as java_body
from jmsbridge_rabbitmq.messages.wire import Dialect, Encoder, Inbound
from jmsbridge_rabbitmq.protocol.fields import Unencodable, decode_table, encode_table
from jmsbridge_rabbitmq.protocol.properties import Properties, decode, encode
from tests.rabbitmq.messages.envelopes import HERE, envelopes, typed

BOTH: tuple[Dialect, ...] = ("amqp", "jms")
NOW = 1_770_000_000_123
FULL = Envelope(
    HERE,
    BodyKind.TEXT,
    "héllo €",
    {"b": Byte(1), "s": Short(2), "i": 3, "l": Long(4), "f": Float(1.5), "d": -2.25, "t": True, "S": "text"},
    "ID:1",
    NOW,
    True,
    7,
    NOW + 5000,
    0,
    "request-1",
    Address("answers"),
    "order",
)


def through(envelope: Envelope, dialect: Dialect = "amqp", **options: Any) -> Inbound:
    sent = Encoder(dialect, **options).encode(envelope, NOW)
    return wire.decode(envelope.address, sent.properties, sent.body)


def read(body: bytes = b"", headers: dict[str, Any] | None = None, redelivered: bool = False, **known: Any) -> Inbound:
    """The envelope of a message from another program."""
    table = None if headers is None else encode_table(headers)
    return wire.decode(HERE, encode(Properties(headers=table, **known)), body, redelivered)


@pytest.mark.parametrize("dialect", BOTH)
@given(envelope=envelopes())
@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
def test_every_message_survives(dialect: Dialect, envelope: Envelope) -> None:
    come = through(envelope, dialect)
    assert come.fault is None
    assert typed(come.envelope) == typed(envelope)


NOT_FINITE = {"CC": math.nan, "d": math.inf, "f": Float(-math.inf), "g": Float(math.nan), "t": "NaN", "n": None, "i": 1}


def test_other_programs_see_text_for_nan_and_infinity() -> None:
    envelope = msgspec.structs.replace(FULL, properties=NOT_FINITE)
    table, _ = decode_table(decode(Encoder("amqp").encode(envelope, NOW).properties).headers or b"")
    shown = {name: table.get(name) for name in ("x-jb-p-CC", "d", "f", "g", "t", "i")}
    assert shown == {"x-jb-p-CC": "NaN", "d": "Infinity", "f": "-Infinity", "g": "NaN", "t": "NaN", "i": 1}
    assert typed(through(envelope).envelope) == typed(envelope)


LONG_NAMES = {"é" * 128: 1, "n" * 300: math.nan, "o" * 300: None, "p" * 256: "text", "short": True}


@pytest.mark.parametrize("dialect", ["amqp", "jms"])
def test_names_of_any_length_survive(dialect: Dialect) -> None:
    envelope = msgspec.structs.replace(FULL, properties=LONG_NAMES)
    assert typed(through(envelope, dialect).envelope) == typed(envelope)


@pytest.mark.parametrize(
    ("note", "fault"),
    [
        ("nonsense", "the header x-jb-long lists no names"),
        ("[1]", "the header x-jb-long lists no names"),
        ('{"x-jb-long-7": "gone"}', None),
        ('{"x-jb-long-0": 7}', None),
    ],
)
def test_a_wrong_header_of_long_names_has_no_effect(note: str, fault: str | None) -> None:
    made = Encoder("amqp").encode(msgspec.structs.replace(FULL, properties={"n" * 300: 1, "i": 2}), NOW)
    found = decode(made.properties)
    table, _ = decode_table(found.headers or b"")
    found.headers = encode_table({**table, "x-jb-long": note})
    lied = wire.decode(FULL.address, encode(found), made.body)
    assert lied.fault == fault
    assert lied.envelope.properties.get("i" if fault is None else wire.FAULT) == (fault or 2)


def test_java_has_nan_and_infinity_only_in_the_body() -> None:
    envelope = msgspec.structs.replace(FULL, properties=NOT_FINITE)
    table, _ = decode_table(decode(Encoder("jms").encode(envelope, NOW).properties).headers or b"")
    assert {"d", "f", "g", "x-jb-p-CC", "x-jb-floats"}.isdisjoint(table)
    assert typed(through(envelope, "jms").envelope) == typed(envelope)


def test_a_copied_header_of_types_changes_no_other_property() -> None:
    note = json.dumps({"a": "double", "b": "float", "c": "double"})
    found = read(headers={"a": "1.5", "b": 7, "x-jb-floats": note})
    assert typed(found.envelope.properties) == typed({"a": "1.5", "b": 7})


@pytest.mark.parametrize("value", [[1], {"a": 1}, b"\xff"])
def test_a_restored_name_has_no_value_that_is_no_property(value: Any) -> None:
    """A foreign sender may write anything in these headers; reading such a property as text was a TypeError."""
    note = json.dumps({"x-jb-long-0": "n" * 300})
    found = read(headers={"x-jb-p-CC": value, "x-jb-long": note, "x-jb-long-0": value, "i": 2})
    assert found.envelope.properties == {"i": 2}


@pytest.mark.parametrize("note", ["no JSON", "7", "[1]", 5])
def test_an_unreadable_header_of_types_is_a_fault(note: Any) -> None:
    assert "x-jb-floats" in (read(headers={"a": "NaN", "x-jb-floats": note}).fault or "")


@given(envelopes())
def test_the_marker_changes_nothing_for_us(envelope: Envelope) -> None:
    assert typed(through(envelope, text_marker=True).envelope) == typed(envelope)


def test_golden_properties_of_dialect_amqp() -> None:
    sent = Encoder(stamp="conn-1").encode(FULL, NOW)
    known = decode(sent.properties)
    assert sent.body == "héllo €".encode()
    assert sent.message_id == "ID:1"
    table = decode_table(known.headers or b"")[0]
    known.headers = None
    assert known == Properties(
        content_type="text/plain;charset=utf-8",
        delivery_mode=2,
        priority=7,
        correlation_id=b"request-1",
        reply_to="answers",
        expiration="5000",
        message_id="ID:1",
        timestamp=NOW // 1000,
        type="order",
    )
    assert typed(table) == typed(
        {
            "JMSDeliveryMode": "PERSISTENT",
            "JMSPriority": 7,
            "JMSMessageID": "ID:1",
            "JMSTimestamp": Long(NOW),
            **FULL.properties,
            "JMSCorrelationID": "request-1",
            "JMSExpiration": Long(NOW + 5000),
            "JMSType": "order",
        }
    )


def test_dialect_jms_has_the_headers_of_the_java_client() -> None:
    known = decode(Encoder("jms").encode(FULL, NOW).properties)
    assert known.content_type == "application/octet-stream"
    table = decode_table(known.headers or b"")[0]
    java = {"JMSDeliveryMode", "JMSMessageID", "JMSTimestamp", "JMSPriority", "JMSCorrelationID", "JMSType"}
    assert set(table) == java | {"JMSExpiration"} | set(FULL.properties)


@given(envelopes())
def test_no_header_kills_the_brokers_selectors(envelope: Envelope) -> None:
    for dialect in BOTH:
        known = decode(Encoder(dialect, "me", True).encode(envelope, NOW).properties)
        table = decode_table(known.headers or b"")[0]
        assert {type(value) for value in table.values()} <= {bool, Byte, Short, int, Long, Float, float, str}
        assert not table.keys() & {"CC", "BCC"}


@pytest.mark.parametrize(
    ("expiration", "delivery_time", "shown"),
    [(0, 0, None), (NOW + 1, 0, "1"), (NOW - 1, 0, "0"), (NOW + 10**11, 0, "4294967295"), (NOW + 9, NOW + 5, None)],
)
def test_relative_expiration(expiration: int, delivery_time: int, shown: str | None) -> None:
    envelope = msgspec.structs.replace(FULL, expiration=expiration, delivery_time=delivery_time)
    sent = Encoder().encode(envelope, NOW)
    assert decode(sent.properties).expiration == shown
    assert wire.decode(HERE, sent.properties, sent.body).envelope.expiration == expiration


def test_a_message_without_id_can_be_told_from_others() -> None:
    encoder = Encoder()
    nameless = msgspec.structs.replace(FULL, message_id=None)
    first, second = encoder.encode(nameless, NOW), encoder.encode(nameless, NOW)
    assert first.message_id != second.message_id
    assert first.message_id == decode(first.properties).message_id
    assert wire.decode(HERE, first.properties, first.body).envelope.message_id is None


def test_the_header_for_no_local_is_only_on_topics() -> None:
    news = msgspec.structs.replace(FULL, address=Address("news", topic=True))
    for dialect in BOTH:
        assert through(news, dialect, stamp="conn-1").stamp == "conn-1"
        assert through(FULL, dialect, stamp="conn-1").stamp is None


def test_text_marker() -> None:
    def header(envelope: Envelope, **options: Any) -> Any:
        known = decode(Encoder(**options).encode(envelope, NOW).properties)
        return decode_table(known.headers or b"")[0].get("JMSType")

    untyped = msgspec.structs.replace(FULL, jms_type=None)
    assert header(untyped) is None
    assert header(untyped, text_marker=True) == "TextMessage"
    assert header(FULL, text_marker=True) == "order"
    assert header(msgspec.structs.replace(untyped, kind=BodyKind.BYTES, body=b""), text_marker=True) is None


def test_map_and_stream_bodies_are_json() -> None:
    fields = {
        "qty": 5,
        "price": 1.5,
        "name": "é",
        "ok": True,
        "none": None,
        "big": Long(7),
        "raw": b"\0\1",
        "c": Char("x"),
    }
    sent = Encoder().encode(Envelope(HERE, BodyKind.MAP, fields, {}, "ID:1", NOW), NOW)
    assert decode(sent.properties).content_type == "application/vnd.jmsbridge.map+json"
    assert msgspec.json.decode(sent.body) == {
        "map": {"qty": 5, "price": 1.5, "name": "é", "ok": True, "none": None, "big": 7, "raw": "AAE=", "c": "x"},
        "types": {"big": "long", "raw": "bytes", "c": "char"},
    }
    sent = Encoder().encode(Envelope(HERE, BodyKind.STREAM, [1, Byte(2)], {}, "ID:1", NOW), NOW)
    assert msgspec.json.decode(sent.body) == {"stream": [1, 2], "types": {"1": "byte"}}


@pytest.mark.parametrize(
    ("body", "known", "kind", "value"),
    [
        (b"x", {}, BodyKind.BYTES, b"x"),
        (b"x", {"content_type": "application/octet-stream"}, BodyKind.BYTES, b"x"),
        (b"x", {"content_type": "text/plain"}, BodyKind.TEXT, "x"),
        (b"", {"content_type": "text/plain"}, BodyKind.TEXT, ""),
        (b"\xe9", {"content_type": "text/html; charset=ISO-8859-1"}, BodyKind.TEXT, "é"),
        ("é".encode("utf-16"), {"content_type": 'text/plain;charset="utf-16"'}, BodyKind.TEXT, "é"),
        (b'{"a": 1}', {"content_type": "application/json", "content_encoding": "utf-8"}, BodyKind.TEXT, '{"a": 1}'),
        (b"<a/>", {"content_type": "application/soap+xml"}, BodyKind.TEXT, "<a/>"),
        (b"\x1f\x8b", {"content_type": "text/plain", "content_encoding": "gzip"}, BodyKind.BYTES, b"\x1f\x8b"),
        (b"\xac\xed", {"content_type": "application/x-java-serialized-object"}, BodyKind.OBJECT, b"\xac\xed"),
        (
            b'{"map": {"n": 9999999999}}',
            {"content_type": "application/vnd.jmsbridge.map+json"},
            BodyKind.MAP,
            {"n": Long(9999999999)},
        ),
    ],
)
def test_bodies_of_other_programs(body: bytes, known: dict[str, Any], kind: BodyKind, value: Any) -> None:
    envelope = read(body, **known).envelope
    assert envelope.kind is kind
    assert typed(envelope.body) == typed(value)


def test_the_marked_text_of_a_java_program() -> None:
    envelope = read(b"x", {"JMSType": "TextMessage"}, content_type="application/octet-stream").envelope
    assert (envelope.kind, envelope.body, envelope.jms_type) == (BodyKind.TEXT, "x", None)


def test_headers_of_another_program() -> None:
    envelope = read(
        b"x",
        {"n": Short(5), "x-trace": "t", "table": {"a": 1}, "list": [1], "raw": b"text", "blob": b"\xff", "none": None},
        correlation_id=b"c",
        reply_to="amq.gen-x",
        message_id="m1",
        timestamp=1_700_000_000,
        expiration="5000",
        type="invoice",
        user_id="guest",
        app_id="billing",
        priority=200,
    ).envelope
    assert envelope == Envelope(
        HERE,
        BodyKind.BYTES,
        b"x",
        {"JMSXUserID": "guest", "JMSXAppID": "billing", "n": Short(5), "x-trace": "t", "raw": "text", "none": None},
        "m1",
        1_700_000_000_000,
        False,
        9,
        0,
        0,
        "c",
        Address("amq.gen-x", temporary=True),
        "invoice",
    )


def test_a_message_without_properties() -> None:
    assert read().envelope == Envelope(HERE, BodyKind.BYTES, b"", {}, None, 0, persistent=False)
    # AMQP's timestamp may be that of anything: what the broker delivers must not be dropped here.
    assert read(expiration="5000", timestamp=1_700_000_000).envelope.expiration == 0
    assert read(expiration="5000", headers={"JMSTimestamp": Long(NOW)}).envelope.expiration == NOW + 5000
    assert read(reply_to="").envelope.reply_to is None
    assert read(timestamp=1_700_000_000_123).envelope.timestamp == 1_700_000_000_123
    assert read(timestamp=(1 << 64) - 1).envelope.timestamp == 0


def test_a_correlation_id_that_is_not_text() -> None:
    assert read(correlation_id=b"\xff\0").envelope.correlation_id == b"\xff\0"
    # A program that answers may have copied the headers of the request.
    copied = {"x-jb-correlation": b"other".hex(), "JMSCorrelationID": "other"}
    assert read(headers=copied, correlation_id=b"mine").envelope.correlation_id == "mine"
    assert read(headers={"x-jb-correlation": "no hex"}).envelope.correlation_id is None


def test_no_header_of_the_broker_is_a_property() -> None:
    table = dict.fromkeys(BROKER_HEADERS, "x") | {
        "JMSXDeliveryCount": 5,
        "JMSOther": 1,
        "rmq.x": 1,
        "x-jb-new": 1,
        "": 1,
    }
    assert read(headers={**table, "mine": 1}).envelope.properties == {"mine": 1}


@pytest.mark.parametrize(
    ("headers", "redelivered", "times"),
    [
        ({}, False, 1),
        ({}, True, 2),
        ({"x-delivery-count": Long(3)}, True, 4),
        ({"x-delivery-count": 0}, True, 2),
        ({"x-delivery-count": 3, "x-acquired-count": 5}, True, 6),
        ({"x-delivery-count": 3}, False, 1),
        ({"x-delivery-count": "many"}, True, 2),
        ({"x-delivery-count": Long(1 << 62)}, True, (1 << 31) - 1),
        ({"x-delivery-count": Long(-(1 << 62))}, True, 2),
    ],
)
def test_delivery_count(headers: dict[str, Any], redelivered: bool, times: int) -> None:
    assert read(headers=headers, redelivered=redelivered).delivery_count == times


def test_a_body_that_only_resembles_that_of_the_java_client() -> None:
    body = java_body(FULL, "ID:1")
    for kind in (BodyKind.BYTES, BodyKind.OBJECT):
        envelope = Envelope(HERE, kind, body, {}, "ID:1", NOW)
        assert through(envelope).envelope == envelope


@pytest.mark.parametrize(
    ("body", "known", "reason"),
    [
        (b"a\xff", {"content_type": "text/plain"}, "byte 1"),
        (b"x", {"content_type": "text/plain;charset=klingon"}, "klingon"),
        (b"\xff", {"content_type": "text/plain;charset=utf-16"}, "utf-16"),
        (b"{", {"content_type": "application/vnd.jmsbridge.map+json"}, "map"),
        (b'{"stream": 5}', {"content_type": "application/vnd.jmsbridge.stream+json"}, "stream"),
        (b'{"map": {"a": []}}', {"content_type": "application/vnd.jmsbridge.map+json"}, "list"),
        (
            b'{"map": {"a": 300}, "types": {"a": "byte"}}',
            {"content_type": "application/vnd.jmsbridge.map+json"},
            "byte",
        ),
        (
            b'{"map": {"a": 3}, "types": {"a": "klingon"}}',
            {"content_type": "application/vnd.jmsbridge.map+json"},
            "klingon",
        ),
        (b'{"map": {"a": 1' + b"0" * 30 + b"}}", {"content_type": "application/vnd.jmsbridge.map+json"}, "map"),
        (b"[" * 100_000, {"content_type": "application/vnd.jmsbridge.map+json"}, "map"),
    ],
)
def test_an_unreadable_body_is_opaque(body: bytes, known: dict[str, Any], reason: str) -> None:
    found = read(body, {"n": 1}, message_id="m1", **known)
    assert found.fault is not None
    assert reason in found.fault
    assert found.envelope.kind is BodyKind.BYTES
    assert found.envelope.body == body
    assert found.envelope.properties == {"n": 1, wire.FAULT: found.fault}
    assert found.envelope.message_id == "m1"


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_random_bytes_are_a_message(properties: bytes, body: bytes) -> None:
    found = wire.decode(HERE, properties, body)
    if found.fault is not None:
        assert (found.envelope.kind, found.envelope.body) == (BodyKind.BYTES, body)
        assert found.envelope.properties[wire.FAULT] == found.fault


@pytest.mark.parametrize("dialect", BOTH)
@given(data=st.data())
@settings(max_examples=300)
def test_one_wrong_byte_is_a_message(dialect: Dialect, data: st.DataObject) -> None:
    full = msgspec.structs.replace(
        FULL, kind=BodyKind.MAP, body={"a": 1, "b": b"\0", "c": None}, properties={**FULL.properties, "none": None}
    )
    sent = Encoder(dialect).encode(full, NOW)
    both = sent.properties + sent.body
    at = data.draw(st.integers(0, len(both) - 1))
    wrong = both[:at] + bytes((data.draw(st.integers(0, 255)),)) + both[at + 1 :]
    found = wire.decode(HERE, wrong[: len(sent.properties)], wrong[len(sent.properties) :])
    assert found.fault is None or found.envelope.kind is BodyKind.BYTES


def test_values_that_do_not_fit_are_refused() -> None:
    with pytest.raises(Unencodable, match="message id"):
        Encoder().encode(msgspec.structs.replace(FULL, message_id="ID:" + "x" * 300), NOW)
    with pytest.raises(Unencodable, match="reply-to"):
        Encoder().encode(msgspec.structs.replace(FULL, reply_to=Address("é" * 128)), NOW)
    long = msgspec.structs.replace(FULL, properties={"S": "x" * 70_000})
    assert through(long).envelope == long
    with pytest.raises(Unencodable, match="Java"):
        Encoder("jms").encode(long, NOW)
