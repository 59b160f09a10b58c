"""Contract: what ``Channel.send`` promises, and which parts of an envelope arrive."""

import time
from typing import Any

import msgspec

from jmsbridge.spi.backend import Cancels, Channel
from jmsbridge.spi.envelope import Address, Arrival, BodyKind, Envelope
from jmsbridge.spi.errors import SendCancelled
from jmsbridge.spi.native import Native
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.marks import level, promise, requires, rule
from jmsbridge.testing.suite.contract.support import Answer, drain, envelope, fetch, peek, send, subscribe
from jmsbridge.values import Byte, Char, Float, Long, Short


def _roundtrip(harness: Harness, sent: Envelope) -> Envelope:
    link = harness.open_link()
    send(link.channel(False), sent)
    subscription, box = subscribe(link.channel(False), sent.address, 1)
    arrival: Arrival = box.wait(1)[0]
    drain(subscription)
    return arrival.envelope


@level("contract")
@promise(Channel.send)
def test_contract_send_without_ticket_arrives(harness: Harness) -> None:
    address = harness.address()
    link = harness.open_link()
    link.channel(False).send(envelope(address, "unconfirmed"), None)
    assert fetch(link, address, 1) == ["unconfirmed"]


@level("contract")
@promise(2)
def test_contract_send_keeps_order(harness: Harness) -> None:
    address = harness.address()
    link = harness.open_link()
    channel = link.channel(False)
    texts = [str(number) for number in range(200)]
    for text in texts[:-1]:
        channel.send(envelope(address, text), Answer() if int(text) % 3 else None)
    send(channel, envelope(address, texts[-1]))
    assert fetch(link, address, 200) == texts


@level("contract")
@promise(2)
@rule("OR-1", "OR-3")
def test_contract_send_keeps_order_per_address(harness: Harness) -> None:
    """Sends that alternate between destinations arrive in order at each; there is no order between destinations."""
    addresses = [harness.address(), harness.address(), harness.address(topic=True)]
    link = harness.open_link()
    _, box = subscribe(link.channel(False), addresses[2], 60)
    texts = [str(number) for number in range(60)]
    send(link.channel(False), *(envelope(address, text) for text in texts for address in addresses))
    for address in addresses[:2]:
        assert fetch(link, address, 60) == texts
    assert [arrival.envelope.body for arrival in box.wait(60)] == texts


@level("contract")
@promise(Cancels.cancel)
def test_contract_send_cancelled_is_not_sent(harness: Harness) -> None:
    """After ``cancel`` a send was either confirmed, and its message is there once and in order, or was never sent."""
    address = harness.address()
    link = harness.open_link()
    channel = link.channel(False)
    answers = {str(number): Answer() for number in range(100)}
    for text, answer in answers.items():
        channel.send(envelope(address, text), answer)
    if isinstance(channel, Cancels):
        channel.cancel(list(answers.values())[50:])
        channel.cancel(list(answers.values()))  # includes tickets that are already answered
        channel.cancel([])
    outcomes = {text: answer.outcome() for text, answer in answers.items()}
    assert {type(outcome) for outcome in outcomes.values()} <= {type(None), SendCancelled}
    assert [len(answer.answers) for answer in answers.values()] == [1] * 100
    send(channel, envelope(address, "last"))
    sent = [text for text, outcome in outcomes.items() if outcome is None]
    assert fetch(link, address, len(sent) + 1) == [*sent, "last"]


@level("contract")
@promise(1)
def test_contract_send_answers_every_ticket_once(harness: Harness) -> None:
    address = harness.address()
    link = harness.open_link()
    channel = link.channel(False)
    answers = [Answer() for _ in range(200)]
    for answer in answers:
        channel.send(envelope(address), answer)
    assert [answer.outcome() for answer in answers] == [None] * 200
    channel.close()
    link.close()
    assert [len(answer.answers) for answer in answers] == [1] * 200


@level("contract")
@promise(Envelope)
def test_contract_send_carries_headers(harness: Harness) -> None:
    sent = envelope(
        harness.address(),
        "ünïcödé \N{GRINNING FACE} \u0000 end",
        persistent=True,
        priority=7,
        correlation_id="corr-1",
        reply_to=Address("replies", topic=True),
        jms_type="order",
    )
    got = _roundtrip(harness, sent)
    assert got == sent


@level("contract")
@requires(Native.TYPED_PROPERTIES)
def test_contract_send_carries_property_types(harness: Harness) -> None:
    properties: dict[str, Any] = {
        "a_boolean": True,
        "a_byte": Byte(-128),
        "a_short": Short(32767),
        "an_int": -(2**31),
        "a_long": Long(2**63 - 1),
        "a_float": Float(0.1),
        "a_double": 6.02e23,
        "a_string": "ä'\"\n",
        "empty": "",
    }
    got = _roundtrip(harness, envelope(harness.address(), properties=properties)).properties
    assert _typed(got) == _typed(properties)


@level("contract")
@requires(Native.BODY_KINDS)
def test_contract_send_carries_body_kinds(harness: Harness) -> None:
    fields = {"i": 1, "l": Long(2), "c": Char("x"), "b": b"\x00\xff", "f": Float(1.5), "d": 2.5, "s": "t", "n": None}
    bodies: list[tuple[BodyKind, Any]] = [
        (BodyKind.TEXT, "text"),
        (BodyKind.BYTES, bytes(range(256))),
        (BodyKind.MAP, {**fields, "y": Byte(1), "h": Short(2), "o": False}),
        (BodyKind.STREAM, [*fields.values(), Byte(1), Short(2), False]),
        (BodyKind.OBJECT, b"\xac\xed\x00\x05t\x00\x01x"),  # the text x; Java's null may arrive as None
    ]
    _assert_bodies(harness, bodies)


@level("contract")
@requires(Native.BODY_KINDS)
def test_contract_send_carries_empty_bodies(harness: Harness) -> None:
    bodies: list[tuple[BodyKind, Any]] = [
        (BodyKind.NONE, None),
        (BodyKind.TEXT, None),
        (BodyKind.TEXT, ""),
        (BodyKind.BYTES, b""),
        (BodyKind.MAP, {}),
        (BodyKind.STREAM, []),
        (BodyKind.OBJECT, None),
    ]
    _assert_bodies(harness, bodies)


def _assert_bodies(harness: Harness, bodies: list[tuple[BodyKind, Any]]) -> None:
    """Send all to one queue, and check that they arrive with kind, value and the type of each field."""
    address = harness.address()
    link = harness.open_link()
    send(link.channel(False), *(envelope(address, body, kind) for kind, body in bodies))
    subscription, box = subscribe(link.channel(False), address, len(bodies))
    got = [(arrival.envelope.kind, arrival.envelope.body) for arrival in box.wait(len(bodies))]
    drain(subscription)
    assert [(kind, _typed(body)) for kind, body in got] == [(kind, _typed(body)) for kind, body in bodies]


def _typed(value: Any) -> Any:
    """A value together with the types of its fields, because ``Byte(1) == 1 == True``."""
    if isinstance(value, dict):
        return {name: (type(field), field) for name, field in value.items()}
    if isinstance(value, list):
        return [(type(field), field) for field in value]
    return value


@level("contract")
@promise(Envelope)
def test_contract_send_carries_a_large_body(harness: Harness) -> None:
    text = "0123456789abcdef" * 65_536
    assert _roundtrip(harness, envelope(harness.address(), text)).body == text


@level("contract")
@requires(Native.EXPIRY)
def test_contract_send_drops_what_has_expired(harness: Harness) -> None:
    address = harness.address()
    link = harness.open_link()
    now = time.time_ns() // 1_000_000
    channel = link.channel(False)
    send(channel, envelope(address, "late", timestamp=now - 2000, expiration=now - 1000))
    send(channel, envelope(address, "soon", expiration=now + 60_000), envelope(address, "never"))
    assert fetch(link, address, 2) == ["soon", "never"]


@level("contract")
@requires(Native.DELAY)
def test_contract_send_delays(harness: Harness) -> None:
    address = harness.address()
    link = harness.open_link()
    due = time.time_ns() // 1_000_000 + 400
    channel = link.channel(False)
    send(channel, envelope(address, "delayed", delivery_time=due), envelope(address, "direct"))
    _, box = subscribe(link.channel(False), address, 2)
    assert [arrival.envelope.body for arrival in box.wait(1)] == ["direct"]
    arrival = box.wait(2)[1]
    assert time.time_ns() // 1_000_000 >= due
    assert (arrival.envelope.body, arrival.envelope.delivery_time) == ("delayed", due)


@level("contract")
@requires(Native.PRIORITY)
def test_contract_send_prefers_high_priority(harness: Harness) -> None:
    address = harness.address()
    link = harness.open_link()
    send(link.channel(False), *(envelope(address, str(priority), priority=priority) for priority in (1, 9, 4, 9, 1)))
    assert fetch(link, address, 5) == ["9", "9", "4", "1", "1"]


@level("contract")
@requires(Native.DUPLICATE_DETECTION)
def test_contract_send_confirms_and_drops_a_duplicate(harness: Harness) -> None:
    address = harness.address()
    link = harness.open_link()
    first = envelope(address, "once", duplicate_id=harness.name("dup"))
    send(link.channel(False), first)
    send(link.channel(False), msgspec.structs.replace(first, message_id="ID:second"), envelope(address, "other"))
    assert peek(link, address) == ["once", "other"]
