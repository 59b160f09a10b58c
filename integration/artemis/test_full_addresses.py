"""An address that is full and refuses messages (``address-full-policy`` FAIL)."""

from collections.abc import Callable

import pytest

from integration.lab.broker import Broker
from integration.networked.conftest import name
from integration.networked.connecting import connect
from jmsbridge import Connection, Queue, ResourceAllocationException, Session
from jmsbridge.testing.suite.support import Completions, receive_texts, send_surely, send_texts

__all__ = ["connect", "name"]

pytestmark = [pytest.mark.broker("artemis"), pytest.mark.server]

ROOM = 10
"""Messages that an address of such a name takes."""


@pytest.fixture
def full(name: str) -> Queue:
    """A queue with little room."""
    return Queue(f"small.{name}")


@pytest.fixture
def session(artemis: Broker, connect: Callable[..., Connection]) -> Session:
    """Over AMQP 1.0; a send that waits for credit is noticed soon."""
    return connect(artemis.url("amqp"), send_timeout=10.0).create_session()


def test_it_keeps_no_other_address_waiting(session: Session, full: Queue, name: str) -> None:
    """Artemis gives the link for all addresses no credit while one of them is full."""
    producer, other = session.create_producer(full), Queue(name)
    for number in range(ROOM):
        producer.send(str(number))
    for _ in range(3):
        with pytest.raises(ResourceAllocationException, match="is full"):
            producer.send("too much")
        send_texts(session, other, "fits")
    with session.create_consumer(other) as consumer:
        assert receive_texts(consumer, 3) == ["fits"] * 3
    with session.create_consumer(full) as consumer:
        assert receive_texts(consumer, ROOM) == [str(number) for number in range(ROOM)]
    send_surely(session, full, "room again")


def test_each_asynchronous_send_gets_its_outcome(session: Session, full: Queue) -> None:
    completions = Completions()
    with session.create_producer(full) as producer:
        for number in range(2500):
            producer.send(session.create_text_message(str(number)), completion_listener=completions)
        events = completions.wait(2500, 30)
    stored = [event[1].text for event in events if event[0] == "completed"]
    assert len(stored) == ROOM
    with session.create_consumer(full) as consumer:
        assert receive_texts(consumer, ROOM) == stored
