"""Every envelope through the wire and back, what only jmsbridge reads, and what cannot be carried."""

from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jmsbridge.spi import Address, BodyKind, Byte, Envelope, Float, Long, SendRefused
from jmsbridge_pulsar.messages.decoding import decode
from jmsbridge_pulsar.messages.encoding import Outgoing, encode
from jmsbridge_pulsar.messages.names import Names
from tests.rabbitmq.messages.envelopes import HERE, TEXT, VALUES, envelopes, typed

NAMES = Names()
NOW = 1_770_000_000_123
PLAIN = Envelope(HERE, BodyKind.TEXT, "text", {}, "ID:1", NOW)
SIDE = "JMS_jmsbridge"


def back(sent: Outgoing, **more: Any) -> Envelope:
    """What a subscription gets: pulsar-client gives properties in the order of their names."""
    return decode(
        body=sent.body or b"",
        is_null=sent.body is None,
        properties=dict(sorted(sent.properties.items())) | more,
        key=sent.key,
        event_time=sent.event_time,
        message_id=(1, 2, -1, -1),
        address=HERE,
        names=NAMES,
    )


def same(envelope: Envelope) -> Any:
    """What a reader can tell of it: a correlation id of bytes reads as a text of the same bytes."""
    correlation = envelope.correlation_id
    if isinstance(correlation, str):
        correlation = correlation.encode("utf-8", "surrogatepass")
    return typed(
        msgspec.structs.replace(
            envelope,
            correlation_id=correlation,
            delivery_time=envelope.delivery_time or envelope.timestamp,
        )
    )


def poisonous(sent: Outgoing) -> bool:
    """Whether Starlight's consumer would fail on it, and get it again for ever."""
    kind = sent.properties["JMSPulsarMessageType"]
    return (sent.body is None and kind in ("bytes", "stream")) or (sent.body == b"" and kind in ("map", "object"))


@given(envelope=envelopes())
@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
def test_every_message_survives(envelope: Envelope) -> None:
    sent = encode(envelope, NAMES)
    assert same(back(sent)) == same(envelope)
    assert not poisonous(sent)
    for text in (*sent.properties, *sent.properties.values(), sent.key or ""):
        text.encode()


@given(properties=st.dictionaries(TEXT, VALUES, max_size=4))
def test_properties_of_any_name_survive(properties: dict[str, Any]) -> None:
    found = back(encode(msgspec.structs.replace(PLAIN, properties=properties), NAMES)).properties
    assert typed(found) == typed(properties)


def test_what_starlight_has_no_place_for_is_in_one_property() -> None:
    odd = {"JMSXDeliveryCount": 7, "JMSReplyTo": "x", "n_jsmtype": "int", "n": "5", "none": None, "JMS_jmsbridge": True}
    odd |= {"\ud800": Long(1), "half": "\ud83d", "x" * 300 + "_jsmtype": Byte(1)}
    sent = encode(
        msgspec.structs.replace(
            PLAIN,
            properties=odd,
            message_id=None,
            jms_type="\ud800",
            body="\ud800",
            reply_to=Address("answers", temporary=True),
        ),
        NAMES,
    )
    reply_to = {"JMSReplyTo": "persistent://public/default/answers"}
    assert sent.properties == {"JMSPulsarMessageType": "text", "n": "5", SIDE: sent.properties[SIDE]} | reply_to
    assert sent.properties[SIDE].isascii()
    found = back(sent)
    assert typed(found.properties) == typed(odd)
    assert (found.message_id, found.jms_type, found.body) == (None, "\ud800", "\ud800")
    assert found.reply_to == Address("answers", temporary=True)


def test_an_ordinary_message_has_nothing_more_than_starlights() -> None:
    sent = encode(msgspec.structs.replace(PLAIN, properties={"n": 5, "t": "x"}), NAMES)
    assert sent.properties == {
        "n": "5",
        "n_jsmtype": "int",
        "t": "x",
        "JMSPulsarMessageType": "text",
        "JMSMessageId": "ID:1",
    }


def test_what_a_java_program_changed_counts() -> None:
    """It copies the property that only jmsbridge reads, and sets what is in it."""
    sent = encode(msgspec.structs.replace(PLAIN, message_id=None, jms_type="\ud800"), NAMES)
    found = back(sent, JMSMessageId="ID:7:0:-1", JMSType="new")
    assert (found.message_id, found.jms_type) == ("ID:7:0:-1", "new")


def test_groups() -> None:
    grouped = msgspec.structs.replace(PLAIN, properties={"JMSXGroupID": "g", "JMSXGroupSeq": 2})
    sent = encode(grouped, NAMES)
    assert (sent.key, sent.properties["JMSXGroupID"]) == ("g", "g")
    assert back(msgspec.structs.replace(sent, key="other")).properties["JMSXGroupID"] == "other"
    assert encode(PLAIN, NAMES).key is None
    assert encode(msgspec.structs.replace(PLAIN, properties={"JMSXGroupID": 5}), NAMES).key is None
    assert encode(msgspec.structs.replace(PLAIN, properties={"JMSXGroupID": ""}), NAMES).key is None


@pytest.mark.parametrize(
    ("kind", "body", "what"),
    [
        (BodyKind.MAP, {"x" * 65_536: 1}, "the name of a field"),
        (BodyKind.STREAM, ["é" * 33_000], "a text in a stream"),
    ],
)
def test_texts_that_java_has_no_room_for_are_refused(kind: BodyKind, body: Any, what: str) -> None:
    with pytest.raises(SendRefused, match=what):
        encode(msgspec.structs.replace(PLAIN, kind=kind, body=body), NAMES)


@pytest.mark.parametrize("length", [0, 1, 250, 1017, 1018, 1019, 5000, 65_535])
def test_names_of_fields_span_blocks(length: int) -> None:
    """Java writes blocks of 1024 bytes; the first also has the number of fields."""
    fields = {"x" * length: "v" * 70_000, "é" * (length // 2): Float(0.1)}
    sent = encode(msgspec.structs.replace(PLAIN, kind=BodyKind.MAP, body=fields), NAMES)
    assert sent.body is not None
    first = 4 + 2 + length
    head = b"\x77" + bytes((first,)) if first < 256 else b"\x7a" + min(first, 1024).to_bytes(4, "big")
    assert sent.body.startswith(b"\xac\xed\0\5" + head)
    assert typed(back(sent).body) == typed(fields)


@given(envelope=envelopes())
def test_the_size_is_not_less_than_what_counts(envelope: Envelope) -> None:
    sent = encode(envelope, NAMES)
    texts = (*sent.properties, *sent.properties.values(), sent.key or "")
    assert sent.size >= len(sent.body or b"") + sum(len(text.encode()) for text in texts)


def test_the_size_of_a_large_message_is_not_much_more() -> None:
    sent = encode(msgspec.structs.replace(PLAIN, body="x" * 4_000_000, properties={"p": "é" * 500_000}), NAMES)
    assert 5_000_000 < sent.size < 5_000_600
