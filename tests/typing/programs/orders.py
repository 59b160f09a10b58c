"""A worker of the classic API: takes orders, answers them, in transactions."""

from typing import assert_type

import jmsbridge
from jmsbridge import Connection, Destination, Message, MessageProducer, Session, TextMessage


def answer(order: TextMessage) -> str:
    text = assert_type(order.text, str | None)
    if not text:
        raise ValueError("an order without content")
    return f"thank you for {text}"


def work(connection: Connection, count: int) -> list[str]:
    session = assert_type(connection.create_session(Session.SESSION_TRANSACTED), Session)
    consumer = session.create_consumer(session.create_queue("orders"))
    producer = assert_type(session.create_producer(None), MessageProducer)
    answers: list[str] = []
    for _ in range(count):
        message = assert_type(consumer.receive(timeout=5), Message | None)
        if not isinstance(message, TextMessage):
            continue
        reply_to = assert_type(message.jms_reply_to, Destination | None)
        assert reply_to is not None
        reply = session.create_text_message(answer(message))
        reply.jms_correlation_id = message.jms_message_id
        producer.send(reply_to, reply, priority=7, time_to_live=30)
        session.commit()
        answers.append(answer(message))
    session.close()
    return answers


def main(url: str) -> list[str]:
    with jmsbridge.connect(url, prefetch=10) as connection:
        connection.start()
        session = connection.create_session()
        order = session.create_text_message("two of everything")
        order.jms_reply_to = session.create_temporary_queue()
        order.set_boolean_property("rush", True)
        session.create_producer(session.create_queue("orders")).send(order)
        return work(connection, 1)
