"""What most cases start from; all of it hangs on the ``harness`` fixture that the backend's author writes."""

import pytest

from jmsbridge import Connection, Queue, Session, Topic
from jmsbridge.testing.harness import Harness

__all__ = ["connection", "queue", "session", "topic"]


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
    """A queue of this test alone."""
    return harness.queue()


@pytest.fixture
def topic(harness: Harness) -> Topic:
    """A topic of this test alone."""
    return harness.topic()
