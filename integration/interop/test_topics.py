"""Durable subscriptions that both languages know, and messages of one language that the other hears."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

import jmsbridge
from integration.interop.comparing import unlisted
from integration.interop.describing import Description, describe
from integration.interop.differences import Direction
from integration.interop.matrix import Sample
from integration.interop.way import PATIENCE, Way, ways

Connect = Callable[..., jmsbridge.Connection]


def assert_equal(way: Way, direction: Direction, sent: Sequence[Description], seen: Sequence[Description]) -> None:
    """Check that texts, which their sender numbered, are equal except for listed differences."""
    for before, after in zip(sent, seen, strict=True):
        assert unlisted(way.row, direction, Sample("published", body=before["body"][1]), before, after)[0] == {}


def published(session: jmsbridge.Session, topic: str, count: int) -> list[Description]:
    """Texts that Python sends."""
    sent = []
    with session.create_producer(session.create_topic(topic)) as producer:
        for number in range(count):
            message = session.create_text_message(f"text {number}")
            producer.send(message)
            sent.append(describe(message))
    return sent


def received(consumer: jmsbridge.MessageConsumer, count: int) -> list[Description]:
    """What Python receives."""
    found = []
    for _ in range(count):
        message = consumer.receive(timeout=PATIENCE)
        assert message is not None
        found.append(describe(message))
    return found


def texts(messages: Sequence[Description]) -> list[Any]:
    """What they say."""
    return [message["body"][1] for message in messages]


@pytest.mark.parametrize("way", ways(lambda row: row.subscriptions == "shared"), indirect=True)
def test_a_durable_subscription_is_shared(way: Way, connect: Connect, name: str) -> None:
    session = connect(prefetch=1).create_session()
    topic, shared = session.create_topic(name), f"{name}-shared"
    consumer = session.create_shared_durable_consumer(topic, shared)
    with way.start("subscribe", topic=name, name=shared, shared=True, count=3, keep=True) as java:
        assert java.line() == "ready"
        sent = published(session, name, 10)
        here = received(consumer, 7)
        consumer.close()
        there = java.rest()
    assert sorted(texts(here) + texts(there)) == sorted(texts(sent))
    # The subscription has no consumer now, and continues.
    sent = way.java("publish", topic=name, count=3)
    consumer = session.create_shared_durable_consumer(topic, shared)
    assert_equal(way, "from Java", sent, received(consumer, 3))
    consumer.close()
    session.unsubscribe(shared)


@pytest.mark.parametrize("way", ways(lambda row: row.subscriptions != "none"), indirect=True)
def test_java_hears_what_python_publishes(way: Way, connect: Connect, name: str) -> None:
    session = connect().create_session()
    shared = way.row.subscriptions == "shared"
    subscription = {"topic": name, "name": f"{name}-sub", "shared": shared, "client_id": None if shared else name}
    with way.start("subscribe", **subscription, count=3, keep=False) as java:
        assert java.line() == "ready"
        sent = published(session, name, 3)
        assert_equal(way, "to Java", sent, java.rest())


@pytest.mark.filterwarnings("ignore:.*checked within the process:jmsbridge.EmulationWarning")
@pytest.mark.parametrize("way", ways(lambda row: row.subscriptions in ("durable", "shared")), indirect=True)
def test_a_durable_subscription_of_java_goes_on_in_python(way: Way, connect: Connect, name: str) -> None:
    shared = way.row.subscriptions == "shared"
    kept, client = f"{name}-kept", {} if shared else {"client_id": name}
    with way.start("subscribe", topic=name, name=kept, shared=shared, count=0, keep=True, **client) as java:
        assert java.line() == "ready"
        assert java.rest() == []
    sent = way.java("publish", topic=name, count=3)
    session = connect(**client).create_session()
    create = session.create_shared_durable_consumer if shared else session.create_durable_consumer
    with create(session.create_topic(name), kept) as consumer:
        assert_equal(way, "from Java", sent, received(consumer, 3))
    session.unsubscribe(kept)
