"""Temporary destinations: ownership, lifetime and use (sections 4.1.3, 4.2.4 and 6.2.2)."""

import pytest

from jmsbridge import (
    Connection,
    IllegalStateException,
    InvalidDestinationException,
    JMSException,
    JMSRuntimeException,
    Queue,
    Session,
    TemporaryQueue,
    TemporaryTopic,
)
from jmsbridge.spi import Native
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.marks import pitfall, requires, rule
from jmsbridge.testing.suite.support import LONG, assert_empty, eventually, receive_texts, send_texts

either_kind = pytest.mark.parametrize("kind", ["queue", "topic"])


def make(session: Session, kind: str) -> TemporaryQueue | TemporaryTopic:
    """A new temporary destination of this kind."""
    return session.create_temporary_queue() if kind == "queue" else session.create_temporary_topic()


@rule("TD-1")
@requires(Native.TEMPORARY)
@either_kind
def test_temp_any_session_of_the_connection_consumes(connection: Connection, kind: str) -> None:
    """Any session of the connection may consume a temporary destination, not only the one that created it."""
    maker, sibling = connection.create_session(), connection.create_session()
    destination = make(maker, kind)
    consumer = sibling.create_consumer(destination)
    send_texts(maker, destination, "hello")
    assert receive_texts(consumer, 1) == ["hello"]


@rule("TD-1")
@requires(Native.TEMPORARY)
@either_kind
def test_temp_other_connection_cannot_consume(harness: Harness, session: Session, kind: str) -> None:
    destination = make(session, kind)
    stranger = harness.connect().create_session()
    with pytest.raises(JMSException):
        stranger.create_consumer(destination)
    consumer = session.create_consumer(destination)
    send_texts(session, destination, "unharmed")
    assert receive_texts(consumer, 1) == ["unharmed"]


@rule("TD-1")
@requires(Native.TEMPORARY)
@either_kind
def test_temp_any_connection_sends(harness: Harness, session: Session, kind: str) -> None:
    destination = make(session, kind)
    consumer = session.create_consumer(destination)
    send_texts(harness.connect().create_session(), destination, "from afar")
    assert receive_texts(consumer, 1) == ["from afar"]


@rule("TD-1")
@requires(Native.TEMPORARY)
def test_temp_fresh_ones_differ(connection: Connection) -> None:
    """Every call creates a different destination."""
    session = connection.create_session()
    first, second = session.create_temporary_queue(), session.create_temporary_queue()
    assert first != second
    send_texts(session, first, "first only")
    assert_empty(session.create_consumer(second))
    assert receive_texts(session.create_consumer(first), 1) == ["first only"]


@rule("TD-1")
@pitfall(32)
@requires(Native.TEMPORARY)
def test_temp_request_and_reply(harness: Harness, session: Session, queue: Queue) -> None:
    """The reply-to header arrives as a temporary queue that the other side can send to."""
    reply_to = session.create_temporary_queue()
    replies = session.create_consumer(reply_to)
    request = session.create_text_message("question")
    request.jms_reply_to = reply_to
    session.create_producer(queue).send(request)
    server = harness.connect().create_session()
    arrived = server.create_consumer(queue).receive(timeout=LONG)
    assert arrived is not None
    assert isinstance(arrived.jms_reply_to, TemporaryQueue)
    answer = server.create_text_message("answer")
    answer.jms_correlation_id = arrived.jms_message_id
    server.create_producer(None).send(arrived.jms_reply_to, answer)
    reply = replies.receive(timeout=LONG)
    assert reply is not None
    assert reply.get_body(str) == "answer"
    assert reply.jms_correlation_id == request.jms_message_id


@rule("TD-2")
@pitfall(32)
@requires(Native.TEMPORARY)
@either_kind
def test_temp_delete_with_consumer_is_refused(connection: Connection, kind: str) -> None:
    """delete is refused while any session of the connection has a consumer of it, and works after its close."""
    session = connection.create_session()
    destination = make(session, kind)
    consumer = connection.create_session().create_consumer(destination)
    with pytest.raises(IllegalStateException):
        destination.delete()
    send_texts(session, destination, "protected")
    assert receive_texts(consumer, 1) == ["protected"]
    consumer.close()
    destination.delete()


@rule("TD-2")
@requires(Native.TEMPORARY)
def test_temp_delete_is_refused_to_other_connections(harness: Harness, session: Session, queue: Queue) -> None:
    """Another connection, which got the destination as a reply-to, cannot delete it."""
    destination = session.create_temporary_queue()
    message = session.create_message()
    message.jms_reply_to = destination
    session.create_producer(queue).send(message)
    arrived = harness.connect().create_session().create_consumer(queue).receive(timeout=LONG)
    assert arrived is not None
    copy = arrived.jms_reply_to
    assert isinstance(copy, TemporaryQueue)
    with pytest.raises(JMSException):
        copy.delete()
    send_texts(session, destination, "still there")
    assert receive_texts(session.create_consumer(destination), 1) == ["still there"]


@rule("TD-2")
@pitfall(32)
@requires(Native.TEMPORARY)
def test_temp_outlives_its_session(connection: Connection) -> None:
    """It remains, with its messages, until its connection is closed, not its session."""
    maker = connection.create_session()
    destination = maker.create_temporary_queue()
    send_texts(maker, destination, "kept")
    maker.close()
    with connection.create_session().create_consumer(destination) as consumer:
        assert receive_texts(consumer, 1) == ["kept"]


@rule("TD-2")
@pitfall(32)
@requires(Native.TEMPORARY)
@either_kind
def test_temp_delete_after_its_session_closed(connection: Connection, kind: str) -> None:
    maker = connection.create_session()
    destination = make(maker, kind)
    maker.close()
    destination.delete()
    with pytest.raises(JMSException):
        connection.create_session().create_consumer(destination)


@rule("TD-2")
@requires(Native.TEMPORARY)
@either_kind
def test_temp_deleted_cannot_be_used(session: Session, kind: str) -> None:
    """After delete the owner can neither consume from it nor send to it."""
    destination = make(session, kind)
    producer = session.create_producer(None)
    producer.send(destination, session.create_text_message("while it lives"))
    destination.delete()
    with pytest.raises(JMSException):
        session.create_consumer(destination)
    with pytest.raises(JMSException):
        producer.send(destination, session.create_text_message("too late"))


@rule("CL-2", "TD-2")
@requires(Native.TEMPORARY)
@either_kind
def test_temp_delete_of_a_closed_connection_is_refused(harness: Harness, kind: str) -> None:
    connection = harness.connect()
    destination = make(connection.create_session(), kind)
    connection.close()
    with pytest.raises(IllegalStateException):
        destination.delete()


@rule("TD-2")
@requires(Native.TEMPORARY | Native.BROWSE)
def test_temp_deleted_cannot_be_browsed(session: Session) -> None:
    """After delete its owner gets no browser of what the broker may take for an ordinary queue."""
    destination = session.create_temporary_queue()
    destination.delete()
    with pytest.raises(InvalidDestinationException):
        session.create_browser(destination)


@rule("TD-2")
@pitfall(32)
@requires(Native.TEMPORARY, native=True)
def test_temp_deleted_with_its_connection(harness: Harness, session: Session, queue: Queue) -> None:
    """After its connection is closed, another connection's send to it fails."""
    owner = harness.connect()
    destination = owner.create_session().create_temporary_queue()
    send_texts(session, destination, "while it lives")
    owner.close()

    def refused() -> bool:
        try:
            send_texts(session, destination, "too late")
        except JMSException:
            return True
        return False

    eventually(refused)
    send_texts(session, queue, "unharmed")
    assert receive_texts(session.create_consumer(queue), 1) == ["unharmed"]


@rule("TD-3")
@requires(Native.TEMPORARY)
def test_temp_contexts_of_one_connection_share_it(harness: Harness) -> None:
    context = harness.context()
    sibling = context.create_context(1)
    harness.closing(sibling.close)
    destination = context.create_temporary_queue()
    consumer = sibling.create_consumer(destination)
    context.create_producer().send(destination, "for the sibling")
    assert receive_texts(consumer, 1) == ["for the sibling"]


@rule("TD-3")
@requires(Native.TEMPORARY)
def test_temp_other_context_cannot_consume(harness: Harness) -> None:
    """A context created by the factory has its own connection and cannot consume it."""
    destination = harness.context().create_temporary_topic()
    with pytest.raises(JMSRuntimeException):
        harness.context().create_consumer(destination)
