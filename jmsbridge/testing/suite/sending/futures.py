"""Asynchronous send with a future instead of a listener: rules AS-1, AS-2, AS-4 (section 7.3)."""

from concurrent.futures import Future

import pytest

from jmsbridge import Queue, Session
from jmsbridge.errors import InvalidDestinationException, UnsupportedOperationError
from jmsbridge.spi.native import Native
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.marks import requires, rule
from jmsbridge.testing.suite.receiving.redelivery_support import gone_queue, take
from jmsbridge.testing.suite.support import LONG


@rule("AS-1", "AS-4")
def test_async_future_carries_the_message(session: Session, queue: Queue) -> None:
    """The result of send_async's future is the message itself, with its headers set."""
    message = session.create_text_message("a")
    future = session.create_producer(queue).send_async(message, priority=6)
    assert isinstance(future, Future)
    assert future.result(LONG) is message
    assert message.jms_priority == 6
    assert take(session.create_consumer(queue)).jms_message_id == message.jms_message_id


@rule("AS-2")
@requires(Native.TEMPORARY, native=True)
def test_async_future_fails(harness: Harness, session: Session) -> None:
    """A refusal is the future's exception, or that of send_async itself, never both."""
    producer, gone = session.create_producer(None), gone_queue(harness)
    with pytest.raises(InvalidDestinationException):
        producer.send_async(gone, session.create_text_message("a")).result(LONG)


@rule("AS-1")
def test_async_future_of_anonymous_producer(session: Session, queue: Queue) -> None:
    """With an anonymous producer the destination is an argument; the wrong form is refused at once."""
    producer = session.create_producer(None)
    assert producer.send_async(queue, session.create_text_message("a")).result(LONG).jms_destination == queue
    with pytest.raises(UnsupportedOperationError):
        producer.send_async(session.create_text_message("b"))
