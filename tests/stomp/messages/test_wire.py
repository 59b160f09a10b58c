"""Envelopes as STOMP frames and back, messages of Java programs, and what cannot be carried."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jmsbridge.spi import Address, AddressRefused, BodyKind, Byte, Char, Envelope, Float, Long, Short
from jmsbridge_stomp.messages.wire import (
    ARTEMIS,
    CLASSIC,
    FAULT,
    OLD_CLASSIC,
    RABBITMQ,
    Decoder,
    Dialect,
    Encoder,
    Inbound,
)
from jmsbridge_stomp.protocol.frames import MOST_LINE, Frame, Unencodable
from jmsbridge_stomp.protocol.parsing import Parser

QUEUE = Address("orders")
NOW = 1_800_000_000_000
DIALECTS = {"artemis": ARTEMIS, "classic": CLASSIC, "old": OLD_CLASSIC, "rabbitmq": RABBITMQ}
dialects = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)


def _envelope(body: Any = "text", kind: BodyKind = BodyKind.TEXT, **fields: Any) -> Envelope:
    fields.setdefault("address", QUEUE)
    fields.setdefault("properties", {})
    fields.setdefault("message_id", "ID:1")
    fields.setdefault("timestamp", NOW)
    return Envelope(kind=kind, body=body, **fields)


def _frame(sent: Envelope, dialect: Dialect, **options: Any) -> Frame:
    encoder = Encoder(dialect, options.pop("sender", None), **{"delays": False, "detects": False, **options})
    return _read(b"SEND\n" + encoder.encode(sent, NOW))


def _read(data: bytes) -> Frame:
    (frame,) = Parser().feed(data)
    return frame


def _back(sent: Envelope, dialect: Dialect) -> Envelope:
    return Decoder(dialect, sent.address).decode(_delivered(sent, dialect)).envelope


def _delivered(sent: Envelope, dialect: Dialect) -> Frame:
    return _read(b"MESSAGE\n" + Encoder(dialect, None, delays=False, detects=False).encode(sent, NOW))


def _typed(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: (type(field), repr(field)) for name, field in value.items()}
    return [(type(field), repr(field)) for field in value] if isinstance(value, list) else value


_text = st.text(st.characters(), max_size=20)
_values = st.one_of(
    st.booleans(),
    st.integers(-128, 127).map(Byte),
    st.integers(-(1 << 15), (1 << 15) - 1).map(Short),
    st.integers(-(1 << 31), (1 << 31) - 1),
    st.integers(-(1 << 63), (1 << 63) - 1).map(Long),
    st.floats(),
    st.floats(width=32).map(Float),
    _text,
    st.none(),
)
_fields = st.one_of(_values, st.binary(max_size=9), st.characters(max_codepoint=0xFFFF).map(Char))
_names = st.one_of(
    st.sampled_from(
        [
            "type",
            "priority",
            "durable",
            "expiration",
            "JMSXGroupID",
            "JMS_x",
            "jb_types",
            "AMQ_SCHEDULED_DELAY",
            "ä",
            "n",
        ]
    ),
    st.text(st.characters(categories=["L"]), min_size=1, max_size=5),
)


@dialects
@given(properties=st.dictionaries(_names, _values, max_size=6))
def test_properties_come_back_with_their_types(dialect: Dialect, properties: dict[str, Any]) -> None:
    assert _typed(_back(_envelope(properties=properties), dialect).properties) == _typed(properties)


@dialects
def test_lone_surrogates_come_back(dialect: Dialect) -> None:
    sent = _envelope("a\ud800", properties={"a": "\ud800x\ud83d"}, message_id="ID:\ud800", jms_type="\udc00")
    assert _back(sent, dialect) == sent


@dialects
@given(body=_text)
def test_texts_come_back(dialect: Dialect, body: str) -> None:
    back = _back(_envelope(body), dialect)
    assert (back.kind, back.body) == (BodyKind.TEXT, body)


@dialects
@given(body=st.dictionaries(_text.filter(bool), _fields, max_size=4))
def test_maps_come_back(dialect: Dialect, body: dict[str, Any]) -> None:
    back = _back(_envelope(body, BodyKind.MAP), dialect)
    assert (back.kind, _typed(back.body)) == (BodyKind.MAP, _typed(body))


@dialects
@given(body=st.lists(_fields, max_size=4))
def test_streams_come_back(dialect: Dialect, body: list[Any]) -> None:
    back = _back(_envelope(body, BodyKind.STREAM), dialect)
    assert (back.kind, _typed(back.body)) == (BodyKind.STREAM, _typed(body))


@dialects
@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (BodyKind.NONE, None),
        (BodyKind.TEXT, None),
        (BodyKind.TEXT, ""),
        (BodyKind.BYTES, b""),
        (BodyKind.BYTES, bytes(range(256))),
        (BodyKind.OBJECT, None),
        (BodyKind.OBJECT, b"\xac\xed\0\x05t\0\1x"),
    ],
)
def test_other_bodies_come_back(dialect: Dialect, kind: BodyKind, body: Any) -> None:
    back = _back(_envelope(body, kind), dialect)
    assert (back.kind, back.body) == (kind, body)


@dialects
@given(correlation=st.one_of(st.none(), _text, st.binary(max_size=9)), jms_type=st.one_of(st.none(), _text))
def test_headers_come_back(dialect: Dialect, correlation: str | bytes | None, jms_type: str | None) -> None:
    sent = _envelope(
        persistent=False,
        priority=9,
        expiration=NOW + 5,
        delivery_time=NOW + 3,
        correlation_id=correlation,
        jms_type=jms_type,
        reply_to=Address("answers:1", topic=True),
        message_id=None,
    )
    assert _back(sent, dialect) == sent


@dialects
@pytest.mark.parametrize("topic", [False, True])
@pytest.mark.parametrize("temporary", [False, True])
def test_reply_destinations_come_back(dialect: Dialect, topic: bool, temporary: bool) -> None:
    sent = _envelope(reply_to=Address("a/b", topic, temporary))
    assert _back(sent, dialect).reply_to == sent.reply_to


@dialects
def test_long_and_many_properties_come_back(dialect: Dialect) -> None:
    """Brokers close the connection for a header of more than 10 KiB, and for more than 1000 headers."""
    properties: dict[str, Any] = {f"p{number}": "x" for number in range(2000)} | {"long": "ä\\:" * 20_000}
    assert _back(_envelope(properties=properties), dialect).properties == properties


@dialects
def test_no_value_makes_a_header(dialect: Dialect) -> None:
    """A line feed, or an end of a frame, in any text stays in its text."""
    bad = "x\npriority:9\n\n\0\nSEND\n"
    sent = _envelope(
        bad, correlation_id=bad, jms_type=bad, message_id=f"ID:{bad}", properties={"a": bad, "b": "\n", "jb_types": bad}
    )
    frame = _frame(sent, dialect)
    assert "priority" not in frame.headers
    assert _back(sent, dialect) == sent


@dialects
def test_plain_names_for_java_and_selectors(dialect: Dialect) -> None:
    properties = {"n": 42, "b": True, "d": 2.5, "s": "a:b", "f": Float(0.1), "big": 1e300}
    headers = _frame(_envelope(properties=properties), dialect).headers
    found = {name: headers[name] for name in properties}
    assert found == {"n": "42", "b": "true", "d": "2.5", "s": "a:b", "f": "0.1", "big": "1.0E300"}
    assert headers["persistent"] == "true"


def test_destinations_of_artemis_have_no_prefix() -> None:
    headers = _frame(
        _envelope(address=Address("a", topic=True), reply_to=Address("t", temporary=True)), ARTEMIS
    ).headers
    assert (headers["destination"], headers["destination-type"]) == ("a", "MULTICAST")
    assert headers["reply-to"] == "temp-queue://t"
    assert "timestamp" not in headers


def test_destinations_of_classic_have_a_prefix() -> None:
    headers = _frame(
        _envelope(address=Address("a", topic=True), reply_to=Address("t", temporary=True)), CLASSIC
    ).headers
    assert (headers["destination"], headers["reply-to"]) == ("/topic/a", "/queue/t")
    assert headers["timestamp"] == str(NOW)


def test_what_makes_queues_on_rabbitmq_is_never_a_property() -> None:
    """``durable`` in a header would make a queue that does not survive a restart."""
    assert "persistent" not in _frame(_envelope(persistent=False), RABBITMQ).headers  # false makes one, too
    sent = _envelope(address=Address("a/b"), expiration=NOW + 5, properties={"durable": "false", "expiration": "1"})
    headers = _frame(sent, RABBITMQ).headers
    assert (headers["destination"], headers["x-queue-type"]) == ("/queue/a%2Fb", "classic")
    assert (headers["expiration"], "durable" in headers, "timestamp" in headers) == ("5", False, False)
    assert _back(sent, RABBITMQ) == sent
    topic = _frame(_envelope(address=Address("a/b", topic=True)), RABBITMQ).headers
    assert (topic["destination"], "x-queue-type" in topic) == ("/topic/a%2Fb", False)


def test_texts_that_are_too_long_for_amqp_come_back() -> None:
    """The broker ends the connection for a name, a correlation id or a type of more than 255 bytes."""
    long = "ä" * 128
    sent = _envelope(correlation_id=long, jms_type=long, properties={long: 1, "n" * 255: 2})
    headers = _frame(sent, RABBITMQ).headers
    assert max(len(name) for name in headers) == 255
    assert not {"correlation-id", "type", long} & headers.keys()
    assert _back(sent, RABBITMQ) == sent
    with pytest.raises(Unencodable, match="answers"):
        _frame(_envelope(reply_to=Address("x" * 250)), RABBITMQ)


def test_a_frame_that_rabbitmq_would_not_read_is_refused() -> None:
    with pytest.raises(Unencodable, match="at most 4,194,240 over STOMP: send smaller messages, or use"):
        _frame(_envelope("x" * (4 << 20)), RABBITMQ)


@pytest.mark.parametrize(
    ("dialect", "name"),
    [
        (CLASSIC, "a,b"),
        (CLASSIC, "a.>"),
        (CLASSIC, "*.a"),
        (CLASSIC, "a?x=1"),
        (ARTEMIS, "a::b"),
        (ARTEMIS, "a.#"),
        (ARTEMIS, "queue://a"),
        (ARTEMIS, "/queue/a"),
        (CLASSIC, " a"),
        (ARTEMIS, "a\0b"),
        (RABBITMQ, "a%2Fb"),
        (RABBITMQ, "a\nb"),
        (RABBITMQ, "a.*"),
        (RABBITMQ, "ä" * 128),
        (ARTEMIS, ""),
    ],
)
def test_names_that_brokers_do_not_take_literally_are_refused(dialect: Dialect, name: str) -> None:
    with pytest.raises(AddressRefused):
        _frame(_envelope(address=Address(name)), dialect)


def test_delays_are_written_for_a_broker_that_keeps_them() -> None:
    sent = _envelope(delivery_time=NOW + 700, expiration=NOW + 900)
    classic = _frame(sent, CLASSIC, delays=True).headers
    assert (classic["AMQ_SCHEDULED_DELAY"], "timestamp" in classic) == ("700", False)  # else it changes the expiry
    assert _frame(sent, ARTEMIS, delays=True).headers["AMQ_SCHEDULED_TIME"] == str(NOW + 700)
    assert not [name for name in _frame(sent, ARTEMIS).headers if name.startswith("AMQ_")]


def test_text_with_nul_on_classic_is_a_text_to_java() -> None:
    headers = _frame(_envelope("a\0b"), CLASSIC).headers
    assert (headers["amq-msg-type"], headers["content-length"]) == ("text", "3")
    assert "content-length" not in _frame(_envelope("ab"), CLASSIC).headers


def _foreign(dialect: Dialect, body: bytes, **headers: str) -> Inbound:
    named = {name.replace("__", "-"): value for name, value in headers.items()}
    return Decoder(dialect, QUEUE).decode(Frame("MESSAGE", named, body))


def test_a_message_of_java_on_classic() -> None:
    got = _foreign(
        CLASSIC,
        b"x",
        message__id="ID:host-1:1:1:1:1",
        destination="/queue/orders",
        expires="0",
        priority="7",
        timestamp="5",
        persistent="true",
        redelivered="true",
        reply__to="/remote-temp-queue/ID:host-1:2:1",
        n="42",
        type="t",
    )
    envelope = got.envelope
    assert (envelope.message_id, envelope.priority, envelope.timestamp) == ("ID:host-1:1:1:1:1", 7, 5)
    assert (envelope.persistent, got.redelivered, envelope.jms_type) == (True, True, "t")
    assert envelope.properties == {"n": "42"}
    reply_to = envelope.reply_to
    assert reply_to == Address("/remote-temp-queue/ID:host-1:2:1", temporary=True)
    assert CLASSIC.destination(reply_to)[0] == "/remote-temp-queue/ID:host-1:2:1"


def test_the_kind_of_a_message_of_java_on_artemis() -> None:
    """Artemis writes a content-length for a text, too, but as the last header."""
    assert (
        _foreign(ARTEMIS, b"x", subscription="1", content__length="1", message__id="1,7").envelope.kind
        is BodyKind.BYTES
    )
    text = _foreign(ARTEMIS, b"x", subscription="1", message__id="1,7", receipt="9", content__length="1").envelope
    assert (text.kind, text.message_id, text.properties) == (BodyKind.TEXT, "ID:7", {})


def test_what_artemis_adds_to_messages_of_java_is_read() -> None:
    headers = {
        "message-id": "3,77",
        "__HDR_MESSAGE_ID": "ID:openwire-1",
        "__HDR_ARRIVAL": "0",
        "_AMQ_GROUP_ID": "g",
        "_AMQ_GROUP_SEQUENCE": "3",
        "_AMQ_SCHED_DELIVERY": str(NOW + 300),
    }
    found = Decoder(ARTEMIS, QUEUE).decode(Frame("MESSAGE", headers, b"x")).envelope
    assert (found.message_id, found.delivery_time) == ("ID:openwire-1", NOW + 300)
    assert found.properties == {"JMSXGroupID": "g", "JMSXGroupSeq": 3}


def test_a_message_of_amqp_on_rabbitmq() -> None:
    """The length of a text is written, too; the broker's own message id differs with each delivery."""
    headers = {"message_id": "T_jb1@@session@@1", "timestamp": "5", "durable": "x", "n": "1", "content_length": "1"}
    found = _foreign(RABBITMQ, b"x", **{name.replace("_", "__"): value for name, value in headers.items()}).envelope
    assert (found.kind, found.message_id, found.timestamp, found.properties) == (BodyKind.BYTES, None, 5000, {"n": "1"})
    typed = {"content__type": "text/plain; charset=utf-8", "amqp__message__id": "m", "timestamp": str(NOW)}
    named = _foreign(RABBITMQ, b"x", **typed).envelope
    assert (named.kind, named.message_id, named.timestamp) == (BodyKind.TEXT, "m", NOW)


def test_the_answer_to_a_temporary_queue_of_the_plugin() -> None:
    reply_to = _foreign(RABBITMQ, b"x", reply__to="/reply-queue/amq.gen-x").envelope.reply_to
    assert reply_to == Address("/reply-queue/amq.gen-x", temporary=True)
    assert RABBITMQ.destination(reply_to)[0] == "/reply-queue/amq.gen-x"


def test_a_text_that_is_not_utf_8_is_bytes_with_a_reason() -> None:
    envelope = _foreign(CLASSIC, b"\xff").envelope
    assert (envelope.kind, envelope.body) == (BodyKind.BYTES, b"\xff")
    assert "UTF-8" in envelope.properties[FAULT]


@given(
    st.dictionaries(st.sampled_from(["jb_message", "jb_types", "jb_message_2", "priority", "expires"]), _text),
    st.binary(max_size=9),
)
def test_decoding_never_raises(headers: dict[str, str], body: bytes) -> None:
    for dialect in DIALECTS.values():
        envelope = Decoder(dialect, QUEUE).decode(Frame("MESSAGE", headers, body)).envelope
        assert 0 <= envelope.priority <= 9


def test_a_reply_with_the_headers_of_the_request_is_read_as_a_text() -> None:
    frame = _delivered(_envelope({"a": 1}, BodyKind.MAP, properties={"n": 1}), CLASSIC)
    copied = Frame("MESSAGE", {**frame.headers, "n": "other"}, b"done")
    envelope = Decoder(CLASSIC, QUEUE).decode(copied).envelope
    assert (envelope.kind, envelope.body, envelope.properties) == (BodyKind.TEXT, "done", {"n": "other"})


@dialects
@given(messages=st.lists(st.dictionaries(st.sampled_from(["a", "b", "type", "JMSXGroupID"]), _values), max_size=6))
def test_messages_with_the_same_names_come_back_one_after_the_other(
    dialect: Dialect, messages: list[dict[str, Any]]
) -> None:
    """What encoder and decoder remember of the names and types of one message fits the next one, too."""
    encoder, decoder = Encoder(dialect, None, delays=False, detects=False), Decoder(dialect, QUEUE)
    for properties in (*messages, {"a": "plain"}, {"a": "x:y\n"}, {"a": "x" * 2001}, *messages):
        frame = _read(b"MESSAGE\n" + encoder.encode(_envelope(properties=properties), NOW))
        found = decoder.decode(frame).envelope
        assert _typed(found.properties) == _typed(properties)


@dialects
def test_what_is_remembered_of_messages_is_limited_and_never_changes_what_is_written(dialect: Dialect) -> None:
    encoder = Encoder(dialect, None, delays=False, detects=False)
    for number in (*range(300), 0, 299):
        sent = _envelope(properties={f"n{number}": number, "when": "12:30" if number % 2 else "noon"})
        alone = Encoder(dialect, None, delays=False, detects=False)
        assert encoder.encode(sent, NOW) == alone.encode(sent, NOW)
    assert len(encoder._shapes) <= 128


def test_a_value_that_does_not_fit_its_type_is_a_text_also_between_others() -> None:
    """As where a program changes a property, and copies the types."""
    headers, decoder = _delivered(_envelope(properties={"n": 1}), CLASSIC).headers, Decoder(CLASSIC, QUEUE)
    for text, value in (("1", 1), ("one", "one"), ("2", 2)):
        found = decoder.decode(Frame("MESSAGE", {**headers, "n": text}, b"x")).envelope
        assert found.properties == {"n": value}


def test_each_message_of_a_decoder_has_the_properties_of_its_own_headers() -> None:
    decoder = Decoder(CLASSIC, QUEUE)
    for properties in ({"a": "1"}, {"a": "2"}, {"b": "3", "a": "4"}, {}, {"a": "5"}):
        frame = Frame("MESSAGE", {"message-id": "1", "priority": "4", **properties}, b"x")
        assert decoder.decode(frame).envelope.properties == properties


@dialects
def test_a_long_name_and_a_long_value_make_no_line_that_brokers_refuse(dialect: Dialect) -> None:
    sent = _envelope(properties={"é" * 1900: "😀" * 2000, "a" * 2000: "\r" * 2000, "b": "😀" * 2000})
    data = Encoder(dialect, None, delays=False, detects=False).encode(sent, NOW)
    assert max(map(len, data.split(b"\n"))) <= MOST_LINE
    assert _back(sent, dialect).properties == sent.properties
