"""Listeners: functions, objects with the methods of Jakarta Messaging, futures."""

import threading
from concurrent.futures import Future
from typing import assert_type

import jmsbridge
from jmsbridge import (
    CompletionListener,
    ExceptionListener,
    JMSError,
    JMSException,
    Message,
    MessageListener,
    TextMessage,
)


class Inbox:
    """A MessageListener."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.done = threading.Event()

    def on_message(self, message: Message) -> None:
        if isinstance(message, TextMessage):
            self.texts.append(message.text or "")
        if len(self.texts) == 3:
            self.done.set()


class Log:
    """A CompletionListener for the classic and the simplified API."""

    def __init__(self) -> None:
        self.completed: list[Message] = []
        self.errors: list[JMSError] = []

    def on_completion(self, message: Message) -> None:
        self.completed.append(message)

    def on_exception(self, message: Message, error: JMSError) -> None:
        self.errors.append(error)


class Alarm:
    """An ExceptionListener."""

    def on_exception(self, error: JMSException) -> None:
        print(error.error_code)


def completed(message: Message, error: JMSException | None) -> None:
    assert error is None, message


def main(url: str) -> list[str]:
    inbox: MessageListener = Inbox()
    log: CompletionListener = Log()
    alarm: ExceptionListener = Alarm()
    with jmsbridge.connect(url) as connection:
        connection.exception_listener = alarm
        connection.start()
        queue = jmsbridge.Queue("orders")
        consumer = connection.create_session().create_consumer(queue)
        consumer.message_listener = inbox
        session = connection.create_session()
        producer = session.create_producer(queue)
        producer.send("a", completion_listener=log)
        producer.send("b", completion_listener=completed)
        future = assert_type(producer.send_async(session.create_text_message("c")), Future[Message])
        assert future.result(timeout=5).jms_message_id is not None
        session.send_acknowledgement_handler = lambda message: print(message.jms_message_id)
        assert isinstance(inbox, Inbox)
        assert inbox.done.wait(5)
        consumer.message_listener = lambda message: message.acknowledge()
        consumer.message_listener = None
    with jmsbridge.context(url) as context:
        both = Log()
        context.create_producer().set_async(both).send(queue, "d")
        context.create_consumer(queue).message_listener = inbox.on_message
    assert not both.errors
    return inbox.texts[:3]
