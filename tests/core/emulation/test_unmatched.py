"""Selectors on queues where the broker has none: no message is lost, few are withheld, memory is bounded."""

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, cast

import msgspec
import pytest

from jmsbridge import (
    CLIENT_ACKNOWLEDGE,
    NO_ACKNOWLEDGE,
    EmulationWarning,
    JMSConsumer,
    JMSException,
    Session,
    TextMessage,
    UnsupportedFeature,
)
from jmsbridge.core.emulation.unmatched import UnmatchedBuffer
from jmsbridge.core.runtime.clock import Clock, Timer
from jmsbridge.selectors import compile_selector
from jmsbridge.spi import Address, Arrival, Native, Outcome, Subscription
from jmsbridge.testing.scripted import text_envelope
from jmsbridge.testing.suite.support import Collector, eventually, run_thread, text_of
from tests.core.emulation.support import QUEUE, Broker, select, send, texts

MANY = tuple(f"grey-{number}" for number in range(60))


def test_the_price_is_named_once_per_connection(broker: Broker) -> None:
    session = broker.session()
    with pytest.warns(EmulationWarning, match=r"selector on a queue.*buffered"):
        session.create_consumer(QUEUE, "colour = 'red'")
    session.create_consumer(QUEUE, "colour = 'blue'")  # a second warning would be an error here


def test_unmatched_messages_go_to_others_while_the_consumer_is_idle(broker: Broker) -> None:
    """Without any receive the selecting consumer still releases unmatched messages soon."""
    session = broker.session()
    select(session, "red")
    send(session, *MANY)
    assert sorted(texts(broker.session().create_consumer(QUEUE), 60)) == sorted(MANY)


def test_unmatched_messages_go_to_others_while_the_listener_is_busy(broker: Broker) -> None:
    """While the listener works without a pause, messages that it does not select go to others."""
    entered, leave = threading.Event(), threading.Event()

    def work(_: object) -> None:
        entered.set()
        assert leave.wait(10)

    consumer = select(broker.session(), "red")
    consumer.message_listener = work
    session = broker.session()
    send(session, "red", colour="red")
    assert entered.wait(5)
    send(session, *MANY)
    try:
        assert sorted(texts(session.create_consumer(QUEUE), 60)) == sorted(MANY)
    finally:
        leave.set()


def test_the_unmatched_buffer_is_bounded(broker: Broker) -> None:
    """Without other consumers, five are buffered and the window is full; the rest stays at the broker."""
    session = broker.session(emulation_limit=5, prefetch=3)
    consumer = select(session, "red")
    send(session, *MANY)
    send(session, "red", colour="red")
    park = consumer._receiver.inbox.unmatched
    assert park is not None
    sizes = set()
    for _ in range(100):
        assert consumer.receive(timeout=0.005) is None
        sizes.add(len(park._held))
    assert 5 <= max(sizes) <= 5 + 3


def test_is_truncated_says_whether_all_messages_were_examined(broker: Broker) -> None:
    """In the simplified API too; with a buffer that never was full all messages were examined."""
    connection = broker.connect(emulation_limit=5)
    session = connection.create_session()
    consumer = select(session, "red")
    send(session, *MANY[:4])
    assert consumer.receive_no_wait() is None
    assert not consumer.is_truncated
    send(session, *MANY[4:])
    eventually(lambda: consumer.is_truncated)
    assert JMSConsumer(consumer).is_truncated
    assert not session.create_consumer(QUEUE).is_truncated


def test_a_full_buffer_continues_when_others_consume(broker: Broker) -> None:
    session = broker.session(emulation_limit=5, prefetch=3)
    consumer = select(session, "red")
    send(session, *MANY)
    send(session, "red", colour="red")
    rest = broker.session()
    other = select(rest, "grey")
    taken = run_thread(lambda: texts(other, 60))
    assert texts(consumer, 1, timeout=20) == ["red"]
    assert sorted(taken.result(20)) == sorted(MANY)


@pytest.mark.parametrize("prefetch", [0, 1, 10, 250])
def test_a_match_behind_many_others_is_found_at_once(broker: Broker, prefetch: int) -> None:
    """receive_no_wait examines all messages of the broker, however often the window must be refilled."""
    session = broker.session(prefetch=prefetch)
    send(session, *MANY)
    send(session, "red", colour="red")
    message = select(session, "red").receive_no_wait()
    assert isinstance(message, TextMessage)
    assert message.text == "red"


def test_closing_releases_in_order_at_once(broker: Broker) -> None:
    session = broker.session()
    consumer = select(session, "red")
    send(session, *MANY)
    send(session, "red", colour="red")
    assert texts(consumer, 1) == ["red"]
    consumer.close()
    plain = broker.session().create_consumer(QUEUE)
    found = [plain.receive_no_wait() for _ in range(60)]
    assert [text_of(message) for message in found] == list(MANY)


def test_a_lost_link_loses_no_buffered_message(broker: Broker) -> None:
    """The broker requeues the buffered messages, and the selection continues on the next link."""
    connection = broker.connect()
    session = connection.create_session()
    consumer = select(session, "red")
    send(session, *MANY[:20])
    park = consumer._receiver.inbox.unmatched
    assert park is not None
    broker.cut(connection)
    assert park._held == []
    send(session, "red", colour="red")
    assert texts(consumer, 1) == ["red"]
    consumer.close()
    assert sorted(texts(session.create_consumer(QUEUE), 20)) == sorted(MANY[:20])


@pytest.mark.filterwarnings("ignore::jmsbridge.errors.EmulationWarning")
def test_buffered_messages_are_not_part_of_a_transaction(broker: Broker) -> None:
    transacted = broker.session(True)
    consumer = select(transacted, "red")
    session = broker.session()
    send(session, *MANY[:5])
    send(session, "red", colour="red")
    assert texts(consumer, 1) == ["red"]
    transacted.rollback()
    assert texts(consumer, 1) == ["red"]
    transacted.commit()
    assert sorted(texts(session.create_consumer(QUEUE), 5)) == sorted(MANY[:5])
    transacted.close()
    assert session.create_consumer(QUEUE).receive_no_wait() is None


def test_no_acknowledge_mode_loses_no_unmatched_message(broker: Broker) -> None:
    """Messages that were only examined stay at the broker; those that matched are gone."""
    session = broker.session()
    careless = broker.session(False, NO_ACKNOWLEDGE)
    consumer = select(careless, "red")
    send(session, *MANY[:5])
    send(session, "red", colour="red")
    assert texts(consumer, 1) == ["red"]
    careless.close()
    plain = session.create_consumer(QUEUE)
    assert texts(plain, 5) == list(MANY[:5])
    assert plain.receive_no_wait() is None


def test_a_stopped_connection_buffers_and_releases(broker: Broker) -> None:
    connection = broker.connect()
    consumer = select(connection.create_session(), "red")
    connection.stop()
    session = broker.session()
    send(session, *MANY)
    send(session, "red", colour="red")
    connection.start()
    assert texts(consumer, 1) == ["red"]


# -- where it is refused ---------------------------------------------------------------------------------------------


def test_refused_where_releasing_may_lose(broker: Broker) -> None:
    broker.lower(Native.UNLIMITED_REQUEUE)
    session = broker.session(emulation="allow")
    with pytest.raises(UnsupportedFeature, match="; the client cannot emulate it, because"):
        session.create_consumer(QUEUE, "colour = 'red'")


def test_refused_by_the_option(broker: Broker) -> None:
    session = broker.session(emulation={"queue_selectors": "refuse"})
    with pytest.raises(UnsupportedFeature, match=r'emulation = \{ queue_selectors = "allow" \}'):
        session.create_consumer(QUEUE, "colour = 'red'")


def test_refused_on_a_queue_with_a_delivery_limit(broker: Broker) -> None:
    """The broker can release, but not on this queue: no subscription remains, and other consumers work."""
    broker.backend.below = Native.UNLIMITED_REQUEUE
    session = broker.session()
    with pytest.raises(UnsupportedFeature, match="delivery limit"):
        select(session, "red")
    send(session, "a")
    assert texts(session.create_consumer(QUEUE), 1) == ["a"]


def test_a_consumer_that_the_new_link_cannot_serve_is_closed_and_reported(broker: Broker) -> None:
    heard: list[JMSException] = []
    connection = broker.connect()
    connection.exception_listener = heard.append
    session = connection.create_session()
    consumer = select(session, "red")
    broker.backend.below = Native.UNLIMITED_REQUEUE
    broker.cut(connection)
    eventually(lambda: heard)
    assert isinstance(heard[0], UnsupportedFeature)
    with pytest.raises(UnsupportedFeature, match="delivery limit"):
        consumer.receive(timeout=5)


# -- many at once ----------------------------------------------------------------------------------------------------


def test_each_message_reaches_exactly_one_matching_consumer(broker: Broker) -> None:
    """Four colours, eight consumers that open and close, links that are cut: no message is lost, and without cuts none
    comes twice."""
    colours = ("red", "green", "blue", "white")
    collectors: dict[str, list[Collector]] = {colour: [] for colour in colours}
    sessions: list[Session] = []
    for colour in colours * 2:
        session = broker.session(False, CLIENT_ACKNOWLEDGE, prefetch=5)
        collector = Collector(lambda message: message.acknowledge())
        select(session, colour).message_listener = collector
        collectors[colour].append(collector)
        sessions.append(session)
    sender = broker.session()
    for number in range(200):
        send(sender, str(number), colour=colours[number % 4])
        if number == 100:
            sessions[0].close()
    eventually(lambda: sum(len(one.messages) for many in collectors.values() for one in many) >= 200, 30)
    seen = Counter(text for many in collectors.values() for one in many for text in one.texts)
    assert seen == Counter(str(number) for number in range(200))
    for place, colour in enumerate(colours):
        assert {int(text or "") % 4 for one in collectors[colour] for text in one.texts} == {place}


class SetClock(Clock):
    """A clock that the test sets; it has no timers."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now

    def call_later(self, delay: float, action: Callable[[], None]) -> Timer:
        return Timer(self, delay, action)


class Releases:
    """A subscription that records released messages."""

    def __init__(self) -> None:
        self.tokens: list[Any] = []

    def settle(self, tokens: Sequence[Any], outcome: Outcome) -> None:
        self.tokens += tokens

    def refill(self, count: int) -> bool:
        return True

    def suspend_credit(self, timeout: float) -> None:
        assert not self.tokens

    def resume_credit(self) -> None:
        pass


@pytest.mark.parametrize("closing", [False, True])
def test_messages_that_stayed_too_long_are_released_in_the_order_of_arrival(closing: bool) -> None:
    clock = SetClock()
    buffer = UnmatchedBuffer(compile_selector("colour = 'red'"), 10, clock, lambda: None)
    arrivals = [
        Arrival(name, msgspec.structs.replace(text_envelope(Address("orders"), name), message_id=name)) for name in "ab"
    ]
    for _ in range(3):  # it is delivered repeatedly, and so stays longer
        assert buffer.takes(arrivals[0])
        buffer.empty()
    assert all(map(buffer.takes, arrivals))
    if closing:
        assert [arrival.token for arrival in buffer.empty()] == ["a", "b"]
        return
    clock.now, releases = 1.0, Releases()
    buffer.release_due(cast(Subscription, releases), releases)
    assert releases.tokens == ["a", "b"]
