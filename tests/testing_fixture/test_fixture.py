"""The fixture for applications: isolated, real, and gone afterwards."""

import os
import threading
from pathlib import Path

import pytest

import jmsbridge
from jmsbridge import SESSION_TRANSACTED, Queue, TextMessage
from jmsbridge.errors import IllegalState
from jmsbridge.testing.broker import JMSBroker


def test_the_default_target_is_this_broker(jms_broker: JMSBroker) -> None:
    jms_broker.send("orders", "one")
    with jmsbridge.connect() as connection:
        connection.start()
        message = connection.create_session().create_consumer(Queue("orders")).receive(timeout=5)
    assert isinstance(message, TextMessage)
    assert message.text == "one"


@pytest.mark.parametrize("number", [1, 2])
def test_each_test_begins_with_an_empty_broker(jms_broker: JMSBroker, number: int) -> None:
    assert jms_broker.messages("orders") == []
    jms_broker.send("orders", f"left by {number}")
    assert len(jms_broker.messages("orders")) == 1


def test_names_are_never_given_twice(jms_broker: JMSBroker) -> None:
    names = [jms_broker.queue().queue_name, jms_broker.queue().queue_name, jms_broker.topic("news").topic_name]
    assert len(set(names)) == 3
    assert names[2].startswith("news")


def test_semantics_are_the_real_ones(jms_broker: JMSBroker) -> None:
    queue = jms_broker.queue()
    jms_broker.send(queue, "one", b"two")
    context = jms_broker.context(SESSION_TRANSACTED)
    consumer = context.create_consumer(queue)
    assert consumer.receive_body(str, timeout=5) == "one"
    context.rollback()
    again = consumer.receive(timeout=5)
    assert again is not None
    assert again.jms_redelivered


def test_a_profile_leads_to_the_broker(jms_broker: JMSBroker) -> None:
    jms_broker.profile("orders", prefetch=7)
    jms_broker.profile("bills")
    jms_broker.send("q", "x")
    with jmsbridge.connect("orders") as connection:
        assert len(list(connection.create_session().create_browser(Queue("q")))) == 1
    jmsbridge.connect("bills").close()


def test_a_cut_connection_comes_back(jms_broker: JMSBroker) -> None:
    connection = jms_broker.connect(reconnect_delay=0.01)
    jms_broker.cut()
    jms_broker.send("q", "x")
    consumer = connection.create_session().create_consumer(Queue("q"))
    assert consumer.receive(timeout=10) is not None


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {thread.name for thread in threading.enumerate()}
    broker = JMSBroker("left-behind", tmp_path, monkeypatch)
    connection, context = broker.connect(), broker.context()
    broker.send("q", "x")
    broker.close()
    broker.close()
    with pytest.raises(IllegalState):
        connection.create_session()
    with pytest.raises(IllegalState):
        context.create_producer().send(Queue("q"), "y")
    assert {thread.name for thread in threading.enumerate()} - before <= {"jmsbridge-clock"}
    again = JMSBroker("left-behind", tmp_path, monkeypatch)
    assert again.messages("q") == []
    again.close()
    assert list(tmp_path.iterdir()) == []


def test_a_forgotten_connection_is_closed(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        broker = JMSBroker("forgotten", tmp_path, monkeypatch)
        connection, elsewhere = jmsbridge.connect(broker.url), jmsbridge.connect("embedded:?broker=elsewhere")
        context = jmsbridge.context(broker.url)
        broker.close()
        for forgotten in (connection.create_session, context.create_text_message):
            with pytest.raises(IllegalState):
                forgotten()
        elsewhere.create_session().close()
        elsewhere.close()


def test_the_environment_is_as_it_was(jms_broker: JMSBroker) -> None:
    assert os.environ["JMSBRIDGE_URL"] == jms_broker.url
    assert str(os.getpid()) in repr(jms_broker)
