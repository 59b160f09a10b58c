"""Envelopes through the wire, settings and limits of the encoder, and what brokers add to messages."""

from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jmsbridge.codecs import javaserial
from jmsbridge.spi import DEAD_LETTER_ORIGIN, Address, BodyKind, Byte, Char, Envelope, Float, Long, Short
from jmsbridge.transport.literal_names import is_unicode
from jmsbridge_amqp.messages.wire import Decoder, Encoder, Inbound, Naming, Unencodable
from jmsbridge_amqp.protocol.writing import compound_map, encode, encode_pairs, string, symbol
from tests.rabbitmq.messages.envelopes import HERE, envelopes, typed

NOW = 1_770_000_000_123
PLAIN = Envelope(HERE, BodyKind.TEXT, "héllo", {"a": 1, "b": "two"}, "ID:1", NOW)
CLASSIC = Naming("queue://", "topic://")


def through(envelope: Envelope, naming: Naming | None = None, now: int = NOW, **options: Any) -> Inbound:
    return Decoder(envelope.address, naming).decode(Encoder(naming, **options).encode(envelope, now))


def changed(**values: Any) -> Envelope:
    return msgspec.structs.replace(PLAIN, **values)


def joined(value: Any) -> Any:
    """The value with halves of surrogate pairs joined, as they are on the wire."""
    if isinstance(value, str):
        return type(value)(value.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "surrogatepass"))
    if isinstance(value, list):
        return [joined(item) for item in value]
    if isinstance(value, dict):
        return {joined(name): joined(item) for name, item in value.items()}
    if isinstance(value, msgspec.Struct):
        names = [name for name in value.__struct_fields__ if name != "kind"]
        return msgspec.structs.replace(value, **{name: joined(getattr(value, name)) for name in names})
    return value


def has_unicode_headers(envelope: Envelope) -> bool:
    groups = [envelope.properties.get(name) for name in ("JMSXGroupID", "JMS_AMQP_REPLY_TO_GROUP_ID")]
    reply_to = None if envelope.reply_to is None else envelope.reply_to.name
    headers = [envelope.message_id, envelope.correlation_id, envelope.jms_type, reply_to, *groups]
    return all(is_unicode(text) for text in headers if isinstance(text, str))


@pytest.mark.parametrize("naming", [Naming(), CLASSIC], ids=["bare", "prefixes"])
@given(envelope=envelopes().filter(has_unicode_headers))
@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
def test_every_message_survives(naming: Naming, envelope: Envelope) -> None:
    properties = {name: value for name, value in envelope.properties.items() if not name.startswith("JMS_AMQP_")}
    body = None if envelope.body == javaserial.dumps(None) else envelope.body
    sent = joined(msgspec.structs.replace(envelope, properties=properties, body=body))
    decoder = Decoder(sent.address, naming)
    data = Encoder(naming).encode(envelope, NOW)
    for found in (decoder.decode(data), decoder.decode(data)):  # the second time it remembers the first
        assert found.fault is None
        assert found.delivery_count == 1
        assert typed(found.envelope) == typed(sent)


@pytest.mark.parametrize(
    "changes",
    [
        {"jms_type": "a\ud800"},
        {"correlation_id": "\udc00"},
        {"reply_to": Address("\ud800")},
        {"address": Address("\ud800")},
        {"properties": {"JMSXGroupID": "\ud800"}},
    ],
)
def test_headers_that_are_not_unicode_are_refused(changes: dict[str, Any]) -> None:
    """Artemis would end the connection."""
    with pytest.raises(Unencodable, match="surrogate"):
        Encoder().encode(changed(**changes), NOW)


@given(st.lists(envelopes().filter(has_unicode_headers), min_size=2, max_size=4))
@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
def test_what_is_remembered_of_one_message_does_not_reach_the_next(several: list[Envelope]) -> None:
    decoder = Decoder(HERE)
    encoder = Encoder()
    for envelope in several:
        data = encoder.encode(envelope, NOW)
        assert typed(decoder.decode(data)) == typed(Decoder(HERE).decode(data))


@given(envelopes().filter(has_unicode_headers))
@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
def test_the_short_way_writes_what_the_long_way_writes(envelope: Envelope) -> None:
    encoder = Encoder()
    assert encoder.encode(envelope, NOW) == encoder._encode_any(envelope, NOW)


@pytest.mark.parametrize(
    ("address", "text"),
    [
        (Address("orders"), "queue://orders"),
        (Address("news", topic=True), "topic://news"),
        (Address("jms-temp-1", temporary=True), "queue://jms-temp-1"),
        (Address("jms-temp-2", topic=True, temporary=True), "topic://jms-temp-2"),
        (Address("temp-queue://ID:host-1:2", temporary=True), "temp-queue://ID:host-1:2"),
        (Address("temp-topic://ID:host-1:2", topic=True, temporary=True), "temp-topic://ID:host-1:2"),
        (Address("queue://literal"), "queue://queue://literal"),
    ],
)
def test_destinations_on_classic(address: Address, text: str) -> None:
    assert CLASSIC.text(address) == text
    envelope = changed(address=address, reply_to=address)
    data = Encoder(CLASSIC).encode(envelope, NOW)
    assert data.count(string(text)) == 2
    found = Decoder(HERE, CLASSIC).decode(data)
    assert (found.envelope.address, found.envelope.reply_to) == (address, address)


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("orders", 1, HERE),  # where it was received, whatever its sender says
        ("other", None, Address("other")),
        ("other", 1, Address("other", topic=True)),
        ("other", 77, Address("other")),
        ("topic://other", None, Address("other", topic=True)),
        ("queue://ActiveMQ.DLQ", 1, Address("ActiveMQ.DLQ")),
        ("temp-queue://ID:x", None, Address("temp-queue://ID:x", temporary=True)),
    ],
)
def test_addresses_of_others(text: str, kind: int | None, expected: Address) -> None:
    own = HERE if text == "orders" else Address("own")
    naming = Naming() if text == "orders" else CLASSIC
    assert naming.address(text, kind, own) == expected


def test_the_kind_of_an_unmarked_reply_destination_is_the_consumers() -> None:
    data = b"\x00\x53\x73" + encode([None, None, None, None, "answers"]) + b"\x00\x53\x77\x40"
    assert Decoder(Address("news", topic=True)).decode(data).envelope.reply_to == Address("answers", topic=True)
    assert Decoder(HERE).decode(data).envelope.reply_to == Address("answers")
    legacy = b"\x00\x53\x72" + _annotations({"x-opt-reply-type": "topic, temporary", "x-opt-to-type": "queue"})
    assert Decoder(HERE).decode(legacy + data).envelope.reply_to == Address("answers", topic=True, temporary=True)


def _annotations(table: dict[str, Any]) -> bytes:
    return compound_map(b"".join(symbol(name) + encode(value) for name, value in table.items()), len(table))


def test_groups_are_fields() -> None:
    table = {"JMSXGroupID": "g", "JMSXGroupSeq": -1, "JMS_AMQP_REPLY_TO_GROUP_ID": "r", "a": 1}
    data = Encoder().encode(changed(properties=table), NOW)
    assert b"JMSX" not in data
    assert b"JMS_AMQP" not in data
    assert data.count(b"\xa1\x01g\x70\xff\xff\xff\xff\xa1\x01r") == 1
    assert typed(Decoder(HERE).decode(data).envelope.properties) == typed(table)
    grouped = {"JMSXGroupID": "g", "JMSXGroupSeq": 0}
    assert through(changed(properties=grouped)).envelope.properties == grouped
    assert through(changed(properties={"JMSXGroupSeq": 0})).envelope.properties == {}  # as OpenWire's messages have it


def test_the_providers_properties_are_not_sent() -> None:
    mine = {"JMSXUserID": "me", "JMSXDeliveryCount": 7, "JMS_AMQP_ACK_TYPE": 1, "a": 1}
    found = through(changed(properties=mine))
    assert (found.envelope.properties, found.delivery_count) == ({"a": 1}, 1)
    assert through(PLAIN, user="ü").envelope.properties == {**PLAIN.properties, "JMSXUserID": "ü"}


def test_a_delayed_message_keeps_its_times_where_the_broker_adds_the_delay() -> None:
    delayed = changed(expiration=NOW + 5000, delivery_time=NOW + 2000, timestamp=NOW)
    data = Encoder().encode(delayed, NOW)
    assert Decoder(HERE).decode(data).envelope == delayed
    later = data.replace(
        b"\x83" + (NOW + 5000).to_bytes(8, "big") + b"\x83" + NOW.to_bytes(8, "big"),
        b"\x83" + (NOW + 7000).to_bytes(8, "big") + b"\x83" + (NOW + 2000).to_bytes(8, "big"),
    )
    assert later != data
    assert Decoder(HERE).decode(later).envelope == delayed


def test_expiration_and_its_override() -> None:
    expiring = changed(expiration=NOW + 5000)
    data = Encoder().encode(expiring, NOW)
    assert data.startswith(b"\x00\x53\x70\xc0\x08\x03\x41\x40\x70\0\0\x13\x88")
    assert Decoder(HERE).decode(data).envelope.expiration == NOW + 5000
    longer = {"JMS_AMQP_TTL": Long(255)}
    data = Encoder().encode(changed(properties=longer), NOW)
    assert data.startswith(b"\x00\x53\x70\xc0\x05\x03\x41\x40\x52\xff")
    # Without an absolute time of the sender it counts from the arrival.
    found = Decoder(HERE, clock=lambda: NOW).decode(data)
    assert (found.envelope.expiration, found.envelope.properties) == (NOW + 255, {})
    late = Encoder().encode(expiring, NOW + 6000)
    assert late.startswith(b"\x00\x53\x70\xc0\x05\x03\x41\x40\x52\x01")
    endless = Encoder().encode(changed(expiration=NOW + (1 << 33)), NOW)
    assert endless.startswith(b"\x00\x53\x70\xc0\x02\x01\x41\x00")


def test_a_duplicate_id_is_a_property_where_the_broker_knows_it() -> None:
    envelope = changed(duplicate_id="once")
    assert b"once" not in Encoder().encode(envelope, NOW)
    data = Encoder(duplicates=True).encode(envelope, NOW)
    assert b"\xa1\x0c_AMQ_DUPL_ID\xa1\x04once" in data
    assert typed(Decoder(HERE).decode(data).envelope) == typed(envelope)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("text", b"\xa1\x04text"),
        (Long(5), b"\x55\x05"),
        ([1, {"a": [Byte(1), None]}], None),
        ({"k": Short(2), "c": Char("x"), "f": Float(1.5), "raw": b"\0", "t": True}, None),
    ],
)
def test_an_object_in_amqps_types(value: Any, expected: bytes | None) -> None:
    envelope = changed(kind=BodyKind.OBJECT, body=javaserial.dumps(value), properties={"JMS_AMQP_TYPED_ENCODING": True})
    data = Encoder().encode(envelope, NOW)
    assert b"java-serialized" not in data
    assert expected is None or data.endswith(b"\x00\x53\x77" + expected)
    found = Decoder(HERE).decode(data).envelope
    assert found.kind is BodyKind.OBJECT
    assert typed(javaserial.loads(found.body)) == typed(value)


def test_an_object_without_type_in_amqp_is_refused() -> None:
    setting = {"JMS_AMQP_TYPED_ENCODING": True}
    stream = b"\xac\xed\0\5sr\0\3a.B" + b"\0" * 8 + b"\2\0\0xp"
    with pytest.raises(Unencodable, match=r"a\.B has no AMQP type"):
        Encoder().encode(changed(kind=BodyKind.OBJECT, body=stream, properties=setting), NOW)
    with pytest.raises(Unencodable, match="cannot be decoded"):
        Encoder().encode(changed(kind=BodyKind.OBJECT, body=stream[:-1], properties=setting), NOW)


@pytest.mark.parametrize(
    "values",
    [
        {"properties": {"a": {1, 2}}},
        {"properties": {"a": 1 << 64}},
        {"properties": {"a": 1j}},
        {"timestamp": 1 << 63},
        {"expiration": 1 << 63},
        {"correlation_id": "ID:AMQP_UUID:nonsense"},
        {"kind": BodyKind.STREAM, "body": [1j]},
    ],
    ids=repr,
)
def test_what_amqp_cannot_hold_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(Unencodable):
        Encoder().encode(changed(**values), NOW)


def test_what_brokers_add_is_not_shown() -> None:
    table = {
        "JMS_AMQP_HEADER": True,
        "JMS_AMQP_MA_x-opt-jms-dest": Byte(0),
        "NATIVE_MESSAGE_ID": "m",
        "__HDR_COMMAND_ID": 5,
        "scheduledJobId": "j",
        "JMSXDeliveryCount": None,
        "_AMQ_GROUP": "g",
        "mine": 1,
    }
    assert _with(table).envelope.properties == {"mine": 1}


def _with(table: dict[str, Any], before: bytes = b"", **options: Any) -> Inbound:
    """A text with these application properties, as it arrives."""
    data = before + b"\x00\x53\x74" + encode_pairs(table) + b"\x00\x53\x77\x40"
    return Decoder(HERE, **options).decode(data)


@pytest.mark.parametrize(("routing", "origin"), [(1, "queue:q"), (0, "topic:a/q"), (None, "queue:q")])
def test_a_dead_letter_of_artemis_does_not_expire(routing: int | None, origin: str) -> None:
    notes: dict[str, Any] = {"ORIG-QUEUE": "q", "ORIG-ADDRESS": "a", "ORIG-ROUTING-TYPE": routing}
    annotations = b"\x00\x53\x72" + _annotations({f"x-opt-{name}": value for name, value in notes.items()})
    header = b"\x00\x53\x70" + encode([True, None, Long(5)])
    found = _with({"a": 1}, header.replace(b"\x55\x05", b"\x52\x05") + annotations).envelope
    assert (found.expiration, found.properties) == (0, {DEAD_LETTER_ORIGIN: origin, "a": 1})
    core = {f"_AMQ_{name.replace('-', '_')}": value for name, value in notes.items()}
    assert _with(core).envelope.properties == {DEAD_LETTER_ORIGIN: origin}
    assert _with({"_AMQ_ORIG_ADDRESS": "a"}).envelope.properties == {}


def test_halves_of_pairs_from_classic_are_joined() -> None:
    classic = "😀".encode("utf-16-be")
    halves = "".join(chr(int.from_bytes(classic[at : at + 2], "big")) for at in (0, 2)).encode("utf-8", "surrogatepass")
    assert halves == b"\xed\xa0\xbd\xed\xb8\x80"
    body = b"\xa1\x06" + halves
    key = b"\xa1\x01k"
    data = b"\x00\x53\x74" + compound_map(key + body + body + body, 2) + b"\x00\x53\x77" + body
    found = Decoder(HERE).decode(data)
    assert (found.fault, found.envelope.body) == (None, "😀")
    assert found.envelope.properties == {"k": "😀", "😀": "😀"}


@pytest.mark.parametrize(("counted", "count"), [(None, 1), (0, 1), (1, 2), (250, 251), ((1 << 32) - 1, (1 << 31) - 1)])
def test_delivery_count(counted: int | None, count: int) -> None:
    fields = b"\x41\x40\x40\x40" + (b"\x40" if counted is None else b"\x70" + counted.to_bytes(4, "big"))
    header = b"\x00\x53\x70\xc0" + bytes((len(fields) + 1, 5)) + fields
    assert Decoder(HERE).decode(header + b"\x00\x53\x77\x40").delivery_count == count
