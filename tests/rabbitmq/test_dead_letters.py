"""What was put aside does not expire any more, whoever did it; what only waited for its delivery time does."""

from typing import Any

import msgspec
import pytest

from jmsbridge.spi import BodyKind, Envelope
from jmsbridge_rabbitmq import wire
from jmsbridge_rabbitmq.delays import name_of
from jmsbridge_rabbitmq.fields import decode_table, encode_table, field
from jmsbridge_rabbitmq.properties import Properties, copy_for, decode, encode
from jmsbridge_rabbitmq.wire import Dialect, Encoder
from tests.rabbitmq.envelopes import HERE

BOTH: tuple[Dialect, ...] = ("amqp", "jms")
NOW = 1_770_000_000_123
MORTAL = Envelope(HERE, BodyKind.TEXT, "text", {"n": 7}, "ID:1", NOW, True, 4, NOW + 5000, 0, None, None, None)


def died(*queues: str) -> dict[str, Any]:
    """What the broker notes of a message that died in these queues."""
    return {"x-death": [{"queue": queue, "reason": "expired", "count": 1} for queue in queues]}


def with_headers(properties: bytes, more: dict[str, Any]) -> bytes:
    """The same list with some more headers, without its expiration, as the broker writes it."""
    found = decode(properties)
    entries = (found.headers or b"")[4:] + encode_table(more)[4:]
    found.headers, found.expiration = len(entries).to_bytes(4, "big") + entries, None
    return encode(found)


@pytest.mark.parametrize("dialect", BOTH)
def test_a_dead_letter_is_the_same_message_but_for_its_end(dialect: Dialect) -> None:
    made = Encoder(dialect).encode(MORTAL, NOW)
    aside = copy_for(made.properties, "ID:2", dead=True)
    for properties in (aside, copy_for(aside, "ID:3", dead=True), copy_for(aside, "ID:3")):
        assert wire.decode(HERE, properties, made.body).envelope == msgspec.structs.replace(MORTAL, expiration=0)
        table, _ = decode_table(decode(properties).headers or b"")
        assert "JMSExpiration" not in table
        assert (decode(properties).headers or b"").count(field("x-jb-dead", True)) == 1


@pytest.mark.parametrize("dialect", BOTH)
def test_one_that_goes_to_wait_keeps_its_end(dialect: Dialect) -> None:
    made = Encoder(dialect).encode(MORTAL, NOW)
    assert wire.decode(HERE, copy_for(made.properties, "ID:2"), made.body).envelope == MORTAL


def test_a_dead_letter_without_headers_is_marked_too() -> None:
    for raw in (encode(Properties()), b"no list"):
        assert decode(copy_for(raw, "ID:2", dead=True)).headers == encode_table({"x-jb-dead": True})


@pytest.mark.parametrize("dialect", BOTH)
@pytest.mark.parametrize(
    ("noted", "dies"),
    [
        (died(name_of(1300, "")), True),
        (died("work"), False),
        (died("work", name_of(1300, "")), False),
        ({"x-death": [{"reason": "expired"}]}, False),
        ({"x-death": ["no table"]}, False),
        ({"x-death": "no list"}, True),
        ({"x-death": []}, True),
    ],
)
def test_what_the_broker_put_aside_does_not_expire(dialect: Dialect, noted: dict[str, Any], dies: bool) -> None:
    made = Encoder(dialect).encode(MORTAL, NOW)
    found = wire.decode(HERE, with_headers(made.properties, noted), made.body)
    assert found.fault is None
    assert found.envelope == (MORTAL if dies else msgspec.structs.replace(MORTAL, expiration=0))


def test_one_that_is_sent_once_more_with_a_new_end_is_left_to_the_broker() -> None:
    """A program that copies the headers of a dead letter leaves the old time of its send in them."""
    made = Encoder("amqp").encode(MORTAL, NOW)
    found = decode(with_headers(made.properties, died("work")))
    found.expiration = "100"
    assert wire.decode(HERE, encode(found), made.body).envelope.expiration == 0
