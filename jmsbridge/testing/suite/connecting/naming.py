"""Names of destinations mean the same on every broker (section 4.1; rules QU-1 and SU-10)."""

from collections.abc import Callable

import pytest

from jmsbridge import (
    SESSION_TRANSACTED,
    Connection,
    Destination,
    InvalidDestination,
    InvalidDestinationException,
    Queue,
    ResourceAllocation,
    Session,
    Topic,
)
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.marks import rule
from jmsbridge.testing.suite.support import LONG, assert_empty, receive_texts, send_texts

ODD = [
    "{0},{1}",
    "{0}::{1}",
    "{0}?consumer.exclusive=true",
    "/queue/{0}",
    "{0}.*",
    "{0}.#",
    "topic://{0}",
    "temp-queue://{0}",
]
"""Names that have a special meaning in some other client; {0} and {1} are new names."""
HALF = "half of a pair: \ud83d"
"""A text that is not Unicode."""


@rule("QU-1")
def test_naming_prefix_of_the_own_kind_is_taken_off(harness: Harness, session: Session) -> None:
    """``queue://x`` is the queue x, and ``topic://x`` the topic x."""
    queue, topic = harness.queue(), harness.topic()
    prefixed = session.create_queue(f"queue://{queue.queue_name}")
    assert (prefixed, session.create_topic(f"topic://{topic.topic_name}")) == (queue, topic)
    send_texts(session, prefixed, "there")
    assert receive_texts(session.create_consumer(queue), 1) == ["there"]


@rule("QU-1")
@pytest.mark.parametrize("form", ODD)
def test_naming_other_syntax_is_refused(harness: Harness, session: Session, form: str) -> None:
    """A name with a special meaning in another client is refused; the error says how to use it literally."""
    name = form.format(harness.name("a"), harness.name("b"))
    with pytest.raises(InvalidDestinationException, match="literal=True"):
        session.create_queue(name)


@rule("SU-10")
@pytest.mark.parametrize("form", ["{0}.*", "{0}.#", "*", ">", "{0}.*.x"])
def test_naming_topics_called_as_patterns_are_refused(harness: Harness, session: Session, form: str) -> None:
    """A topic name that is a pattern on some broker is refused, on every broker."""
    name = form.format(harness.name("t"))
    creates: tuple[Callable[[], Topic], ...] = (
        lambda: session.create_topic(name),
        lambda: session.create_topic(name, literal=True),
    )
    for create in creates:
        with pytest.raises(InvalidDestinationException):
            create()


def literal(session: Session, name: str) -> Queue | None:
    """A queue with this literal name that has a message; None if the broker refuses the name."""
    try:
        queue = session.create_queue(name, literal=True)
        send_texts(session, queue, name)
    except InvalidDestination:
        return None
    return queue


@rule("QU-1")
@pytest.mark.parametrize("form", ODD)
def test_naming_literal_names_are_names_or_refused(harness: Harness, connection: Connection, form: str) -> None:
    """A literal name is the exact name of the queue, or the broker refuses it."""
    session = connection.create_session()
    names = harness.name("a"), harness.name("b")
    queue = literal(session, form.format(*names))
    others: list[Destination] = [Queue(name) for name in names]
    for other in others:
        with session.create_consumer(other) as consumer:
            assert_empty(consumer)
    if queue is not None:
        with session.create_consumer(queue) as consumer:
            assert receive_texts(consumer, 1) == [queue.queue_name]
            assert_empty(consumer)


@rule("QU-1", "HD-7")
@pytest.mark.parametrize("form", ODD)
def test_naming_literal_reply_to_arrives(harness: Harness, session: Session, queue: Queue, form: str) -> None:
    """A reply-to with a literal name arrives with the same name."""
    reply = Queue(form.format(harness.name("a"), harness.name("b")), literal=True)
    message = session.create_message()
    message.jms_reply_to = reply
    try:
        session.create_producer(queue).send(message)
    except InvalidDestination:
        return  # the broker has no such queue
    received = session.create_consumer(queue).receive(timeout=LONG)
    assert received is not None
    assert received.jms_reply_to == reply


@rule("QU-1")
def test_naming_texts_that_are_not_unicode_work_or_are_refused(
    harness: Harness, connection: Connection, queue: Queue
) -> None:
    """An unpaired surrogate, in names and headers; nothing else on the connection notices."""
    waiting = connection.create_session(SESSION_TRANSACTED)
    send_texts(waiting, harness.queue(), "uncommitted")
    session = connection.create_session()
    named = session.create_queue(harness.name("half") + HALF, literal=True)
    if literal(session, named.queue_name) is not None:
        with session.create_consumer(named) as consumer:
            assert receive_texts(consumer, 1) == [named.queue_name]
    else:
        with pytest.raises(InvalidDestination):
            session.create_consumer(named)
    message = session.create_message()
    message.jms_type = message.jms_correlation_id = HALF
    try:
        session.create_producer(queue).send(message)
    except ResourceAllocation:
        send_texts(session, queue, "still there")
    else:
        received = session.create_consumer(queue).receive(timeout=LONG)
        assert received is not None
        assert (received.jms_type, received.jms_correlation_id) == (HALF, HALF)
    waiting.commit()
