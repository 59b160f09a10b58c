"""Fixtures that most cases use; they are built on the fixture ``harness``, which the backend's author writes."""

import pytest

from jmsbridge import AUTO_ACKNOWLEDGE, Connection, Queue, Session, Topic
from jmsbridge.domain import (
    QueueConnection,
    QueueConnectionFactory,
    QueueSession,
    TopicConnection,
    TopicConnectionFactory,
    TopicSession,
)
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.suite.support import options

__all__ = [
    "connection",
    "queue",
    "queue_connection",
    "queue_session",
    "session",
    "topic",
    "topic_connection",
    "topic_session",
]


@pytest.fixture
def connection(harness: Harness) -> Connection:
    """A started connection."""
    return harness.connect()


@pytest.fixture
def session(connection: Connection) -> Session:
    """A session with automatic acknowledgement on ``connection``."""
    return connection.create_session()


@pytest.fixture
def queue(harness: Harness) -> Queue:
    """A new queue."""
    return harness.queue()


@pytest.fixture
def topic(harness: Harness) -> Topic:
    """A new topic."""
    return harness.topic()


@pytest.fixture
def queue_connection(harness: Harness) -> QueueConnection:
    """A started QueueConnection."""
    connection = QueueConnectionFactory(harness.url, **options(harness)).create_queue_connection()
    harness.closing(connection.close)
    connection.start()
    return connection


@pytest.fixture
def topic_connection(harness: Harness) -> TopicConnection:
    """A started TopicConnection with a client id."""
    connection = TopicConnectionFactory(harness.url, **options(harness)).create_topic_connection()
    harness.closing(connection.close)
    connection.client_id = harness.name("client")
    connection.start()
    return connection


@pytest.fixture
def queue_session(queue_connection: QueueConnection) -> QueueSession:
    """A QueueSession with automatic acknowledgement."""
    return queue_connection.create_queue_session(False, AUTO_ACKNOWLEDGE)


@pytest.fixture
def topic_session(topic_connection: TopicConnection) -> TopicSession:
    """A TopicSession with automatic acknowledgement."""
    return topic_connection.create_topic_session(False, AUTO_ACKNOWLEDGE)
