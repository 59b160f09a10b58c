"""Delivery delays where the broker has none: the process keeps the messages, and never loses one silently."""

import time
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from jmsbridge import (
    Connection,
    InDoubt,
    JMSException,
    MessageProducer,
    ResourceAllocationException,
    Session,
    UnsupportedFeature,
)
from jmsbridge.core.emulation.delaying import Delays
from jmsbridge.core.runtime.clock import Clock, Timer, system
from jmsbridge.core.runtime.waiting import Waiter
from jmsbridge.spi import Address, Envelope, Native
from jmsbridge.testing.scripted import text_envelope
from jmsbridge.testing.suite.support import Completions, assert_empty, eventually, text_of
from tests.core.emulation.support import QUEUE, Broker, texts

ALLOW = {"delivery_delay": "allow"}
HOUR = 3600.0


@pytest.fixture
def delayless(broker: Broker) -> Broker:
    broker.lower(Native.DELAY)
    return broker


def delayed(session: Session, text: str, delay: float, **options: Any) -> MessageProducer:
    producer = session.create_producer(QUEUE)
    producer.delivery_delay = delay
    producer.send(session.create_text_message(text), **options)
    return producer


def close_quickly(connection: Connection) -> InDoubt:
    """Close; it must name the unsent messages, and must not wait for their time."""
    before = time.monotonic()
    with pytest.raises(InDoubt) as caught:
        connection.close()
    assert time.monotonic() - before < 5
    return caught.value


def test_refused_unless_allowed(delayless: Broker) -> None:
    session = delayless.session()
    with pytest.raises(UnsupportedFeature, match=r'emulation = \{ delivery_delay = "allow" \}'):
        delayed(session, "a", 0.1)
    session.create_producer(QUEUE).send(session.create_text_message("b"))
    assert texts(session.create_consumer(QUEUE), 1) == ["b"]


def test_a_delayed_message_is_sent_when_it_is_due(delayless: Broker) -> None:
    session = delayless.session(emulation=ALLOW)
    consumer = delayless.session().create_consumer(QUEUE)
    before = system.now_ms()
    delayed(session, "late", 0.3)
    assert_empty(consumer, timeout=0.1)
    assert texts(consumer, 1) == ["late"]
    assert system.now_ms() - before >= 300


def test_close_sends_messages_that_become_due_in_time(delayless: Broker) -> None:
    connection = delayless.connect(emulation=ALLOW)
    delayed(connection.create_session(), "late", 0.3)
    connection.close()
    assert texts(delayless.session().create_consumer(QUEUE), 1) == ["late"]


def test_close_names_unsent_delayed_messages(delayless: Broker) -> None:
    heard: list[JMSException] = []
    connection = delayless.connect(emulation=ALLOW, close_timeout=0.5)
    connection.exception_listener = heard.append
    session = connection.create_session()
    delayed(session, "never", HOUR)
    delayed(session, "soon", 0.1)
    before = time.monotonic()
    with pytest.raises(InDoubt) as caught:
        session.close()
    assert time.monotonic() - before < 5
    error = caught.value
    assert [text_of(message) for message in error.refused] == ["never"]
    assert (error.sent, error.unknown) == ((), ())
    assert texts(delayless.session().create_consumer(QUEUE), 1) == ["soon"]
    eventually(lambda: heard)
    assert isinstance(heard[0], InDoubt)


def test_a_lost_link_does_not_lose_delayed_messages(delayless: Broker) -> None:
    connection = delayless.connect(emulation=ALLOW)
    session = connection.create_session()
    delayed(session, "late", 0.2)
    delayless.cut(connection)
    delayless.cut(connection)
    assert texts(delayless.session().create_consumer(QUEUE), 1) == ["late"]


def test_too_many_delayed_messages_are_refused(delayless: Broker) -> None:
    connection = delayless.connect(emulation=ALLOW, emulation_limit=3, close_timeout=0.1)
    session = connection.create_session()
    for _ in range(3):
        delayed(session, "a", HOUR)
    with pytest.raises(ResourceAllocationException, match="emulation_limit"):
        delayed(session, "b", HOUR)
    assert len(close_quickly(connection).refused) == 3


def test_completions_of_delayed_messages_wait_for_the_broker(delayless: Broker) -> None:
    """A completion means that the broker has the message, so it comes after the delay; later ones keep their order."""
    session = delayless.session(emulation=ALLOW)
    completions = Completions()
    before = system.now_ms()
    delayed(session, "late", 0.3, completion_listener=completions)
    session.create_producer(QUEUE).send(session.create_text_message("now"), completion_listener=completions)
    events = completions.wait(2)
    assert system.now_ms() - before >= 300
    assert [(event[0], event[1].text) for event in events] == [("completed", "late"), ("completed", "now")]


def test_the_completion_of_an_unsent_delayed_message_fails(delayless: Broker) -> None:
    connection = delayless.connect(emulation=ALLOW, close_timeout=0.2)
    completions = Completions()
    delayed(connection.create_session(), "never", HOUR, completion_listener=completions)
    close_quickly(connection)
    [(what, message, error)] = completions.wait(1)
    assert (what, message.text) == ("failed", "never")
    assert "never sent" in str(error)


@pytest.mark.filterwarnings("ignore::jmsbridge.errors.EmulationWarning")
def test_in_a_transaction_the_delay_begins_with_the_commit(delayless: Broker) -> None:
    session = delayless.session(True, emulation=ALLOW)
    consumer = delayless.session().create_consumer(QUEUE)
    delayed(session, "rolled back", 0.05)
    session.rollback()
    delayed(session, "committed", 0.05)
    assert_empty(consumer, timeout=0.3)
    session.commit()
    assert texts(consumer, 1) == ["committed"]
    session.commit()
    assert_empty(consumer, timeout=0.2)


@pytest.mark.filterwarnings("ignore::jmsbridge.errors.EmulationWarning")
def test_a_commit_does_not_wait_for_delayed_messages(delayless: Broker) -> None:
    connection = delayless.connect(emulation=ALLOW, close_timeout=0.5)
    session = connection.create_session(True)
    before = time.monotonic()
    for _ in range(3):
        delayed(session, "never", HOUR)
        session.commit()
    assert time.monotonic() - before < 5
    assert len(close_quickly(connection).refused) == 3


def test_a_failed_connection_names_unsent_delayed_messages(delayless: Broker) -> None:
    heard: list[JMSException] = []
    connection = delayless.connect(emulation=ALLOW, reconnect_attempts=0)
    connection.exception_listener = heard.append
    delayed(connection.create_session(), "late", 0.3)
    delayless.cut()
    eventually(lambda: any(isinstance(error, InDoubt) for error in heard))
    [error] = [error for error in heard if isinstance(error, InDoubt)]
    assert [text_of(message) for message in error.refused] == ["late"]
    connection.close()


class FastClock(Clock):
    """A clock whose timers fire before ``call_later`` returns."""

    def call_later(self, delay: float, action: Callable[[], None]) -> Timer:
        action()
        return Timer(self, 0.0, action)


def test_a_timer_that_fires_before_it_is_recorded_is_followed_by_others(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Envelope] = []
    delays = Delays("test", FastClock(), 10, lambda envelope, ticket: sent.append(envelope))
    monkeypatch.setattr(delays._executor, "wake", delays._send_due)
    for text in "ab":
        envelope = text_envelope(Address("orders"), text)
        delays.hold(msgspec.structs.replace(envelope, delivery_time=system.now_ms()), Waiter())
    assert [envelope.body for envelope in sent] == ["a", "b"]
