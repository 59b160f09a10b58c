"""The domain-specific API of JMS 1.x: what it has, and what it refuses (sections 2.7 and 9.2; rules DF-1 to DF-5)."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from jmsbridge import (
    AUTO_ACKNOWLEDGE,
    CLIENT_ACKNOWLEDGE,
    SESSION_TRANSACTED,
    IllegalStateException,
    InvalidDestinationException,
    JMSException,
    MessageConsumer,
    MessageProducer,
    Queue,
    Session,
    TextMessage,
    Topic,
    UnsupportedOperationError,
)
from jmsbridge.domain import (
    QueueConnection,
    QueueConnectionFactory,
    QueueRequestor,
    QueueSession,
    TopicConnection,
    TopicConnectionFactory,
    TopicRequestor,
    TopicSession,
)
from jmsbridge.spi.native import Native
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.marks import pitfall, requires, rule
from jmsbridge.testing.suite.support import (
    LONG,
    Collector,
    assert_empty,
    options,
    receive_texts,
    run_thread,
    send_texts,
)

NOTHING: Any = None


@rule("DF-1")
@pitfall(40)
@pytest.mark.parametrize("topic", [Topic("t"), None], ids=["topic", "null"])
@pytest.mark.parametrize("kind", ["shared", "durable", "shared_durable"])
def test_domain_connection_consumers_of_a_queue_connection_are_illegal(
    queue_connection: QueueConnection, kind: str, topic: Topic | None
) -> None:
    """Connection consumers of topics are illegal on a QueueConnection, before they are unsupported."""
    with pytest.raises(IllegalStateException):
        getattr(queue_connection, f"create_{kind}_connection_consumer")(topic, "name", None, None, 1)


QUEUE_SESSION_REFUSES: dict[str, Callable[[Any], object]] = {
    "create_durable_subscriber": lambda session: session.create_durable_subscriber(Topic("t"), "name"),
    "create_durable_consumer": lambda session: session.create_durable_consumer(Topic("t"), "name"),
    "create_shared_consumer": lambda session: session.create_shared_consumer(Topic("t"), "name"),
    "create_shared_durable_consumer": lambda session: session.create_shared_durable_consumer(Topic("t"), "name"),
    "create_temporary_topic": lambda session: session.create_temporary_topic(),
    "create_topic": lambda session: session.create_topic("t"),
    "unsubscribe": lambda session: session.unsubscribe("name"),
}

TOPIC_SESSION_REFUSES: dict[str, Callable[[Any], object]] = {
    "create_browser": lambda session: session.create_browser(Queue("q")),
    "create_queue": lambda session: session.create_queue("q"),
    "create_temporary_queue": lambda session: session.create_temporary_queue(),
}

BAD_ARGUMENTS: dict[str, Callable[[Any], object]] = {
    "create_durable_subscriber": lambda session: session.create_durable_subscriber(NOTHING, "", "bad ="),
    "create_durable_consumer": lambda session: session.create_durable_consumer(NOTHING, NOTHING, "bad ="),
    "create_shared_consumer": lambda session: session.create_shared_consumer(NOTHING, "", "bad ="),
    "create_shared_durable_consumer": lambda session: session.create_shared_durable_consumer(NOTHING, "", "bad ="),
    "create_topic": lambda session: session.create_topic(NOTHING),
    "unsubscribe": lambda session: session.unsubscribe(NOTHING),
}


@rule("DF-2")
@pytest.mark.parametrize("name", QUEUE_SESSION_REFUSES)
def test_domain_queue_session_refuses_topics(queue_session: QueueSession, queue: Queue, name: str) -> None:
    """The topic methods raise IllegalState on a QueueSession, which stays usable."""
    with pytest.raises(IllegalStateException):
        QUEUE_SESSION_REFUSES[name](queue_session)
    send_texts(queue_session, queue, "on")
    assert receive_texts(queue_session.create_receiver(queue), 1) == ["on"]


@rule("DF-3")
@pytest.mark.parametrize("name", TOPIC_SESSION_REFUSES)
def test_domain_topic_session_refuses_queues(topic_session: TopicSession, topic: Topic, name: str) -> None:
    """The queue methods raise IllegalState on a TopicSession, which stays usable."""
    subscriber = topic_session.create_subscriber(topic)
    with pytest.raises(IllegalStateException):
        TOPIC_SESSION_REFUSES[name](topic_session)
    send_texts(topic_session, topic, "on")
    assert receive_texts(subscriber, 1) == ["on"]


@rule("DF-2", "DF-3")
@pitfall(40)
def test_domain_wrong_domain_goes_before_bad_arguments(
    queue_session: QueueSession, topic_session: TopicSession
) -> None:
    """The wrong domain is reported even if the arguments are wrong, too."""
    for name, run in BAD_ARGUMENTS.items():
        with pytest.raises(IllegalStateException):
            run(queue_session)
        assert name in QUEUE_SESSION_REFUSES
    with pytest.raises(IllegalStateException):
        topic_session.create_browser(NOTHING, "bad =")
    with pytest.raises(IllegalStateException):
        topic_session.create_queue(NOTHING)


@rule("DF-4")
def test_domain_null_destination_of_a_producer_is_legal(
    session: Session, queue_session: QueueSession, topic_session: TopicSession
) -> None:
    """A producer without a destination is an anonymous one, in all three APIs."""
    producers: list[MessageProducer] = [
        session.create_producer(None),
        queue_session.create_producer(None),
        queue_session.create_sender(None),
        topic_session.create_producer(None),
        topic_session.create_publisher(None),
    ]
    assert [producer.destination for producer in producers] == [None] * 5


@rule("DF-4")
@pitfall(40)
def test_domain_null_destination_of_a_consumer_is_invalid(
    session: Session, queue_session: QueueSession, topic_session: TopicSession
) -> None:
    """A consumer, receiver, subscriber or browser without a destination is refused with InvalidDestination."""
    calls: list[Callable[..., object]] = [
        session.create_consumer,
        session.create_browser,
        queue_session.create_consumer,
        queue_session.create_receiver,
        queue_session.create_browser,
        topic_session.create_consumer,
        topic_session.create_subscriber,
    ]
    for create in calls:
        with pytest.raises(InvalidDestinationException):
            create(None)
        with pytest.raises(InvalidDestinationException):
            create(None, "p = 1")


@rule("DF-5")
@pitfall(40)
def test_domain_identified_sender_refuses_a_destination(
    queue_session: QueueSession, topic_session: TopicSession, queue: Queue, topic: Topic
) -> None:
    """An identified sender or publisher refuses the form with a destination, even with its own."""
    sender = queue_session.create_sender(queue)
    with pytest.raises(UnsupportedOperationError):
        sender.send(queue, queue_session.create_message())
    with pytest.raises((UnsupportedOperationError, InvalidDestinationException)):
        sender.send(NOTHING, queue_session.create_message())
    publisher = topic_session.create_publisher(topic)
    for publish in (publisher.publish, publisher.send):
        with pytest.raises(UnsupportedOperationError):
            publish(topic, topic_session.create_message())
    assert_empty(queue_session.create_receiver(queue))


@rule("DF-5")
def test_domain_anonymous_sender_and_publisher(
    queue_session: QueueSession, topic_session: TopicSession, queue: Queue, topic: Topic
) -> None:
    """An anonymous sender or publisher needs a destination in each call, and sends to it."""
    sender = queue_session.create_sender(None)
    publisher = topic_session.create_publisher(None)
    assert (sender.queue, publisher.topic) == (None, None)
    for send in (sender.send, publisher.send, publisher.publish):
        with pytest.raises(UnsupportedOperationError):
            send(queue_session.create_message())
        with pytest.raises(InvalidDestinationException):
            send(NOTHING, queue_session.create_message())
    subscriber = topic_session.create_subscriber(topic)
    sender.send(queue, queue_session.create_text_message("sent"))
    publisher.publish(topic, topic_session.create_text_message("published"))
    assert receive_texts(queue_session.create_receiver(queue), 1) == ["sent"]
    assert receive_texts(subscriber, 1) == ["published"]


@rule("DF-2", "DM-1")
def test_domain_queue_session_sends_and_receives(queue_session: QueueSession, queue: Queue) -> None:
    """Sender and receiver of a QueueSession, with their queue."""
    sender = queue_session.create_sender(queue)
    sender.send(queue_session.create_text_message("text"), delivery_mode=1, priority=9, time_to_live=60)
    assert sender.queue == sender.destination == queue
    receiver = queue_session.create_receiver(queue)
    assert (receiver.queue, receiver.message_selector) == (queue, None)
    received = receiver.receive(timeout=LONG)
    assert isinstance(received, TextMessage)
    assert (received.text, received.jms_priority, received.jms_delivery_mode) == ("text", 9, 1)
    assert queue_session.create_queue("name").queue_name == "name"


@rule("DF-2")
@requires(Native.BROWSE | Native.QUEUE_SELECTORS)
def test_domain_queue_session_browses_and_selects(queue_session: QueueSession, queue: Queue) -> None:
    """Browser and receiver of a QueueSession report their queue and selector, and the selector applies."""
    sender = queue_session.create_sender(queue)
    for number in (1, 2):
        message = queue_session.create_text_message(str(number))
        message.set_int_property("p", number)
        sender.send(message)
    with queue_session.create_browser(queue) as browser:
        assert (browser.queue, [found.get_body(str) for found in browser]) == (queue, ["1", "2"])
    receiver = queue_session.create_receiver(queue, "p = 2")
    assert (receiver.queue, receiver.message_selector) == (queue, "p = 2")
    assert receive_texts(receiver, 1) == ["2"]
    assert_empty(receiver)


@rule("DF-2")
@requires(Native.TEMPORARY)
def test_domain_queue_session_makes_temporary_queues(queue_session: QueueSession) -> None:
    """A QueueSession makes temporary queues, uses and deletes them."""
    temporary = queue_session.create_temporary_queue()
    send_texts(queue_session, temporary, "text")
    receiver = queue_session.create_receiver(temporary)
    assert receive_texts(receiver, 1) == ["text"]
    receiver.close()
    temporary.delete()
    with pytest.raises(JMSException):
        queue_session.create_receiver(temporary)


@rule("DF-3", "DM-1")
def test_domain_topic_session_publishes_and_subscribes(topic_session: TopicSession, topic: Topic) -> None:
    """Publisher and subscriber of a TopicSession; every subscriber gets its copy."""
    first, second = topic_session.create_subscriber(topic), topic_session.create_subscriber(topic)
    publisher = topic_session.create_publisher(topic)
    assert publisher.topic == publisher.destination == topic
    publisher.publish(topic_session.create_text_message("text"), delivery_mode=1, priority=2, time_to_live=60)
    for subscriber in (first, second):
        received = subscriber.receive(timeout=LONG)
        assert isinstance(received, TextMessage)
        assert (received.text, received.jms_priority, received.jms_delivery_mode) == ("text", 2, 1)
        assert received.jms_destination == topic


@rule("DF-3")
@requires(Native.NO_LOCAL)
def test_domain_subscriber_knows_its_topic_and_no_local(
    topic_session: TopicSession, session: Session, topic: Topic
) -> None:
    """A subscriber reports topic and no_local; no_local is off by default, and hides the connection's own messages."""
    plain = topic_session.create_subscriber(topic)
    deaf = topic_session.create_subscriber(topic, None, True)
    assert (plain.topic, plain.no_local, plain.message_selector) == (topic, False, None)
    assert (deaf.topic, deaf.no_local) == (topic, True)
    send_texts(topic_session, topic, "own")
    send_texts(session, topic, "other's")
    assert receive_texts(plain, 2) == ["own", "other's"]
    assert receive_texts(deaf, 1) == ["other's"]


@rule("DF-3")
@requires(Native.TOPIC_SELECTORS)
def test_domain_subscriber_with_selector(topic_session: TopicSession, topic: Topic) -> None:
    """A subscriber's selector chooses, and can be read back."""
    subscriber = topic_session.create_subscriber(topic, "p > 1")
    publisher = topic_session.create_publisher(topic)
    for number in (1, 2, 3):
        message = topic_session.create_text_message(str(number))
        message.set_int_property("p", number)
        publisher.publish(message)
    assert subscriber.message_selector == "p > 1"
    assert receive_texts(subscriber, 2) == ["2", "3"]
    assert_empty(subscriber)


@rule("DF-3")
@requires(Native.DURABLE)
def test_domain_durable_subscriber_keeps_messages(harness: Harness, topic_session: TopicSession, topic: Topic) -> None:
    """A durable TopicSubscriber is a subscriber, keeps its messages while closed, and unsubscribe ends it."""
    name = harness.name("subscription")
    subscriber = topic_session.create_durable_subscriber(topic, name)
    assert (subscriber.topic, subscriber.no_local) == (topic, False)
    subscriber.close()
    send_texts(topic_session, topic, "kept")
    again = topic_session.create_durable_subscriber(topic, name)
    assert receive_texts(again, 1) == ["kept"]
    again.close()
    topic_session.unsubscribe(name)
    with pytest.raises(InvalidDestinationException):
        topic_session.unsubscribe(name)


@rule("DF-2")
@requires(Native.TRANSACTIONS)
def test_domain_transacted_sessions(
    queue_connection: QueueConnection, topic_connection: TopicConnection, session: Session, queue: Queue
) -> None:
    """The two arguments mean what they mean for a Session; the mode of a transacted one is ignored."""
    transacted = queue_connection.create_queue_session(True, 0)
    assert (transacted.transacted, transacted.acknowledge_mode) == (True, SESSION_TRANSACTED)
    client = topic_connection.create_topic_session(False, CLIENT_ACKNOWLEDGE)
    assert (client.transacted, client.acknowledge_mode) == (False, CLIENT_ACKNOWLEDGE)
    consumer = session.create_consumer(queue)
    send_texts(transacted, queue, "held")
    assert_empty(consumer)
    transacted.commit()
    assert receive_texts(consumer, 1) == ["held"]


@rule("DF-2")
def test_domain_factories_make_contexts(harness: Harness, queue: Queue) -> None:
    """A QueueConnectionFactory and a TopicConnectionFactory are ConnectionFactories too."""
    for kind in (QueueConnectionFactory, TopicConnectionFactory):
        factory = kind(harness.url, **options(harness))
        with factory.create_context() as context:
            context.create_producer().send(queue, "text")
            assert receive_texts(context.create_consumer(queue), 1) == ["text"]
        with factory.create_connection() as connection:
            assert connection.create_session().transacted is False


def answer_to(consumer: MessageConsumer, answering: Session) -> None:
    """Answer each request of a consumer with its text in capitals."""

    def answer(message: Any) -> None:
        reply = answering.create_text_message(message.text.upper())
        reply.jms_correlation_id = message.jms_message_id
        answering.create_producer(message.jms_reply_to).send(reply)

    consumer.message_listener = Collector(answer)


@rule("DF-2", "HD-7")
@requires(Native.TEMPORARY)
def test_domain_queue_requestor_asks_and_gets(harness: Harness, queue_session: QueueSession, queue: Queue) -> None:
    """A QueueRequestor waits for the answer to each request, and closes its session."""
    answering = harness.connect().create_session()
    answer_to(answering.create_consumer(queue), answering)
    requestor = QueueRequestor(queue_session, queue)
    for text in ("first", "second"):
        request = queue_session.create_text_message(text)
        reply = run_thread(partial(requestor.request, request)).result(LONG)
        assert isinstance(reply, TextMessage)
        assert (reply.text, reply.jms_correlation_id) == (text.upper(), request.jms_message_id)
    requestor.close()
    with pytest.raises(IllegalStateException):
        queue_session.create_message()


@rule("DF-3", "HD-7")
@requires(Native.TEMPORARY)
def test_domain_topic_requestor_asks_and_gets(harness: Harness, topic_session: TopicSession, topic: Topic) -> None:
    """A TopicRequestor does the same over topics."""
    answering = harness.connect().create_session()
    answer_to(answering.create_consumer(topic), answering)
    requestor = TopicRequestor(topic_session, topic)
    request = topic_session.create_text_message("text")
    reply = run_thread(lambda: requestor.request(request)).result(LONG)
    assert isinstance(reply, TextMessage)
    assert reply.text == "TEXT"
    requestor.close()
    with pytest.raises(IllegalStateException):
        topic_session.create_message()


@rule("DF-4")
def test_domain_requestor_needs_a_destination_and_an_automatic_session(
    queue_connection: QueueConnection, topic_connection: TopicConnection, queue: Queue, topic: Topic
) -> None:
    """A requestor refuses no destination, and a session in which its reply would never be acknowledged."""
    with pytest.raises(InvalidDestinationException):
        QueueRequestor(queue_connection.create_queue_session(False, AUTO_ACKNOWLEDGE), NOTHING)
    with pytest.raises(InvalidDestinationException):
        TopicRequestor(topic_connection.create_topic_session(False, AUTO_ACKNOWLEDGE), NOTHING)
    with pytest.raises(JMSException):
        QueueRequestor(queue_connection.create_queue_session(True, 0), queue)
    with pytest.raises(JMSException):
        TopicRequestor(topic_connection.create_topic_session(False, CLIENT_ACKNOWLEDGE), topic)
