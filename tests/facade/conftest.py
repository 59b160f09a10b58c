"""The public classes, on an embedded broker for each test."""

import itertools
from collections.abc import Iterator

import pytest

import jmsbridge
import jmsbridge_embedded
from jmsbridge import Connection, ConnectionFactory, JMSContext, Session
from tests.core.conftest import backend, broker, connect

__all__ = ["backend", "broker", "connect", "connection", "context", "factory", "message", "session"]

_names = itertools.count(1)


@pytest.fixture
def factory() -> Iterator[ConnectionFactory]:
    """Makes connections to a broker of the test's own."""
    name = f"facade-{next(_names)}"
    yield ConnectionFactory(f"embedded:?broker={name}", reconnect_delay=0.01)
    jmsbridge_embedded.discard(name)


@pytest.fixture
def connection(factory: ConnectionFactory) -> Iterator[Connection]:
    """A started connection."""
    with factory.create_connection() as made:
        made.start()
        yield made


@pytest.fixture
def session(connection: Connection) -> Session:
    """A session on it."""
    return connection.create_session()


@pytest.fixture
def context(factory: ConnectionFactory) -> Iterator[JMSContext]:
    """A context."""
    with factory.create_context() as made:
        yield made


@pytest.fixture
def message() -> jmsbridge.TextMessage:
    """A message."""
    return jmsbridge.TextMessage("text")
