"""Queues on RabbitMQ 4 over its native AMQP 1.0."""

import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Barrier
from typing import Any

import pytest

import jmsbridge
from integration.lab.broker import Broker
from integration.rabbitmq.administration import remove_queue
from jmsbridge.spi import Address

pytest.importorskip("proton", reason="python-qpid-proton is not installed: pip install 'jmsbridge[amqp]' builds it")
pytestmark = pytest.mark.broker("rabbitmq")

CLIENTS, QUEUES = 4, 10


def text_of(consumer: jmsbridge.MessageConsumer) -> str | None:
    message = consumer.receive(timeout=30)
    assert isinstance(message, jmsbridge.TextMessage)
    return message.text


def test_clients_may_create_a_queue_at_the_same_moment(rabbitmq: Broker) -> None:
    """RabbitMQ 4.0 ends the session of those that come second, in one case of four."""
    names = [f"meanwhile-{uuid.uuid4().hex}" for _ in range(QUEUES)]
    together = Barrier(CLIENTS, timeout=30)

    def create(link: Any) -> None:
        for name in names:
            together.wait()
            link._life.wait(lambda done, name=name: link._facts.nodes.ensure(Address(name), done), name)

    with ExitStack() as stack, ThreadPoolExecutor(CLIENTS) as threads:
        links: list[Any] = []
        for _ in range(CLIENTS):
            connection = stack.enter_context(jmsbridge.connect(rabbitmq.url("amqp")))
            connection.start()
            links.append(connection._core.wait_link()[0])
        for created in [threads.submit(create, link) for link in links]:
            created.result(60)


def test_queues_that_others_create_take_messages_and_consumers(rabbitmq: Broker) -> None:
    """RabbitMQ 4.0 tells others of a queue before it can be used: one first send of ten was rejected."""
    names = [f"meanwhile-{uuid.uuid4().hex}" for _ in range(QUEUES)]
    together = Barrier(CLIENTS, timeout=30)

    def use(number: int) -> None:
        with jmsbridge.connect(rabbitmq.url("amqp")) as connection:
            connection.start()
            for name in names:
                session = connection.create_session()
                queue = session.create_queue(name)
                together.wait()
                if number % 4:
                    session.create_producer(queue).send(session.create_text_message("one"))
                else:
                    session.create_consumer(queue)

    with ThreadPoolExecutor(CLIENTS) as threads:
        for used in [threads.submit(use, number) for number in range(CLIENTS)]:
            used.result(120)


def test_messages_return_in_order_when_a_session_is_closed(rabbitmq: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that the application has not seen came first, in one case of ten."""
    monkeypatch.setattr("jmsbridge_amqp.receiving.subscription._COLLECTS", 60.0)  # as if nothing were slow
    with jmsbridge.connect(rabbitmq.url("amqp")) as connection:
        connection.start()
        session = connection.create_session()
        producer = session.create_producer(None)
        for _ in range(30):
            queue = session.create_queue(f"order-{uuid.uuid4().hex}")
            closed = connection.create_session(acknowledge_mode=jmsbridge.CLIENT_ACKNOWLEDGE)
            consumer = closed.create_consumer(queue)
            for text in "abcdef":
                producer.send(queue, session.create_text_message(text))
            assert [text_of(consumer) for _ in range(2)] == ["a", "b"]
            closed.close()
            with session.create_consumer(queue) as again:
                assert [text_of(again) for _ in range(6)] == list("abcdef")


def test_a_deleted_queue_is_created_again(rabbitmq: Broker) -> None:
    """The send that finds no queue fails with its name; the next one creates it, and so does a consumer."""
    with jmsbridge.connect(rabbitmq.url("amqp")) as connection:
        connection.start()
        session = connection.create_session()
        queue = session.create_queue(f"deleted-{uuid.uuid4().hex}")
        producer = session.create_producer(queue)
        producer.send(session.create_text_message("lost"))
        remove_queue(rabbitmq, queue.queue_name)
        with pytest.raises(jmsbridge.JMSError, match=queue.queue_name):
            producer.send(session.create_text_message("refused"))
        producer.send(session.create_text_message("there"))
        with session.create_consumer(queue) as consumer:
            assert text_of(consumer) == "there"
        remove_queue(rabbitmq, queue.queue_name)
        session.create_consumer(queue).close()


def test_temporary_queues_are_deleted(rabbitmq: Broker) -> None:
    with jmsbridge.connect(rabbitmq.url("amqp")) as connection:
        session = connection.create_session()
        queues = [session.create_temporary_queue() for _ in range(2)]
        for queue in queues:
            session.create_producer(queue).send("unread")
        queues[0].delete()
    left = {each["name"] for each in rabbitmq.admin.get("/api/queues")}
    assert not left & {queue.queue_name for queue in queues}
