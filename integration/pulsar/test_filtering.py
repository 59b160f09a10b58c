"""Selectors that the broker's filter gets as well: less is sent, and nothing is lost by what it does unlike JMS."""

import itertools
import time
from collections.abc import Iterator
from typing import Any

import pytest

import jmsbridge
from integration.lab.admin.rest import Rest
from integration.lab.broker import Broker
from jmsbridge import Connection
from jmsbridge.testing.suite.support import LONG, assert_empty, receive_texts, text_of
from jmsbridge.values import Byte, Short

pytestmark = pytest.mark.filterwarnings("ignore::jmsbridge.EmulationWarning")
_numbers = itertools.count()
_FOREIGN_TO_THE_FILTER: tuple[tuple[str, dict[str, Any]], ...] = (
    ("NOT a = 2 AND b = 2", {"a": 1, "b": 2}),
    ("1 = y AND 1.5 > y", {"y": Byte(1)}),
    ("s = 7F", {"s": Short(7)}),
    ("n >= 0L", {"n": 0}),
    ("z = 0", {"z": -0.0}),
    ("XPATH = 'x'", {"XPATH": "x"}),
    ("été = 'x'", {"été": "x"}),
    ("n + 1 = 3", {"n": 2}),
    ("JMSMessageID LIKE 'ID:%'", {}),
    ("text LIKE 'a_c%'", {"text": "a\nc, 日本 𝄞"}),
    ("text = '日本 𝄞' AND text NOT IN ('a')", {"text": "日本 𝄞"}),
)


@pytest.fixture
def name() -> str:
    return f"filtered-{time.time_ns()}-{next(_numbers)}"


@pytest.fixture
def connection(pulsar: Broker, name: str) -> Iterator[Connection]:
    options = f"admin_url={pulsar.url('http')}&single_address=true&broker_selectors=true&client_id={name}"
    with jmsbridge.connect(f"{pulsar.url()}?{options}") as made:
        made.start()
        yield made


def _sent(pulsar: Broker, topic: str) -> int:
    """The messages that the broker has sent to the consumers of the topic."""
    subscriptions = Rest(pulsar.url("http")).get(f"/admin/v2/persistent/public/default/{topic}/stats")["subscriptions"]
    return sum(each["msgOutCounter"] for each in subscriptions.values())


@pytest.mark.parametrize("durable", [True, False])
def test_the_broker_sends_only_what_may_match(pulsar: Broker, connection: Connection, name: str, durable: bool) -> None:
    session = connection.create_session()
    topic = session.create_topic(name)
    selector = "color = 'red' AND size + 1 > 4"
    consumer = (
        session.create_durable_consumer(topic, name, selector) if durable else session.create_consumer(topic, selector)
    )
    producer = session.create_producer(topic)
    for number in range(40):
        message = session.create_text_message(f"m{number}")
        message.set_string_property("color", "blue" if number % 4 else "red")
        message.set_int_property("size", number)
        producer.send(message)
    assert receive_texts(consumer, 9) == [f"m{number}" for number in range(4, 40, 4)]
    assert_empty(consumer)
    assert _sent(pulsar, name) == 10  # the red ones; the filter does not get the arithmetic


def test_entries_are_selected_again(connection: Connection, name: str) -> None:
    session = connection.create_session()
    topic = session.create_topic(name)
    consumers = [session.create_shared_durable_consumer(topic, name, "number = 7") for _ in range(2)]
    sender = connection.create_session(transacted=True)
    producer = sender.create_producer(topic)
    for number in range(10):  # one entry
        message = sender.create_text_message(f"m{number}")
        message.set_int_property("number", number)
        producer.send(message)
    sender.commit()
    received = [each.receive(timeout=2) for each in consumers]
    assert [text_of(each) for each in received if each is not None] == ["m7"]


def test_nothing_is_lost_by_a_filter_that_is_not_jms(connection: Connection, name: str) -> None:
    session = connection.create_session()
    topics = [session.create_topic(f"{name}-{number}") for number in range(len(_FOREIGN_TO_THE_FILTER))]
    consumers = [
        session.create_consumer(topic, selector)
        for topic, (selector, _) in zip(topics, _FOREIGN_TO_THE_FILTER, strict=True)
    ]
    producer = session.create_producer(None)
    for topic, (_, properties) in zip(topics, _FOREIGN_TO_THE_FILTER, strict=True):
        message = session.create_text_message("x")
        for key, value in properties.items():
            message.set_object_property(key, value)
        producer.send(topic, message)
    lost = [
        selector
        for consumer, (selector, _) in zip(consumers, _FOREIGN_TO_THE_FILTER, strict=True)
        if consumer.receive(timeout=LONG) is None
    ]
    assert lost == []


def test_another_selector_begins_anew(connection: Connection, name: str) -> None:
    session = connection.create_session()
    topic = session.create_topic(name)
    session.create_durable_consumer(topic, name, "color = 'red'").close()
    consumer = session.create_durable_consumer(topic, name, "color = 'blue'")
    producer = session.create_producer(topic)
    for color in ("red", "blue"):
        message = session.create_text_message(color)
        message.set_string_property("color", color)
        producer.send(message)
    assert receive_texts(consumer, 1) == ["blue"]
    assert_empty(consumer)
