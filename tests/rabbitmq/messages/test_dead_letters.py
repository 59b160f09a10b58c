"""Dead letters of client and broker no longer expire; messages that waited for their delivery time still do."""

from typing import Any

import msgspec
import pytest

from jmsbridge.spi import BodyKind, Envelope, Long, dead_letter_notes
from jmsbridge_rabbitmq.broker.delay_queues import name_of
from jmsbridge_rabbitmq.messages import wire
from jmsbridge_rabbitmq.messages.copying import copy_for, dead_copy, fresh_copy
from jmsbridge_rabbitmq.messages.wire import Dialect, Encoder
from jmsbridge_rabbitmq.protocol.fields import decode_table, encode_table, field
from jmsbridge_rabbitmq.protocol.properties import Properties, decode, encode
from tests.rabbitmq.messages.envelopes import HERE

BOTH: tuple[Dialect, ...] = ("amqp", "jms")
NOW = 1_770_000_000_123
MORTAL = Envelope(HERE, BodyKind.TEXT, "text", {"n": 7}, "ID:1", NOW, True, 4, NOW + 5000, 0, None, None, None)


def died(*queues: str) -> dict[str, Any]:
    """The header ``x-death`` of a message that the broker dead-lettered from these queues."""
    return {"x-death": [{"queue": queue, "reason": "expired", "count": 1} for queue in queues]}


def with_headers(properties: bytes, more: dict[str, Any]) -> bytes:
    """The same properties with more headers and without expiration, as the broker writes them."""
    found = decode(properties)
    entries = (found.headers or b"")[4:] + encode_table(more)[4:]
    found.headers, found.expiration = len(entries).to_bytes(4, "big") + entries, None
    return encode(found)


@pytest.mark.parametrize("dialect", BOTH)
def test_a_dead_letter_is_the_same_message_without_expiration(dialect: Dialect) -> None:
    made = Encoder(dialect).encode(MORTAL, NOW)
    aside = dead_copy(made.properties, "ID:2", {})
    for properties in (aside, dead_copy(aside, "ID:3", {}), copy_for(aside, "ID:3")):
        assert wire.decode(HERE, properties, made.body).envelope == msgspec.structs.replace(MORTAL, expiration=0)
        table, _ = decode_table(decode(properties).headers or b"")
        assert "JMSExpiration" not in table
        assert (decode(properties).headers or b"").count(field("x-jb-dead", True)) == 1


@pytest.mark.parametrize("dialect", BOTH)
def test_a_message_that_is_delayed_keeps_its_expiration(dialect: Dialect) -> None:
    made = Encoder(dialect).encode(MORTAL, NOW)
    assert wire.decode(HERE, copy_for(made.properties, "ID:2"), made.body).envelope == MORTAL


def test_a_dead_letter_without_headers_is_marked_too() -> None:
    for raw in (encode(Properties()), b"no list"):
        assert decode(dead_copy(raw, "ID:2", {})).headers == encode_table({"x-jb-dead": True})


ORIGIN, REASON = "JMS_jmsbridge_dead_letter_origin", "JMS_jmsbridge_dead_letter_reason"
TIME, DELIVERIES = "JMS_jmsbridge_dead_letter_time", "JMS_jmsbridge_dead_letter_deliveries"
EXPIRED = {ORIGIN: "queue:work", REASON: "expired"}


@pytest.mark.parametrize("dialect", BOTH)
@pytest.mark.parametrize(
    ("noted", "told"),
    [
        (died(name_of(1300, "")), None),
        (died("work"), EXPIRED),
        (died("work", name_of(1300, "")), EXPIRED),
        (died(name_of(1300, ""), "work", "earlier"), EXPIRED),
        ({"x-death": [{"reason": "expired"}]}, {REASON: "expired"}),
        ({"x-death": [{"reason": "a new one", "queue": "q", "count": 3}]}, {ORIGIN: "queue:q", REASON: "a new one"}),
        ({"x-death": [{"reason": 1, "queue": 2, "time": 3}]}, {}),
        ({"x-death": ["no table"]}, {}),
        ({"x-death": "no list"}, None),
        ({"x-death": []}, None),
    ],
)
def test_a_dead_letter_of_the_broker_does_not_expire_and_has_a_reason(
    dialect: Dialect, noted: dict[str, Any], told: dict[str, Any] | None
) -> None:
    made = Encoder(dialect).encode(MORTAL, NOW)
    found = wire.decode(HERE, with_headers(made.properties, noted), made.body)
    assert found.fault is None
    dead = msgspec.structs.replace(MORTAL, expiration=0, properties=MORTAL.properties | (told or {}))
    assert found.envelope == (MORTAL if told is None else dead)


@pytest.mark.parametrize("reason", ["rejected", "maxlen", "delivery_limit"])
def test_the_reasons_of_the_broker_are_translated(reason: str) -> None:
    made = Encoder("amqp").encode(MORTAL, NOW)
    noted = {"x-death": [{"queue": "work", "reason": reason, "count": 1}]}
    told = wire.decode(HERE, with_headers(made.properties, noted), made.body).envelope.properties[REASON]
    assert " " in told


@pytest.mark.parametrize("dialect", BOTH)
def test_a_dead_letter_has_reason_and_origin(dialect: Dialect) -> None:
    made = Encoder(dialect).encode(MORTAL, NOW)
    first = dead_letter_notes(None, "queue:work", 7, NOW)
    aside = dead_copy(made.properties, "ID:2", first)
    found = wire.decode(HERE, aside, made.body).envelope
    assert found.properties == {
        "n": 7,
        REASON: "rejected after 7 deliveries",
        ORIGIN: "queue:work",
        DELIVERIES: 7,
        TIME: NOW,
    }
    assert type(found.properties[TIME]) is Long
    again = dead_copy(aside, "ID:3", dead_letter_notes("expired", "queue:other", 1, NOW + 1))
    found = wire.decode(HERE, with_headers(again, died("further")), made.body).envelope
    assert found.properties == {"n": 7, REASON: "expired", ORIGIN: "queue:other", DELIVERIES: 1, TIME: NOW + 1}


@pytest.mark.parametrize("dialect", BOTH)
def test_a_copy_at_the_end_of_its_queue_keeps_its_count(dialect: Dialect) -> None:
    made = Encoder(dialect).encode(MORTAL, NOW)
    assert decode(made.properties).expiration == "5000"
    once = fresh_copy(made.properties, "ID:2", 11, NOW + 1000)
    assert decode(once).expiration == "4000"
    found = wire.decode(HERE, once, made.body)
    assert (found.envelope, found.delivery_count, found.returns) == (MORTAL, 12, 0)
    counted = with_headers(once, {"x-delivery-count": 4})
    found = wire.decode(HERE, counted, made.body, redelivered=True)
    assert (found.delivery_count, found.returns) == (16, 4)
    twice = fresh_copy(counted, "ID:3", 16, NOW + 9000)
    assert decode(fresh_copy(once, "ID:3", 16, NOW + 9000)).expiration == "1"
    assert wire.decode(HERE, twice, made.body).delivery_count == 17
    assert (decode(twice).headers or b"").count(b"x-jb-deliveries") == 1


def test_a_foreign_message_keeps_its_time_to_live_at_the_end_of_its_queue() -> None:
    raw = encode(Properties(expiration="700", headers=encode_table({"a": 1})))
    assert decode(fresh_copy(raw, "ID:2", 11, NOW)).expiration == "700"
    assert decode(fresh_copy(encode(Properties(expiration="700")), "ID:2", 11, NOW)).expiration == "700"
    assert decode(fresh_copy(b"no list", "ID:2", 11, NOW)).expiration is None


def test_a_message_sent_again_with_a_new_expiration_expires_at_the_broker() -> None:
    """A program that copies the headers of a dead letter also copies the time of its first send."""
    made = Encoder("amqp").encode(MORTAL, NOW)
    found = decode(with_headers(made.properties, died("work")))
    found.expiration = "100"
    assert wire.decode(HERE, encode(found), made.body).envelope.expiration == 0
