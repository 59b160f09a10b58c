"""A connection that the application forgets is closed, with a ResourceWarning; one that is still in use is not."""

import gc
import threading
from collections.abc import Callable
from typing import Any

import pytest

import jmsbridge
from jmsbridge import Queue
from jmsbridge.core.connection import ConnectionCore
from jmsbridge.core.runtime.closing import State
from jmsbridge.testing.suite.support import eventually, text_of

QUEUE = Queue("orders")
LONG = 10.0


@pytest.fixture
def url(request: pytest.FixtureRequest) -> str:
    """The URL of a new broker."""
    return f"embedded:?broker=forgotten-{id(request)}"


def connect(url: str) -> tuple[jmsbridge.Connection, ConnectionCore]:
    connection = jmsbridge.connect(url)
    return connection, connection._core


def test_a_forgotten_connection_is_closed(url: str) -> None:
    connection, core = connect(url)
    session = connection.create_session()
    session.create_consumer(QUEUE)
    with pytest.warns(ResourceWarning):  # noqa: PT031 - what is forgotten may be collected at once
        del connection, session
        gc.collect()
    eventually(lambda: core.life.state is State.CLOSED, LONG)


def test_a_forgotten_connection_gives_a_resource_warning(url: str) -> None:
    connection, core = connect(url)
    with pytest.warns(ResourceWarning, match="was not closed"):  # noqa: PT031 - what is forgotten may be collected at once
        del connection
        gc.collect()
    eventually(lambda: core.life.state is State.CLOSED, LONG)


def test_a_closed_connection_gives_no_warning(url: str, recwarn: pytest.WarningsRecorder) -> None:
    connection, _ = connect(url)
    connection.close()
    del connection
    gc.collect()
    assert not [each for each in recwarn if each.category is ResourceWarning]


@pytest.mark.parametrize(
    "make",
    [
        lambda connection: connection.create_session(),
        lambda connection: connection.create_session().create_consumer(QUEUE),
        lambda connection: connection.create_session().create_producer(QUEUE),
        lambda connection: connection.create_session().create_browser(QUEUE),
        lambda connection: connection.admin,
    ],
    ids=["session", "consumer", "producer", "browser", "admin"],
)
def test_objects_in_use_keep_their_connection(url: str, make: Callable[[jmsbridge.Connection], Any]) -> None:
    connection, core = connect(url)
    kept = make(connection)
    del connection
    gc.collect()
    assert core.life.state is State.OPEN
    with pytest.warns(ResourceWarning):  # noqa: PT031 - what is forgotten may be collected at once
        del kept
        gc.collect()
    eventually(lambda: core.life.state is State.CLOSED, LONG)


def test_a_jms_producer_keeps_its_connection(url: str) -> None:
    producer = jmsbridge.context(url).create_producer()
    gc.collect()
    producer.send(QUEUE, "text")
    consumer = jmsbridge.context(url).create_consumer(QUEUE)
    gc.collect()
    assert text_of(consumer.receive(timeout=LONG)) == "text"
    with pytest.warns(ResourceWarning):  # noqa: PT031 - what is forgotten may be collected at once
        del producer, consumer
        gc.collect()


def test_a_listener_keeps_its_connection(url: str) -> None:
    connection, core = connect(url)
    came: list[str] = []
    done = threading.Event()

    def listener(message: jmsbridge.Message) -> None:
        came.append(text_of(message))
        done.set()

    connection.create_session().create_consumer(QUEUE).message_listener = listener
    connection.start()
    del connection
    gc.collect()
    with jmsbridge.connect(url) as other:
        other.create_session().create_producer(QUEUE).send("text")
    assert done.wait(LONG)
    assert came == ["text"]
    core.close()
