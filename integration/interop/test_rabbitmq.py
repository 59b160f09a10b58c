"""What is to be had with RabbitMQ's JMS client alone: its table of losses, and selectors that both languages keep."""

from collections.abc import Callable

import pytest

import jmsbridge
from integration.interop.rows import ROWS, Row
from integration.interop.test_topics import received, texts
from integration.interop.way import Way, ways
from tests.rabbitmq.messages.losses import listed_losses

Connect = Callable[..., jmsbridge.Connection]


@pytest.mark.parametrize("row", [row for row in ROWS if row.python == "rabbitmq"], ids=lambda row: row.name)
def test_each_loss_between_the_languages_is_met_by_a_message_of_the_matrix(row: Row) -> None:
    losses = listed_losses(row.options["dialect"])
    listed = {difference.reason for difference in row.differences}
    assert listed <= losses
    assert {loss for loss in losses if loss.startswith(("from Java", "to Java"))} <= listed


@pytest.mark.parametrize("way", ways(lambda row: row.name == "rabbitmq-jms"), indirect=True)
def test_a_durable_subscription_with_a_selector_is_shared(way: Way, connect: Connect, name: str) -> None:
    session = connect(prefetch=1, topic_selectors="broker").create_session()
    topic, shared = session.create_topic(name), f"{name}-shared"
    producer = session.create_producer(topic)

    def publish() -> None:
        for number in range(12):
            message = session.create_text_message(f"text {number}")
            message.set_int_property("n", number)
            message.set_string_property("s", "here" if number % 2 else "there")
            producer.send(message)

    selector = "n > 3 AND s LIKE 'h%'"
    subscription = {"topic": name, "name": shared, "shared": True, "selector": selector}
    with way.start("subscribe", **subscription, count=2, keep=True) as java:
        assert java.line() == "ready"
        consumer = session.create_shared_durable_consumer(topic, shared, selector)
        publish()
        here = texts(received(consumer, 2))
        consumer.close()
        there = texts(java.rest())
    assert sorted(here + there) == ["text 11", "text 5", "text 7", "text 9"]
    consumer = session.create_shared_durable_consumer(topic, shared, selector)
    publish()  # Java is gone, and its binding stays
    assert texts(received(consumer, 4)) == ["text 5", "text 7", "text 9", "text 11"]
    consumer.close()
    consumer = session.create_shared_durable_consumer(topic, shared, "n < 2")
    publish()
    assert texts(received(consumer, 2)) == ["text 0", "text 1"]
    assert consumer.receive(timeout=0.2) is None
    consumer.close()
    session.unsubscribe(shared)
