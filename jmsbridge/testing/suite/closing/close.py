"""Closing from the application's thread: what ends, what stays (sections 6.1.8, 8.8; rules CL-1, 3, 4, 6, 10)."""

import pytest

from jmsbridge import (
    AUTO_ACKNOWLEDGE,
    CLIENT_ACKNOWLEDGE,
    SESSION_TRANSACTED,
    IllegalState,
    IllegalStateException,
    InvalidClientIDException,
    JMSException,
    Message,
    MessageConsumer,
    MessageProducer,
    Queue,
    Session,
    TextMessage,
    Topic,
)
from jmsbridge.spi.native import Native
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.marks import pitfall, requires, rule
from jmsbridge.testing.suite.messages.wire import receive_as, receive_message
from jmsbridge.testing.suite.receiving.redelivery_support import delivery, returned
from jmsbridge.testing.suite.support import assert_empty, receive_texts, send_texts


@rule("CL-1")
@pitfall(15)
def test_close_twice_at_every_level(harness: Harness, queue: Queue) -> None:
    """close() of a closed object does nothing: after its own close, after its parent's, and for the parent, too."""
    connection = harness.connect()
    session = connection.create_session()
    children: list[MessageProducer | MessageConsumer] = [session.create_producer(queue), session.create_consumer(queue)]
    children[0].close()
    children[0].close()
    session.close()
    session.close()
    for child in children:
        child.close()
    connection.close()
    for child in children:
        child.close()
    session.close()
    connection.close()
    with pytest.raises(IllegalStateException):
        connection.create_session()


@rule("CL-1")
@pitfall(15)
def test_close_twice_of_a_context(harness: Harness, queue: Queue) -> None:
    """The same for a JMSContext and its consumer."""
    context = harness.context()
    consumer = context.create_consumer(queue)
    consumer.close()
    consumer.close()
    context.close()
    consumer.close()
    context.close()
    with pytest.raises(IllegalState):
        context.create_producer()


@rule("CL-1")
@pitfall(15)
@requires(Native.BROWSE)
def test_close_twice_of_a_browser(harness: Harness, session: Session, queue: Queue) -> None:
    """The same for browsers of both APIs, also after their parents."""
    context = harness.context()
    for parent in (session, context):
        first, second = parent.create_browser(queue), parent.create_browser(queue)
        first.close()
        first.close()
        parent.close()
        first.close()
        second.close()
        with pytest.raises(IllegalState):
            next(iter(second))


@rule("CL-1")
def test_close_with_statement_closes(harness: Harness, queue: Queue) -> None:
    """Leaving a with statement closes the object; it may also be closed inside."""
    with harness.connect() as connection, connection.create_session() as session:
        with session.create_consumer(queue) as consumer:
            pass
        with session.create_producer(queue) as producer:
            producer.close()
    assert list(consumer) == []
    for call in (consumer.receive_no_wait, session.create_message, connection.start):
        with pytest.raises(IllegalStateException):
            call()
    with harness.context() as context:
        pass
    with pytest.raises(IllegalState):
        context.create_message()


@rule("CL-3")
def test_close_leaves_messages_usable(harness: Harness, queue: Queue) -> None:
    """Sent and received messages can be read, cleared and sent elsewhere after their connection was closed."""
    connection = harness.connect()
    session = connection.create_session()
    sent = send_texts(session, queue, "text")[0]
    received = receive_as(TextMessage, session.create_consumer(queue))
    connection.close()
    for message in (sent, received):
        assert message.text == "text"
        assert message.jms_destination == queue
        message.clear_properties()
        message.set_int_property("p", 1)
        message.clear_body()
        message.text = "again"
    other = harness.connect().create_session()
    other.create_producer(queue).send(received)
    assert receive_texts(other.create_consumer(queue), 1) == ["again"]


@rule("CL-3")
@pytest.mark.parametrize("what", ["session", "connection"])
@pytest.mark.parametrize("mode", [CLIENT_ACKNOWLEDGE, AUTO_ACKNOWLEDGE])
def test_close_leaves_messages_usable_except_acknowledge(
    harness: Harness, session: Session, queue: Queue, what: str, mode: int
) -> None:
    """A received message cannot be acknowledged after its session was closed; in client mode it is delivered again."""
    send_texts(session, queue, "text")
    connection = harness.connect()
    own = connection.create_session(session_mode=mode)
    received = receive_as(TextMessage, own.create_consumer(queue))
    (own if what == "session" else connection).close()
    with pytest.raises(IllegalStateException):
        received.acknowledge()
    assert received.text == "text"
    consumer = session.create_consumer(queue)
    if mode == CLIENT_ACKNOWLEDGE:
        again = receive_as(TextMessage, consumer)
        assert (again.text, again.jms_redelivered) == returned(harness, "text")[:2]
    assert_empty(consumer)


@rule("CL-3")
def test_close_of_a_context_leaves_messages_usable_except_acknowledge(harness: Harness, queue: Queue) -> None:
    """acknowledge of a message belongs to the classic API and raises the checked class, also with a JMSContext."""
    context = harness.context(CLIENT_ACKNOWLEDGE)
    context.create_producer().send(queue, "text")
    received = context.create_consumer(queue).receive(timeout=5)
    assert isinstance(received, TextMessage)
    context.close()
    with pytest.raises(IllegalStateException):
        received.acknowledge()
    assert received.text == "text"


@rule("CL-4")
@pitfall(15)
def test_close_connection_closes_all_below(harness: Harness, queue: Queue) -> None:
    """Sessions of a closed connection are closed, and so are their producers and consumers."""
    connection = harness.connect()
    session = connection.create_session()
    producer = session.create_producer(queue)
    consumer = session.create_consumer(queue)
    message = session.create_text_message("late")
    connection.close()
    calls = (
        session.create_message,
        lambda: session.transacted,
        lambda: producer.send(message),
        lambda: producer.priority,
        consumer.receive_no_wait,
        lambda: consumer.message_selector,
    )
    for call in calls:
        with pytest.raises(IllegalStateException):
            call()
    other = harness.connect().create_session()
    assert_empty(other.create_consumer(queue))


@rule("CL-4")
@pitfall(15)
def test_close_session_closes_all_below(harness: Harness, session: Session, queue: Queue) -> None:
    """The children of a closed session are closed; the connection goes on."""
    connection = harness.connect()
    own = connection.create_session()
    producer, consumer = own.create_producer(queue), own.create_consumer(queue)
    message = own.create_text_message("late")
    own.close()
    for call in (lambda: producer.send(message), consumer.receive_no_wait):
        with pytest.raises(IllegalStateException):
            call()
    next_session = connection.create_session()
    send_texts(next_session, queue, "on")
    assert receive_texts(next_session.create_consumer(queue), 1) == ["on"]


@rule("CL-4")
def test_close_session_leaves_its_siblings(harness: Harness, queue: Queue) -> None:
    """Closing one session of a connection does not affect another one."""
    connection = harness.connect()
    first, second = connection.create_session(), connection.create_session()
    consumer = second.create_consumer(queue)
    first.create_consumer(harness.queue())
    first.close()
    send_texts(second, queue, "text")
    assert receive_texts(consumer, 1) == ["text"]


def roll_back_by_closing(harness: Harness, session: Session, queue: Queue, *, connection_too: bool) -> None:
    """Send and receive in a transaction, close, and see that neither happened."""
    send_texts(session, queue, "taken")
    sent_to = harness.queue()
    connection = harness.connect()
    transacted = connection.create_session(session_mode=SESSION_TRANSACTED)
    assert receive_texts(transacted.create_consumer(queue), 1) == ["taken"]
    send_texts(transacted, sent_to, "never")
    (connection if connection_too else transacted).close()
    again = receive_as(TextMessage, session.create_consumer(queue))
    assert delivery(again) == returned(harness, "taken")
    assert_empty(session.create_consumer(sent_to))


@rule("CL-4")
@requires(Native.TRANSACTIONS)
def test_close_session_rolls_back(harness: Harness, session: Session, queue: Queue) -> None:
    """Closing a transacted session rolls its transaction back."""
    roll_back_by_closing(harness, session, queue, connection_too=False)


@rule("CL-4")
@requires(Native.TRANSACTIONS)
def test_close_connection_rolls_back(harness: Harness, session: Session, queue: Queue) -> None:
    """Closing a connection rolls its sessions' transactions back."""
    roll_back_by_closing(harness, session, queue, connection_too=True)


@rule("CL-4")
@requires(Native.TEMPORARY)
@pytest.mark.parametrize("kind", ["queue", "topic"])
def test_close_connection_deletes_temporary_destinations(harness: Harness, session: Session, kind: str) -> None:
    """Temporary destinations are deleted with their connection, not with the session that created them."""
    connection = harness.connect()
    maker = connection.create_session()
    temporary = maker.create_temporary_queue() if kind == "queue" else maker.create_temporary_topic()
    maker.close()
    other = connection.create_session()
    consumer = other.create_consumer(temporary)
    send_texts(session, temporary, "still there")
    assert receive_texts(consumer, 1) == ["still there"]
    connection.close()
    with pytest.raises(JMSException):
        session.create_consumer(temporary)


def deliver_unacknowledged(session: Session, own: Session, queue: Queue) -> Message:
    """Deliver one message to ``own`` through a consumer that is closed afterwards."""
    send_texts(session, queue, "kept")
    consumer = own.create_consumer(queue)
    message = receive_message(consumer)
    consumer.close()
    with pytest.raises(IllegalStateException):
        consumer.receive_no_wait()
    return message


@rule("CL-6")
def test_close_consumer_keeps_client_acknowledgement(harness: Harness, session: Session, queue: Queue) -> None:
    """Messages that a closed consumer delivered are neither lost nor acknowledged; acknowledge still works for them."""
    connection = harness.connect()
    own = connection.create_session(acknowledge_mode=CLIENT_ACKNOWLEDGE)
    message = deliver_unacknowledged(session, own, queue)
    assert_empty(session.create_consumer(queue))
    message.acknowledge()
    connection.close()
    assert_empty(session.create_consumer(queue))


@rule("CL-6")
def test_close_consumer_then_recover_redelivers(harness: Harness, session: Session, queue: Queue) -> None:
    """Recovering after the consumer's close brings its message to the session's next consumer."""
    own = harness.connect().create_session(acknowledge_mode=CLIENT_ACKNOWLEDGE)
    message = deliver_unacknowledged(session, own, queue)
    own.recover()
    again = receive_message(own.create_consumer(queue))
    assert again.jms_message_id == message.jms_message_id
    assert again.jms_redelivered is True
    again.acknowledge()


@rule("CL-6")
@requires(Native.TRANSACTIONS)
def test_close_consumer_keeps_the_transaction(harness: Harness, session: Session, queue: Queue) -> None:
    """A commit includes messages of a consumer that was closed before."""
    connection = harness.connect()
    own = connection.create_session(session_mode=SESSION_TRANSACTED)
    deliver_unacknowledged(session, own, queue)
    own.commit()
    connection.close()
    assert_empty(session.create_consumer(queue))


@rule("CL-6")
@requires(Native.TRANSACTIONS)
def test_close_consumer_then_roll_back_redelivers(harness: Harness, session: Session, queue: Queue) -> None:
    """After a rollback the messages that a closed consumer received are delivered again, marked as redelivered."""
    own = harness.connect().create_session(session_mode=SESSION_TRANSACTED)
    message = deliver_unacknowledged(session, own, queue)
    own.rollback()
    again = receive_message(own.create_consumer(queue))
    assert again.jms_message_id == message.jms_message_id
    assert (again.jms_redelivered, again.get_int_property("JMSXDeliveryCount")) == (True, 2)
    own.commit()


@rule("CL-10")
@requires(Native.CLIENT_ID)
def test_close_context_keeps_the_connection_for_its_siblings(harness: Harness, queue: Queue, topic: Topic) -> None:
    """The connection is closed with its last context; until then its client id is in use."""
    name = harness.name("client")
    first = harness.context(client_id=name)
    second = first.create_context(AUTO_ACKNOWLEDGE)
    first.close()
    with pytest.raises(IllegalState):
        first.create_message()
    second.create_producer().send(queue, "on")
    assert receive_texts(second.create_consumer(queue), 1) == ["on"]
    waiting = harness.connect(start=False)
    with pytest.raises(InvalidClientIDException):
        waiting.client_id = name
    second.close()
    fresh = harness.connect(start=False)
    fresh.client_id = name
    assert fresh.client_id == name


@rule("CL-10", "CL-4")
def test_close_context_closes_its_consumers(harness: Harness, queue: Queue) -> None:
    """A context closes its own objects, not those of another context of the connection."""
    first = harness.context()
    second = first.create_context(AUTO_ACKNOWLEDGE)
    mine, theirs = first.create_consumer(queue), second.create_consumer(queue)
    first.close()
    with pytest.raises(IllegalState):
        mine.receive_no_wait()
    second.create_producer().send(queue, "text")
    assert receive_texts(theirs, 1) == ["text"]
    second.close()
    with pytest.raises(IllegalState):
        theirs.receive_no_wait()
