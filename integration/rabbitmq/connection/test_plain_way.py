"""What an application has when pika is not as we know it inside: a warning, and the same messages."""

import logging
from collections.abc import Iterator

import pytest

import jmsbridge
from integration.lab.broker import Broker
from jmsbridge import Connection, Queue, Topic
from jmsbridge.spi import Address
from jmsbridge.testing.suite.support import Completions, eventually, receive_texts, send_texts
from jmsbridge_rabbitmq.connection import fast_socket
from jmsbridge_rabbitmq.connection.fast_socket import socket_class
from jmsbridge_rabbitmq.connection.pika_socket import AmqpSocket
from jmsbridge_rabbitmq.link import Link


@pytest.fixture
def strange_pika(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A pika that does not write what we write."""
    monkeypatch.setattr(fast_socket, "_writes_alike", lambda: False)
    socket_class.cache_clear()
    yield
    socket_class.cache_clear()


@pytest.fixture
def connection(strange_pika: None, broker: Broker) -> Iterator[Connection]:
    """A started connection over it."""
    with jmsbridge.connect(broker.url()) as made:
        made.start()
        yield made


def test_all_goes_the_plain_way_after_a_warning(
    connection: Connection, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    said = [each for each in caplog.get_records("setup") if "the fast path is not used" in each.getMessage()]
    assert [each.levelno for each in said] == [logging.WARNING]
    link = connection._core.supervisor.link
    assert isinstance(link, Link)
    session, queue = connection.create_session(), Queue(name)
    send_texts(session, queue, "opens the publishing socket")
    assert [type(each) for each in (link.pair.consuming, link.pair.publishing)] == [AmqpSocket, AmqpSocket]


@pytest.mark.filterwarnings("ignore::jmsbridge.EmulationWarning")
def test_the_plain_way_does_everything(connection: Connection, name: str) -> None:
    session, queue, topic = connection.create_session(), Queue(name), Topic(f"{name}-topic")
    listener, texts = Completions(), [str(number) for number in range(300)]
    producer = session.create_producer(queue)
    for text in texts:
        producer.send(session.create_text_message(text), completion_listener=listener)
    assert {event[0] for event in listener.wait(300, 20.0)} == {"completed"}
    with session.create_browser(queue) as browser:
        assert len(list(browser)) == 300
    with session.create_consumer(queue) as consumer:
        assert receive_texts(consumer, 300) == texts
        assert consumer.receive_no_wait() is None
    with session.create_consumer(topic, "n > 1") as subscriber:
        for number in range(3):
            message = session.create_text_message(str(number))
            message.set_int_property("n", number)
            session.create_producer(topic).send(message)
        assert receive_texts(subscriber, 1) == ["2"]
    transacted = connection.create_session(transacted=True)
    send_texts(transacted, queue, "rolled back")
    transacted.rollback()
    send_texts(transacted, queue, "committed")
    transacted.commit()
    with session.create_consumer(queue) as consumer:
        assert receive_texts(consumer, 1) == ["committed"]
    eventually(lambda: connection.admin.depth(Address(name)) == 0)
