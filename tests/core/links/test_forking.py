"""A child process may close inherited objects, but not use them."""

import os
import select
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

import jmsbridge
from jmsbridge import Connection, JMSException, MessageConsumer, MessageProducer, Queue, Session
from jmsbridge.testing.suite.support import LONG, send_texts
from tests.core.support import Embedded, Gate

QUEUE = Queue("orders")

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]


def _in_child(act: Callable[[], object]) -> str:
    """The outcome of ``act`` in a child process: "returned", an exception's name, or "hung"."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            act()
            outcome = "returned"
        except BaseException as error:  # reported to the parent
            outcome = type(error).__name__
        os.write(writing, outcome.encode())
        os._exit(0)
    os.close(writing)
    with open(reading, "rb", closefd=True) as answer:
        ready, _, _ = select.select([answer], [], [], LONG)
        if not ready:
            os.kill(child, 9)
        os.waitpid(child, 0)
        return answer.read().decode() or "hung"


class Busy:
    """A connection with a listener and a callback in progress while the process forks."""

    def __init__(self, broker: Embedded, gate: Gate) -> None:
        self.connection: Connection = broker.connect()
        self.session: Session = self.connection.create_session()
        self.consumer: MessageConsumer = self.session.create_consumer(QUEUE)
        self.consumer.message_listener = gate
        send_texts(self.connection.create_session(), QUEUE, "m")
        gate.wait_entered()
        self.producer: MessageProducer = self.session.create_producer(Queue("out"))
        called = threading.Event()

        def callback(message: object, error: object) -> None:
            called.set()
            assert gate.open.wait(LONG)

        self.producer.send("m", completion_listener=callback)
        assert called.wait(LONG)


@pytest.fixture
def busy(broker: Embedded) -> Iterator[Busy]:
    gate = Gate()
    yield Busy(broker, gate)
    gate.open.set()


@pytest.mark.parametrize("what", ["consumer", "producer", "session", "connection"])
def test_closing_returns_in_a_child(busy: Busy, what: str) -> None:
    sys.stdout.flush()
    assert _in_child(getattr(busy, what).close) == "returned"


def test_using_raises_in_a_child_and_a_new_connection_works(busy: Busy) -> None:
    for act in (lambda: busy.producer.send("m"), busy.connection.create_session, busy.consumer.receive):
        assert _in_child(act) in {name.__name__ for name in JMSException.__subclasses__()} | {"JMSException"}
    assert _in_child(lambda: jmsbridge.context("embedded:").create_producer().send(QUEUE, "m")) == "returned"
