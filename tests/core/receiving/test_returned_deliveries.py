"""Messages returned to a broker without FAIL: the connection marks and counts them when it gets them again."""

import pytest

from jmsbridge import CLIENT_ACKNOWLEDGE, SESSION_TRANSACTED, MessageConsumer, Queue
from jmsbridge.core.receiving import returned_deliveries
from jmsbridge.spi import Address, Envelope, Native, Outcome
from jmsbridge.testing.marks import rule
from jmsbridge.testing.scripted import ScriptedBackend, text_envelope
from jmsbridge.testing.suite.support import LONG, eventually
from tests.core.conftest import Connect

QUEUE = Queue("orders")
FIRST, AGAIN, THIRD = (False, 1), (True, 2), (True, 3)


@pytest.fixture(autouse=True)
def without_fail(backend: ScriptedBackend) -> None:
    """Its links have no FAIL."""
    backend.lower(Native.FAIL)


def _take(backend: ScriptedBackend, consumer: MessageConsumer, envelope: Envelope) -> tuple[bool, int]:
    """Deliver it unmarked to the newest subscription, and receive it: JMSRedelivered and JMSXDeliveryCount."""
    backend.subscription.deliver(envelope)
    return _receive(consumer)


def _receive(consumer: MessageConsumer) -> tuple[bool, int]:
    message = consumer.receive(timeout=LONG)
    assert message is not None
    return message.jms_redelivered, message.get_int_property("JMSXDeliveryCount")


@rule("HD-8", "JX-1")
@pytest.mark.parametrize("recovers", [False, True])
def test_it_is_marked_in_another_session_of_the_connection(
    backend: ScriptedBackend, connect: Connect, recovers: bool
) -> None:
    """Returned by the close of its session, before or after it was redelivered by the client."""
    connection, message = connect(), text_envelope(Address("orders"), "m")
    session = connection.create_session(CLIENT_ACKNOWLEDGE)
    consumer = session.create_consumer(QUEUE)
    assert _take(backend, consumer, message) == FIRST
    if recovers:
        session.recover()
        assert _receive(consumer) == AGAIN
    session.close()
    assert backend.settled[-1][1] is Outcome.REQUEUED
    other = connection.create_session().create_consumer(QUEUE)
    assert _take(backend, other, message) == (THIRD if recovers else AGAIN)
    assert _take(backend, other, message) == FIRST


@rule("AC-11")
def test_it_is_marked_after_the_rollback_of_a_closed_consumer(backend: ScriptedBackend, connect: Connect) -> None:
    connection, message = connect(), text_envelope(Address("orders"), "m")
    session = connection.create_session(SESSION_TRANSACTED)
    consumer = session.create_consumer(QUEUE)
    assert _take(backend, consumer, message) == FIRST
    consumer.close()
    session.rollback()
    assert backend.settled[-1][1] is Outcome.FAILED
    assert _take(backend, session.create_consumer(QUEUE), message) == AGAIN


def test_what_the_broker_marks_is_not_counted_twice(backend: ScriptedBackend, connect: Connect) -> None:
    connection, message = connect(), text_envelope(Address("orders"), "m")
    with connection.create_session(CLIENT_ACKNOWLEDGE) as session:
        assert _take(backend, session.create_consumer(QUEUE), message) == FIRST
    other = connection.create_session().create_consumer(QUEUE)
    backend.subscription.deliver(message, redelivered=True)
    assert _receive(other) == AGAIN


def test_the_same_message_elsewhere_is_not_marked(backend: ScriptedBackend, connect: Connect) -> None:
    """On another queue, or over another connection."""
    connection, message = connect(), text_envelope(Address("orders"), "m")
    with connection.create_session(CLIENT_ACKNOWLEDGE) as session:
        assert _take(backend, session.create_consumer(QUEUE), message) == FIRST
    elsewhere = connection.create_session().create_consumer(Queue("copies"))
    assert _take(backend, elsewhere, message) == FIRST
    assert _take(backend, connect().create_session().create_consumer(QUEUE), message) == FIRST


@rule("AC-9")
def test_failures_count_across_its_consumers(backend: ScriptedBackend, connect: Connect) -> None:
    """A message that fails under one consumer after the other reaches the limit of redeliveries."""
    connection = connect(max_redeliveries=1)
    message = text_envelope(Address("orders"), "bad")
    session = connection.create_session(SESSION_TRANSACTED)
    for mark in (FIRST, AGAIN):
        consumer = session.create_consumer(QUEUE)
        assert _take(backend, consumer, message) == mark
        consumer.close()
        session.rollback()
    last = session.create_consumer(QUEUE)
    backend.subscription.deliver(message)
    assert last.receive(timeout=0.01) is None
    eventually(lambda: backend.settled[-1][1] is Outcome.REJECTED)


def test_only_so_many_are_remembered(
    backend: ScriptedBackend, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(returned_deliveries, "_MOST", 2)
    connection = connect()
    messages = [text_envelope(Address("orders"), text) for text in "abc"]
    with connection.create_session(CLIENT_ACKNOWLEDGE) as session:
        consumer = session.create_consumer(QUEUE)
        assert [_take(backend, consumer, message) for message in messages] == [FIRST] * 3
    other = connection.create_session().create_consumer(QUEUE)
    assert [_take(backend, other, message) for message in messages] == [FIRST, AGAIN, AGAIN]


def test_with_fail_nothing_is_remembered(backend: ScriptedBackend, connect: Connect) -> None:
    backend.native |= Native.FAIL
    connection, message = connect(), text_envelope(Address("orders"), "m")
    with connection.create_session(CLIENT_ACKNOWLEDGE) as session:
        assert _take(backend, session.create_consumer(QUEUE), message) == FIRST
    assert _take(backend, connection.create_session().create_consumer(QUEUE), message) == FIRST
