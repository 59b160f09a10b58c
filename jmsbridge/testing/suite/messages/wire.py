"""Helpers that send one message to the broker and receive it, for cases that compare both sides."""

from typing import TypeVar

from jmsbridge import Destination, Message, MessageConsumer, Session
from jmsbridge.testing.suite.support import LONG

__all__: list[str] = []

M = TypeVar("M", bound=Message)


def receive_message(consumer: MessageConsumer) -> Message:
    """The next message of a consumer, which must come."""
    message: Message | None = consumer.receive(timeout=LONG)
    assert message is not None, f"no message within {LONG} s"
    return message


def receive_as(kind: type[M], consumer: MessageConsumer) -> M:
    """The next message of a consumer, which must come and be of this kind."""
    message = receive_message(consumer)
    assert isinstance(message, kind), f"expected a {kind.__name__}, received a {type(message).__name__}"
    return message


def round_trip(session: Session, destination: Destination, message: M) -> M:
    """What a consumer gets when this message is sent; the session's connection must be started."""
    with session.create_consumer(destination) as consumer, session.create_producer(destination) as producer:
        producer.send(message)
        return receive_as(type(message), consumer)
