"""Helpers of the cases about redelivery: messages as text, mark and count, and the messages left at a destination."""

from typing import Any
from unittest.mock import ANY

import pytest

from jmsbridge import (
    CLIENT_ACKNOWLEDGE,
    SESSION_TRANSACTED,
    Destination,
    JMSConsumer,
    Message,
    MessageConsumer,
    Queue,
    Session,
    TemporaryQueue,
    TextMessage,
)
from jmsbridge.spi.native import Native
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.marks import requires
from jmsbridge.testing.suite.support import LONG, assert_empty

__all__ = [
    "DEFERRED",
    "Delivery",
    "assert_no_dead_letters",
    "deferred_session",
    "deliveries",
    "delivery",
    "gone_queue",
    "left",
    "lossy_session",
    "remove_dead_letters",
    "returned",
    "take",
    "texts_after_cut",
    "unseen",
]

DEFERRED = [
    pytest.param(CLIENT_ACKNOWLEDGE, id="client"),
    pytest.param(SESSION_TRANSACTED, id="transacted", marks=requires(Native.TRANSACTIONS)),
]
"""The modes in which the application decides when to acknowledge."""
Delivery = tuple[str | None, bool, int]
"""Text, JMSRedelivered, JMSXDeliveryCount."""


def delivery(message: Message) -> Delivery:
    """Text, mark and count of a received text message."""
    assert isinstance(message, TextMessage), message
    return message.text, message.jms_redelivered, message.get_int_property("JMSXDeliveryCount")


def take(consumer: MessageConsumer | JMSConsumer, timeout: float = LONG) -> TextMessage:
    """The next message, which must come and be a text message."""
    message = consumer.receive(timeout=timeout)
    assert isinstance(message, TextMessage), f"no text message within {timeout} s: {message!r}"
    return message


def deliveries(consumer: MessageConsumer | JMSConsumer, count: int) -> list[Delivery]:
    """The next ``count`` messages, each of which must come."""
    return [delivery(take(consumer)) for _ in range(count)]


def left(harness: Harness, destination: Destination, count: int) -> list[Delivery]:
    """Receive and acknowledge exactly ``count`` messages at ``destination`` over a new connection."""
    with harness.connect() as connection:
        consumer = connection.create_session().create_consumer(destination)
        found = deliveries(consumer, count)
        assert_empty(consumer)
        return found


def unseen(harness: Harness, text: str) -> tuple[str, Any, Any]:
    """Text, mark and count of a message that was released; where release is emulated, mark and count may be higher."""
    return (text, False, 1) if Native.RELEASE in harness.native else (text, ANY, ANY)


def returned(harness: Harness, text: str) -> tuple[str, Any, Any]:
    """Text, mark and count of a message that was delivered once and returned, as another connection gets it.

    Without FAIL it may come unmarked.
    """
    return (text, True, 2) if Native.FAIL in harness.native else (text, ANY, ANY)


def deferred_session(harness: Harness, mode: int, **options: Any) -> Session:
    """A session of a new connection, transacted or with this acknowledgement mode."""
    return harness.connect(**options).create_session(mode == SESSION_TRANSACTED, mode)


def lossy_session(harness: Harness, mode: int, **options: Any) -> Session:
    """A session whose connection does not come back after a cut, and whose acknowledgements are confirmed."""
    return deferred_session(harness, mode, reconnect_attempts=0, block_on_acknowledge=True, **options)


def texts_after_cut(harness: Harness, queue: Queue, count: int) -> list[str | None]:
    """Cut all links, then take what is left at the queue: exactly ``count`` messages."""
    harness.cut()
    return [text for text, _, _ in left(harness, queue, count)]


def gone_queue(harness: Harness) -> TemporaryQueue:
    """A temporary queue that its creator has deleted: a send to it is refused by the broker."""
    with harness.connect() as creator:
        temporary = creator.create_session().create_temporary_queue()
        temporary.delete()
    return TemporaryQueue(temporary.queue_name)


def remove_dead_letters(harness: Harness, session: Session) -> None:
    """Remove dead letters of other cases, which may share the dead-letter queue."""
    if Native.REJECT in harness.native:
        with session.create_consumer(Queue(harness.dead_letters)) as consumer:
            while consumer.receive_no_wait() is not None:
                pass


def assert_no_dead_letters(harness: Harness, session: Session) -> None:
    """Check that there is no dead letter."""
    if Native.REJECT in harness.native:
        with session.create_consumer(Queue(harness.dead_letters)) as consumer:
            assert_empty(consumer)
