"""Names of destinations: syntax of other clients is translated or refused; ``literal`` takes a name as it is."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from jmsbridge import (
    Destination,
    InvalidDestinationException,
    InvalidDestinationRuntimeException,
    JMSContext,
    Queue,
    Session,
    TemporaryQueue,
    TemporaryTopic,
    Topic,
)
from jmsbridge.destinations import destination_of
from jmsbridge.domain import QueueConnectionFactory, TopicConnectionFactory
from jmsbridge.spi import Address
from jmsbridge.syntax import TABLE
from jmsbridge.testing.suite.support import receive_texts, send_texts

PLAIN = [
    "orders",
    "orders.eu.new",
    "orders:eu",
    "orders/eu",
    "what?",
    "a?b",
    "a=b",
    "a&b=c",
    "5*3",
    "a.b*",
    "#1",
    "C#",
    "x>y",
    "->",
    "persistent://tenant/space/orders",
    "non-persistent://tenant/space/orders",
    "persistent://tenant/space/orders:subscription",
    "VirtualTopic.orders",
    "Consumer.eu.VirtualTopic.orders",
    "ActiveMQ.Advisory.Connection",
    "jms.queue.orders",
    "amq.gen-1",
    "queue:orders",
    "queue/orders",
    "jms/queue/orders",
    "/orders",
    "https://example/orders",
    "Grüße 🚚",
    " ",
]

REFUSED = {
    "orders,audit": "composite",
    "orders,queue://audit": "composite",
    "a,": "composite",
    "orders::eu": "Artemis",
    "orders?consumer.exclusive=true": "options",
    "orders?consumer.prefetchSize=10&consumer.priority=5": "options",
    "orders?last-value=true": "options",
    "orders?consumerConfig.receiverQueueSize=1": "options",
    "orders.*": "all destinations that match",
    "*": "all destinations that match",
    "#": "all destinations that match",
    "news.#": "all destinations that match",
    "orders.>": "all destinations that match",
    ">": "all destinations that match",
    "orders.*.new": "all destinations that match",
    "/queue/orders": "STOMP",
    "/queues/orders": "STOMP",
    "/topic/orders": "STOMP",
    "/exchange/amq.topic/orders": "STOMP",
    "/exchanges/amq.topic/orders": "STOMP",
    "/amq/queue/orders": "STOMP",
    "/temp-queue/orders": "STOMP",
    "/remote-temp-queue/ID:x": "STOMP",
    "temp-queue://ID:x": "whichever method is called",
    "temp-topic://ID:x": "whichever method is called",
    "queue:///orders": "IBM MQ",
    "topic:///orders?brokerVersion=2": "IBM MQ",
}

BY_CALL: dict[str, Callable[[Session, str], Destination]] = {
    "create_queue": lambda session, name: session.create_queue(name),
    "create_topic": lambda session, name: session.create_topic(name),
    "Queue": lambda session, name: Queue(name),
    "Topic": lambda session, name: Topic(name),
}


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("call", BY_CALL)
def test_a_plain_name_is_taken_as_it_is(session: Session, call: str, name: str) -> None:
    made = BY_CALL[call](session, name)
    assert made.address.name == name
    assert type(made)(name, literal=True) == made


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("call", BY_CALL)
def test_syntax_of_other_clients_is_refused_with_a_remedy(session: Session, call: str, name: str) -> None:
    with pytest.raises(InvalidDestinationException) as caught:
        BY_CALL[call](session, name)
    said = str(caught.value)
    assert repr(name) in said
    assert REFUSED[name] in said
    pattern_of_topics = "opic" in call and "match" in REFUSED[name]
    assert ("literal=True" in said) == (not pattern_of_topics)


@pytest.mark.parametrize("name", REFUSED)
def test_literal_is_exactly_this_name(session: Session, name: str) -> None:
    assert session.create_queue(name, literal=True).queue_name == name
    if "match" not in REFUSED[name]:
        assert session.create_topic(name, literal=True).topic_name == name


@pytest.mark.parametrize("name", ["news.#", "*", "orders.*.new", ">"])
def test_a_pattern_is_not_accepted_as_a_topic_name(session: Session, name: str) -> None:
    for make in (session.create_topic, Topic):
        with pytest.raises(InvalidDestinationException, match="pattern"):
            make(name, literal=True)


def test_the_prefix_of_the_same_kind_is_removed(session: Session) -> None:
    assert session.create_queue("queue://orders") == Queue("orders")
    assert session.create_topic("topic://news") == Topic("news")
    assert session.create_queue("queue://orders").queue_name == "orders"


@pytest.mark.parametrize(
    ("call", "name"),
    [
        ("create_queue", "topic://news"),
        ("create_topic", "queue://orders"),
        ("Queue", "topic://news"),
        ("Topic", "queue://orders"),
    ],
)
def test_the_prefix_of_the_other_kind_is_refused(session: Session, call: str, name: str) -> None:
    with pytest.raises(InvalidDestinationException, match="whichever method is called"):
        BY_CALL[call](session, name)


@pytest.mark.parametrize("name", ["queue://a,b", "queue://a.*", "queue://a::b", "queue://a?x=y", "queue://queue://a"])
def test_the_name_behind_the_prefix_is_checked_too(session: Session, name: str) -> None:
    with pytest.raises(InvalidDestinationException):
        session.create_queue(name)


@pytest.mark.parametrize("name", ["", None, 5, b"orders", "queue://", Queue("orders")])
def test_a_value_that_is_not_a_name_is_refused(session: Session, context: JMSContext, name: Any) -> None:
    with pytest.raises(InvalidDestinationException, match="is not a destination name"):
        session.create_queue(name)
    with pytest.raises(InvalidDestinationRuntimeException, match="is not a destination name"):
        context.create_queue(name)
    if not name:
        with pytest.raises(InvalidDestinationException, match="is not a destination name"):
            session.create_queue(name, literal=True)


def test_a_context_does_the_same(context: JMSContext) -> None:
    assert context.create_queue("queue://orders") == Queue("orders")
    assert context.create_queue("a,b", literal=True).queue_name == "a,b"
    assert context.create_topic("a::b", literal=True).topic_name == "a::b"
    for make in (context.create_queue, context.create_topic):
        with pytest.raises(InvalidDestinationRuntimeException):
            make("a,b")


def test_the_domain_specific_sessions_do_the_same() -> None:
    with QueueConnectionFactory("embedded:").create_queue_connection() as queues:
        assert queues.create_queue_session().create_queue("a,b", literal=True).queue_name == "a,b"
    with TopicConnectionFactory("embedded:").create_topic_connection() as topics:
        assert topics.create_topic_session().create_topic("topic://news") == Topic("news")


@pytest.mark.parametrize("name", [name for name in REFUSED if name != ""])
@pytest.mark.parametrize("kind", [Queue, Topic, TemporaryQueue, TemporaryTopic])
def test_names_in_received_messages_are_never_refused(name: str, kind: type[Destination]) -> None:
    address = Address(name, issubclass(kind, Topic), kind.__name__.startswith("Temporary"))
    arrived = destination_of(address)
    assert type(arrived) is kind
    assert arrived.address == address
    assert pickle.loads(pickle.dumps(arrived)) == arrived
    assert copy.deepcopy(arrived) == arrived


def test_a_literal_name_is_a_queue_of_its_own(session: Session) -> None:
    odd, reply = session.create_queue("a,b", literal=True), session.create_queue("c::d", literal=True)
    message = session.create_text_message("odd")
    message.jms_reply_to = reply
    session.create_producer(odd).send(message)
    assert session.create_consumer(Queue("a")).receive_no_wait() is None
    received = session.create_consumer(odd).receive(timeout=5)
    assert received is not None
    assert (received.jms_destination, received.jms_reply_to) == (odd, reply)
    assert received.jms_reply_to is not None
    send_texts(session, received.jms_reply_to, "answer")
    assert receive_texts(session.create_consumer(reply), 1) == ["answer"]


def test_the_table_is_right_about_each_example() -> None:
    for syntax in TABLE:
        for example in syntax.example.split(", "):
            if syntax.here.startswith("refused"):
                with pytest.raises(InvalidDestinationException):
                    Queue(example)
            else:
                assert Queue(example).queue_name in (example, example.removeprefix("queue://"))
