"""What the domain-specific classes add, called on closed objects (rule CL-2, section 9.2)."""

from collections.abc import Callable
from typing import Any

import pytest

from jmsbridge import IllegalStateException, Queue
from jmsbridge.domain import (
    QueueConnection,
    QueueConnectionFactory,
    QueueReceiver,
    QueueSender,
    QueueSession,
    TopicConnection,
    TopicConnectionFactory,
    TopicPublisher,
    TopicSession,
    TopicSubscriber,
)
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.marks import pitfall, rule
from jmsbridge.testing.suite.closing.closed import QUEUE, TOPIC, Call, call, calls, get, getters
from jmsbridge.testing.suite.support import options


def queues(harness: Harness) -> tuple[QueueConnection, QueueSession]:
    """A connection and a session for queues."""
    connection = QueueConnectionFactory(harness.url, **options(harness)).create_queue_connection()
    harness.closing(connection.close)
    return connection, connection.create_queue_session()


def topics(harness: Harness) -> tuple[TopicConnection, TopicSession]:
    """A connection and a session for topics."""
    connection = TopicConnectionFactory(harness.url, **options(harness)).create_topic_connection()
    harness.closing(connection.close)
    return connection, connection.create_topic_session()


def of_queues(create: Callable[[QueueSession, Queue], Any]) -> Callable[[Harness], tuple[Any, Any]]:
    """How to make a child of a queue session, with that session."""

    def make(harness: Harness) -> tuple[Any, Any]:
        session = queues(harness)[1]
        return create(session, harness.queue()), session

    return make


def of_topics(create: Callable[[TopicSession, Any], Any]) -> Callable[[Harness], tuple[Any, Any]]:
    """How to make a child of a topic session, with that session."""

    def make(harness: Harness) -> tuple[Any, Any]:
        session = topics(harness)[1]
        return create(session, harness.topic()), session

    return make


CONSUMER_CALLS = calls(
    create_shared_connection_consumer=(TOPIC, "name", None, None, 1),
    create_durable_connection_consumer=(TOPIC, "name", None, None, 1),
    create_shared_durable_connection_consumer=(TOPIC, "name", None, None, 1),
)

# By class: how to make one with its parent (itself if there is none), and the calls that its general class lacks.
KINDS: dict[type, tuple[Callable[[Harness], tuple[Any, Any]], dict[str, Call]]] = {
    QueueConnection: (
        lambda harness: (queues(harness)[0],) * 2,
        {**calls(create_queue_session=()), **CONSUMER_CALLS},
    ),
    TopicConnection: (lambda harness: (topics(harness)[0],) * 2, calls(create_topic_session=())),
    QueueSession: (
        lambda harness: queues(harness)[::-1],
        calls(
            create_sender=(QUEUE,),
            create_receiver=(QUEUE,),
            create_topic=("name",),
            create_temporary_topic=(),
            create_durable_subscriber=(TOPIC, "name"),
            create_durable_consumer=(TOPIC, "name"),
            create_shared_consumer=(TOPIC, "name"),
            create_shared_durable_consumer=(TOPIC, "name"),
            unsubscribe=("name",),
        ),
    ),
    TopicSession: (
        lambda harness: topics(harness)[::-1],
        calls(
            create_publisher=(TOPIC,),
            create_subscriber=(TOPIC,),
            create_queue=("name",),
            create_temporary_queue=(),
            create_browser=(QUEUE,),
        ),
    ),
    QueueSender: (of_queues(lambda session, queue: session.create_sender(queue)), getters("queue")),
    QueueReceiver: (of_queues(lambda session, queue: session.create_receiver(queue)), getters("queue")),
    TopicPublisher: (
        of_topics(lambda session, topic: session.create_publisher(topic)),
        {"topic": get("topic"), "publish": call("publish", "text")},
    ),
    TopicSubscriber: (
        of_topics(lambda session, topic: session.create_subscriber(topic)),
        getters("topic", "no_local"),
    ),
}

CASES = [pytest.param(cls, name, id=f"{cls.__name__}.{name}") for cls, entry in KINDS.items() for name in entry[1]]


@rule("CL-2")
@pitfall(15)
@pytest.mark.parametrize(("cls", "name"), CASES)
def test_closed_domain_object_refuses(harness: Harness, cls: type, name: str) -> None:
    """IllegalState from each call of a closed object of the domain-specific API, trivial getters included."""
    make, table = KINDS[cls]
    target, _ = make(harness)
    target.close()
    with pytest.raises(IllegalStateException):
        table[name](target)
    target.close()


@rule("CL-2", "CL-4")
@pitfall(15)
@pytest.mark.parametrize(("cls", "name"), CASES)
def test_closed_domain_parent_closes_every_call(harness: Harness, cls: type, name: str) -> None:
    """The same when a parent of the object was closed."""
    make, table = KINDS[cls]
    target, parent = make(harness)
    parent.close()
    with pytest.raises(IllegalStateException):
        table[name](target)
    target.close()


@rule("CL-2")
@pytest.mark.parametrize("cls", KINDS, ids=lambda cls: str(cls.__name__))
def test_closed_domain_table_is_complete(cls: type) -> None:
    """Each public name that the class itself defines has a case above."""
    assert {name for name in vars(cls) if not name.startswith("_") and name in dir(cls)} == set(KINDS[cls][1])
