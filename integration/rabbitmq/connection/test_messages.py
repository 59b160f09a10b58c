"""Sends, deliveries, returns, single fetches and acknowledgements, whose frames bypass pika."""

from collections.abc import Callable
from typing import Any

import pytest

from integration.lab.broker import Broker
from integration.rabbitmq.support import Client
from jmsbridge.spi import Address, AddressRefused, Byte, Float, Long, Outcome, Short
from jmsbridge.testing.suite.contract.support import drain, settle
from jmsbridge.testing.suite.support import eventually

Clients = Callable[..., Client]


@pytest.fixture
def on(broker: Broker, clients: Clients) -> Client:
    """A client."""
    return clients(broker)


def test_types_and_sizes_survive(on: Client, name: str) -> None:
    properties: dict[str, Any] = {
        "b": Byte(-1),
        "s": Short(300),
        "i": 70_000,
        "l": Long(1 << 40),
        "f": Float(1.5),
        "d": -2.25,
        "t": True,
        "u": "ü",
    }
    texts = ["", "x", "ü" * 1000, "y" * 131_072, "z" * 1_000_000]
    for text in texts:
        on.send(Address(name), text, properties=properties)
    _, box = on.consume(Address(name), len(texts))
    box.wait(len(texts), 20.0)
    assert box.bodies == texts
    for arrival in box.arrivals:
        got = arrival.envelope.properties
        assert {key: (type(value), value) for key, value in got.items()} == {
            key: (type(value), value) for key, value in properties.items()
        }


def test_many_at_once_arrive_in_order(on: Client, name: str) -> None:
    texts = [str(number) for number in range(3000)]
    on.send(Address(name), *texts)
    subscription, box = on.consume(Address(name), 3000, window=500, deferred=True)
    box.wait(3000, 20.0)
    assert box.bodies == texts
    settle(subscription, box.tokens, Outcome.ACCEPTED)
    drain(subscription)
    subscription.close()
    assert on.link.describe(Address(name)).depth == 0


def test_unroutable_messages_come_back_before_their_confirmation(on: Client, broker: Broker, name: str) -> None:
    on.send(Address(name), "opens")
    broker.admin.delete(f"/api/queues/%2F/{name}")
    answers = [on.ask(Address(name), str(number)) for number in range(20)]
    outcomes = [answer.outcome() for answer in answers]
    assert isinstance(outcomes[0], AddressRefused)
    assert all(each is None or isinstance(each, AddressRefused) for each in outcomes)
    on.send(Address(name), "again")


def test_single_fetches_bring_messages_beyond_a_full_window(on: Client, name: str) -> None:
    on.send(Address(name), *"abcde")
    subscription, box = on.consume(Address(name), window=1)
    for count in range(1, 6):
        subscription.grant(1)
        drain(subscription)
        assert box.bodies == list("abcde")[:count]
    drain(subscription)
    settle(subscription, box.tokens, Outcome.ACCEPTED)
    subscription.close()


def test_requeued_messages_are_delivered_again(on: Client, name: str) -> None:
    on.send(Address(name), "a", "b", "c")
    subscription, box = on.consume(Address(name), 3)
    box.wait(3)
    settle(subscription, box.tokens[:2], Outcome.FAILED)
    settle(subscription, box.tokens[2:], Outcome.ACCEPTED)
    subscription.grant(2)
    again = box.wait(5)[3:]
    assert [(arrival.envelope.body, arrival.redelivered) for arrival in again] == [("a", True), ("b", True)]


def test_a_refusal_is_a_nack(on: Client, broker: Broker, name: str) -> None:
    arguments = {"x-max-length": 1, "x-overflow": "reject-publish"}
    broker.admin.put(f"/api/queues/%2F/{name}", {"durable": True, "arguments": arguments})
    answers = [on.ask(Address(name)) for _ in range(10)]
    assert [each for each in (answer.outcome() for answer in answers) if each is not None]


def test_acknowledgements_are_combined(on: Client, broker: Broker, name: str) -> None:
    on.send(Address(name), *map(str, range(200)))
    subscription, box = on.consume(Address(name), 200)
    box.wait(200)
    written: list[tuple[int, bool]] = []
    consuming = on.link.pair.consuming
    plain = consuming.ack

    def ack(channel: Any, tag: int, multiple: bool) -> None:
        written.append((tag, multiple))
        plain(channel, tag, multiple)

    consuming.ack = ack
    subscription.settle(box.tokens[:50], Outcome.ACCEPTED)
    settle(subscription, box.tokens[50:], Outcome.ACCEPTED)
    eventually(lambda: written and written[-1][0] == 200)
    assert len(written) <= 2
    assert all(multiple for _, multiple in written)
    subscription.close()
    assert on.link.describe(Address(name)).depth == 0
