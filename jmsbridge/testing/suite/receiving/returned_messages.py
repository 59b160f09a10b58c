"""No message is lost or dead-lettered because consumers, sessions, connections and links come and go.

Some brokers count how often a message is returned, even if no application has seen it, and drop or move it after too
many times. The numbers here exceed the default limits of brokers.
"""

import threading

import pytest

from jmsbridge import (
    SESSION_TRANSACTED,
    Connection,
    Message,
    MessageConsumer,
    Queue,
    Session,
    TextMessage,
)
from jmsbridge.spi.envelope import Outcome
from jmsbridge.spi.native import Native
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.marks import level, promise, requires, rule
from jmsbridge.testing.suite.contract.support import drain, fetch, send_texts_to, settle, subscribe
from jmsbridge.testing.suite.receiving.redelivery_support import (
    DEFERRED,
    assert_no_dead_letters,
    deferred_session,
    remove_dead_letters,
)
from jmsbridge.testing.suite.support import Collector, assert_empty, receive_texts, send_texts

ROUNDS = 25
TEXTS = [f"{number:02}" for number in range(60)]


class _Source:
    """Where messages wait: a queue, or a durable subscription."""

    def __init__(self, harness: Harness, kind: str) -> None:
        self._harness = harness
        self._name = harness.name("sub")
        self.client_id = harness.name("client") if kind == "durable" else None
        self._kind = kind
        self._queue, self._topic = harness.queue(), harness.topic()

    def connect(self, *, start: bool = True) -> Connection:
        """A connection that may consume from it."""
        return self._harness.connect(start=start, client_id=self.client_id)

    def consume(self, session: Session) -> MessageConsumer:
        """A consumer with the default prefetch."""
        if self._kind == "durable":
            return session.create_durable_consumer(self._topic, self._name)
        if self._kind == "shared":
            return session.create_shared_durable_consumer(self._topic, self._name)
        return session.create_consumer(self._queue)

    def fill(self, session: Session, texts: list[str]) -> None:
        """Send these messages to it."""
        remove_dead_letters(self._harness, session)
        self.consume(session).close()  # so that the subscription is there
        send_texts(session, self._queue if self._kind == "queue" else self._topic, *texts)

    def end(self, session: Session) -> None:
        """Check that no message is left, and none has become a dead letter."""
        assert_no_dead_letters(self._harness, session)
        if self._kind != "queue":
            session.unsubscribe(self._name)


every_kind = pytest.mark.parametrize(
    "kind",
    [
        "queue",
        pytest.param("durable", marks=requires(Native.DURABLE | Native.EXCLUSIVE_DURABLE)),
        pytest.param("shared", marks=requires(Native.SHARED_DURABLE)),
    ],
)


@rule("AC-12")
@every_kind
def test_returned_by_short_lived_consumers(harness: Harness, kind: str) -> None:
    """A consumer for each message: it prefetches many, receives one and is closed."""
    place = _Source(harness, kind)
    session = place.connect().create_session()
    texts = TEXTS[: ROUNDS + 5]
    place.fill(session, texts)
    came: list[str] = []
    for _ in texts:
        with place.consume(session) as consumer:
            came += receive_texts(consumer, 1)
    assert sorted(came) == texts
    with place.consume(session) as consumer:
        assert_empty(consumer)
    place.end(session)


@rule("AC-12")
@every_kind
def test_returned_by_consumers_that_received_nothing(harness: Harness, kind: str) -> None:
    """Consumers prefetch and are closed before they receive; then all messages are delivered in order."""
    place = _Source(harness, kind)
    session = place.connect().create_session()
    place.fill(session, TEXTS)
    for _ in range(ROUNDS):
        place.consume(session).close()
    with place.consume(session) as consumer:
        assert receive_texts(consumer, len(TEXTS)) == TEXTS
        assert_empty(consumer)
    place.end(session)


@rule("AC-12")
@every_kind
def test_returned_by_restarted_listeners(harness: Harness, kind: str) -> None:
    """A worker is restarted, with its connection, after every two messages."""
    place = _Source(harness, kind)
    texts = [f"{number:03}" for number in range(8 * ROUNDS)]
    with place.connect() as connection:
        place.fill(connection.create_session(), texts)
    never = threading.Event()

    def takes_its_time(_: Message) -> None:
        never.wait(0.02)

    came: list[str | None] = []
    for _ in range(ROUNDS):
        with place.connect(start=False) as connection:
            collector = Collector(takes_its_time)
            place.consume(connection.create_session()).message_listener = collector
            connection.start()
            collector.wait(2)
        came += collector.texts
    with place.connect() as connection:
        session = connection.create_session()
        with place.consume(session) as consumer:
            while (message := consumer.receive(timeout=1.0)) is not None:
                assert isinstance(message, TextMessage)
                came.append(message.text)
        assert sorted(text or "" for text in came) == texts
        place.end(session)


@rule("AC-10")
@pytest.mark.parametrize("mode", DEFERRED)
def test_returned_by_closed_sessions(harness: Harness, queue: Queue, mode: int) -> None:
    """Sessions that receive all messages and are closed: that does not count as a failure of a message."""
    texts = TEXTS[:30]
    session = harness.connect().create_session()
    remove_dead_letters(harness, session)
    send_texts(session, queue, *texts)
    for _ in range(ROUNDS):
        holding = deferred_session(harness, mode)
        assert sorted(receive_texts(holding.create_consumer(queue), len(texts))) == texts
        holding.close()
    with session.create_consumer(queue) as consumer:
        assert sorted(receive_texts(consumer, len(texts))) == texts
        assert_empty(consumer)
    assert_no_dead_letters(harness, session)


@rule("AC-9")
@pytest.mark.parametrize("mode", DEFERRED)
def test_returned_by_closed_sessions_is_not_a_failure(harness: Harness, queue: Queue, mode: int) -> None:
    """Only failures count towards the limit of redeliveries, not earlier deliveries."""
    send_texts(harness.connect().create_session(), queue, "held")
    for _ in range(10):
        holding = deferred_session(harness, mode)
        assert receive_texts(holding.create_consumer(queue), 1) == ["held"]
        holding.close()
    failing = deferred_session(harness, mode)
    consumer = failing.create_consumer(queue)
    assert receive_texts(consumer, 1) == ["held"]
    if mode == SESSION_TRANSACTED:
        failing.rollback()
    else:
        failing.recover()
    assert receive_texts(consumer, 1) == ["held"]


# -- the SPI alone


@level("contract")
@promise(11)
@pytest.mark.parametrize("outcome", [Outcome.RELEASED, Outcome.FAILED])
def test_contract_returned_by_consumers_is_kept(harness: Harness, outcome: Outcome) -> None:
    address = harness.address()
    link = harness.open_link()
    send_texts_to(link, address, *TEXTS[:10])
    channel = link.channel(False)
    for _ in range(ROUNDS):
        subscription, box = subscribe(channel, address, 10, window=10)
        box.wait(10)
        drain(subscription)
        settle(subscription, box.tokens, outcome)
        subscription.close()
    assert sorted(fetch(link, address, 10)) == TEXTS[:10]


@level("contract")
@promise(11)
def test_contract_returned_by_closed_channels_is_kept(harness: Harness) -> None:
    address = harness.address()
    link = harness.open_link()
    send_texts_to(link, address, *TEXTS[:10])
    for _ in range(ROUNDS):
        channel = link.channel(False)
        _, box = subscribe(channel, address, 10, window=10)
        box.wait(10)
        channel.close()
    assert sorted(fetch(link, address, 10)) == TEXTS[:10]


@level("contract")
@promise(11)
def test_contract_returned_by_closed_links_is_kept(harness: Harness) -> None:
    address = harness.address()
    send_texts_to(harness.open_link(), address, *TEXTS[:10])
    for _ in range(ROUNDS):
        link = harness.open_link()
        _, box = subscribe(link.channel(False), address, 10, window=10)
        box.wait(10)
        link.close()
    assert sorted(fetch(harness.open_link(), address, 10)) == TEXTS[:10]


@level("contract")
@promise(Outcome.REQUEUED)
@requires(Native.FAIL)
def test_contract_returned_by_requeue_is_counted(harness: Harness) -> None:
    """A requeued message counts as delivered; if the backend counts failures, their number is exact."""
    address = harness.address()
    link = harness.open_link()
    send_texts_to(link, address, "a")
    channel = link.channel(False)
    subscription, box = subscribe(channel, address, 1)
    (first,) = box.wait(1)
    subscription.settle([first.token], Outcome.REQUEUED, None, 2)
    subscription.grant(1)
    again = box.wait(2)[1]
    assert again.redelivered
    assert again.delivery_count >= 2
    if again.failures is not None:
        assert again.failures == 2
    if Native.DELIVERY_COUNT in harness.native:
        assert again.delivery_count == 4
    settle(subscription, [again.token], Outcome.ACCEPTED)
    subscription.close()
    channel.close()
