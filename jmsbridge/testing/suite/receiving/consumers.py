"""Synchronous receiving: waits and their ends, credit, stopped connections, no_local (sections 6.1, 8.4 and 8.5)."""

import time
from datetime import timedelta

import pytest

from jmsbridge import (
    CLIENT_ACKNOWLEDGE,
    Connection,
    IllegalStateException,
    IllegalStateRuntimeException,
    Message,
    Queue,
    Session,
    Topic,
)
from jmsbridge.spi import Native
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.marks import pitfall, requires, rule
from jmsbridge.testing.suite.receiving.redelivery_support import delivery, unseen
from jmsbridge.testing.suite.support import (
    LONG,
    SHORT,
    Collector,
    assert_empty,
    eventually,
    receive_at_once,
    receive_texts,
    run_thread,
    send_coloured,
    send_texts,
)


def text_of(message: Message | None) -> str | None:
    """The text of a message; None for None."""
    return None if message is None else str(message.get_body(str))


@rule("CN-6")
def test_recv_timeout_ends_with_none(session: Session, queue: Queue) -> None:
    """receive returns None after the time-out, not earlier; it is a float of seconds or a timedelta."""
    consumer = session.create_consumer(queue)
    for timeout in (0.1, timedelta(milliseconds=100)):
        begin = time.monotonic()
        assert consumer.receive(timeout=timeout) is None
        assert 0.09 <= time.monotonic() - begin < LONG


@rule("CN-6", "CN-7")
def test_recv_zero_timeout_is_no_wait(session: Session, queue: Queue) -> None:
    """A time-out of 0 returns at once; in Java it would wait for ever."""
    consumer = session.create_consumer(queue)
    assert run_thread(lambda: consumer.receive(timeout=0)).result(LONG) is None
    send_texts(session, queue, "there")
    assert text_of(consumer.receive(timeout=0)) == "there"


@rule("CN-6")
def test_recv_waits_for_ever(harness: Harness, session: Session, queue: Queue) -> None:
    """Without a timeout receive returns when a message comes, however late."""
    consumer = harness.connect().create_session().create_consumer(queue)
    pending = run_thread(consumer.receive)
    with pytest.raises(TimeoutError):
        pending.result(SHORT)
    send_texts(session, queue, "at last")
    assert text_of(pending.result(LONG)) == "at last"


@rule("CN-6")
def test_recv_waits_for_what_comes(harness: Harness, session: Session, queue: Queue) -> None:
    """A timed receive returns as soon as the message is there."""
    consumer = harness.connect().create_session().create_consumer(queue)
    pending = run_thread(lambda: consumer.receive(timeout=60))
    send_texts(session, queue, "early")
    assert text_of(pending.result(LONG)) == "early"


@rule("CN-6")
@pytest.mark.parametrize("timeout", [None, 60.0])
def test_recv_close_from_elsewhere_ends_receive(harness: Harness, queue: Queue, timeout: float | None) -> None:
    """close from another thread ends a waiting receive with None."""
    consumer = harness.connect().create_session().create_consumer(queue)
    pending = run_thread(lambda: consumer.receive(timeout=timeout))
    with pytest.raises(TimeoutError):
        pending.result(0.05)
    consumer.close()
    assert pending.result(LONG) is None


@rule("CN-6")
def test_recv_close_from_elsewhere_ends_iteration(harness: Harness, session: Session, queue: Queue) -> None:
    """``for message in consumer`` ends when the consumer is closed, without exception and without losing a message."""
    consumer = harness.connect().create_session().create_consumer(queue)
    seen = Collector()

    def loop() -> str:
        for message in consumer:
            seen(message)
        return "ended"

    pending = run_thread(loop)
    send_texts(session, queue, "1", "2")
    seen.wait(2)
    consumer.close()
    assert pending.result(LONG) == "ended"
    assert seen.texts == ["1", "2"]


@rule("CN-6")
def test_recv_iteration_in_order(session: Session, queue: Queue) -> None:
    """A loop takes one message per round; leaving it leaves the rest on the queue."""
    send_texts(session, queue, "1", "2", "3", "4")
    seen: list[str | None] = []
    with session.create_consumer(queue) as consumer:
        for message in consumer:
            seen.append(text_of(message))
            if len(seen) == 2:
                break
    assert seen == ["1", "2"]
    assert receive_texts(session.create_consumer(queue), 2) == ["3", "4"]


@rule("CN-6")
def test_recv_closed_consumer_is_illegal(session: Session, queue: Queue) -> None:
    consumer = session.create_consumer(queue)
    consumer.close()
    with pytest.raises(IllegalStateException):
        consumer.receive()
    with pytest.raises(IllegalStateException):
        consumer.receive(timeout=SHORT)
    with pytest.raises(IllegalStateException):
        consumer.receive_no_wait()


@rule("CN-6")
def test_recv_closed_context_consumer_is_illegal(harness: Harness, queue: Queue) -> None:
    consumer = harness.context().create_consumer(queue)
    consumer.close()
    with pytest.raises(IllegalStateRuntimeException):
        consumer.receive(timeout=SHORT)
    with pytest.raises(IllegalStateRuntimeException):
        consumer.receive_body(str, timeout=SHORT)


@rule("CN-7")
@pitfall(9)
@requires(Native.DRAIN)
def test_recv_no_wait_sees_the_backlog(harness: Harness, session: Session, queue: Queue) -> None:
    """The first call of a new consumer returns a message that is at the broker, although none is prefetched yet."""
    for text in ("first", "second", "third"):
        send_texts(session, queue, text)
        with session.create_consumer(queue) as consumer:
            assert [text_of(message) for message in receive_at_once(harness, consumer, 1)] == [text]


@rule("CN-7")
@requires(Native.DRAIN)
@pytest.mark.parametrize("prefetch", [0, 1, 250])
def test_recv_no_wait_takes_all_then_none(harness: Harness, session: Session, queue: Queue, prefetch: int) -> None:
    """With any prefetch: all messages in order, None when the queue is empty, and later messages when they are sent."""
    send_texts(session, queue, "1", "2", "3")
    consumer = harness.connect().create_session().create_consumer(queue, prefetch=prefetch)
    assert [text_of(message) for message in receive_at_once(harness, consumer, 3)] == ["1", "2", "3"]
    assert [consumer.receive_no_wait() for _ in range(2)] == [None, None]
    send_texts(session, queue, "4")
    assert [text_of(message) for message in receive_at_once(harness, consumer, 1)] == ["4"]


@rule("OR-4")
def test_recv_one_message_each(harness: Harness, session: Session, queue: Queue) -> None:
    """Two consumers of a queue never get the same message; the broker decides how many each gets."""
    consumers = [harness.connect().create_session().create_consumer(queue, prefetch=1) for _ in range(2)]
    texts = [str(number) for number in range(8)]
    send_texts(session, queue, *texts)
    taken: list[str | None] = []

    def take_all() -> bool:
        messages = [consumer.receive(timeout=SHORT) for consumer in consumers]
        taken.extend(text_of(message) for message in messages if message is not None)
        return len(taken) >= len(texts)

    eventually(take_all)
    assert sorted(map(str, taken)) == texts
    assert [consumer.receive_no_wait() for consumer in consumers] == [None, None]


@rule("AC-13")
def test_recv_prefetch_zero_fetches_singly(harness: Harness, session: Session, queue: Queue) -> None:
    """With prefetch 0 a consumer takes only the message that it receives; others get the rest at once."""
    send_texts(session, queue, "1", "2", "3")
    frugal = harness.connect().create_session().create_consumer(queue, prefetch=0)
    assert receive_texts(frugal, 1) == ["1"]
    assert receive_texts(session.create_consumer(queue), 2) == ["2", "3"]
    assert frugal.receive_no_wait() is None


@rule("AC-13")
def test_recv_prefetch_zero_leaves_no_credit_behind(harness: Harness, session: Session, queue: Queue) -> None:
    """After a receive with prefetch 0 has timed out, a later message goes to a consumer that waits."""
    frugal = harness.connect().create_session().create_consumer(queue, prefetch=0)
    assert frugal.receive(timeout=0.05) is None
    assert frugal.receive_no_wait() is None
    send_texts(session, queue, "1", "2", "3")
    assert receive_texts(session.create_consumer(queue), 3) == ["1", "2", "3"]


@rule("AC-13")
def test_recv_prefetch_zero_with_listener(harness: Harness, session: Session, queue: Queue) -> None:
    """A listener without prefetch still gets everything, in order."""
    listener = Collector()
    harness.connect().create_session().create_consumer(queue, prefetch=0).message_listener = listener
    send_texts(session, queue, *"abcdef")
    listener.wait(6)
    assert listener.texts == list("abcdef")


@rule("AC-13")
@requires(Native.CREDIT)
def test_recv_prefetch_bounds_what_a_consumer_holds(harness: Harness, session: Session, queue: Queue) -> None:
    """A consumer with prefetch 2 that takes one message holds back two more at most."""
    texts = [str(number) for number in range(8)]
    bounded = harness.connect().create_session(acknowledge_mode=CLIENT_ACKNOWLEDGE).create_consumer(queue, prefetch=2)
    send_texts(session, queue, *texts)
    assert receive_texts(bounded, 1) == ["0"]
    with session.create_consumer(queue) as other:
        # which messages these are depends on when the bounded consumer grants credit; there are at least five
        taken = receive_texts(other, 5)
    assert taken == sorted(taken)
    assert sorted([*taken, *receive_texts(bounded, 2)]) == texts[1:]


@rule("CN-1")
@pitfall(10)
def test_recv_stopped_connection_takes_nothing(harness: Harness, session: Session, queue: Queue) -> None:
    """A consumer of a connection that was never started must not hold back messages from the others."""
    stopped = harness.connect(start=False).create_session().create_consumer(queue)
    send_texts(session, queue, "1", "2", "3")
    assert receive_texts(session.create_consumer(queue), 3) == ["1", "2", "3"]
    assert stopped.receive_no_wait() is None


@rule("CN-1")
def test_recv_stopped_connection_delivers_nothing(harness: Harness, session: Session, queue: Queue) -> None:
    """On a stopped connection neither receive nor receive_no_wait returns a message, until start."""
    send_texts(session, queue, "waiting")
    connection = harness.connect(start=False)
    consumer = connection.create_session().create_consumer(queue)
    assert consumer.receive_no_wait() is None
    assert consumer.receive(timeout=0.05) is None
    pending = run_thread(lambda: consumer.receive(timeout=LONG))
    connection.start()
    assert text_of(pending.result(LONG)) == "waiting"


@rule("CN-4", "CN-6")
def test_recv_stopping_ends_delivery(connection: Connection, session: Session, queue: Queue) -> None:
    """After stop no receive returns a message, prefetched or not; time-outs continue, and start delivers all."""
    consumer = session.create_consumer(queue)
    send_texts(session, queue, "1", "2", "3")
    assert receive_texts(consumer, 1) == ["1"]
    connection.stop()
    assert consumer.receive_no_wait() is None
    assert consumer.receive(timeout=0.05) is None
    send_texts(session, queue, "4")
    connection.start()
    assert receive_texts(consumer, 3) == ["2", "3", "4"]


@rule("BR-3", "AC-12")
@pitfall(11)
@requires(Native.DRAIN)
def test_recv_closed_consumer_releases_messages_in_order(harness: Harness, session: Session, queue: Queue) -> None:
    """Messages that a closed consumer had prefetched are at once available to others, unmarked and in order."""
    send_texts(session, queue, "1", "2", "3", "4")
    with session.create_consumer(queue) as consumer:
        assert receive_texts(consumer, 1) == ["1"]
    send_texts(session, queue, "5")
    other = harness.connect().create_session().create_consumer(queue)
    rest = receive_at_once(harness, other, 4)
    assert [message.get_body(str) for message in rest] == ["2", "3", "4", "5"]
    assert [delivery(message) for message in rest] == [*(unseen(harness, text) for text in "234"), ("5", False, 1)]


@pitfall(31)
@requires(Native.NO_LOCAL)
@pytest.mark.parametrize("selector", [None, ""])
def test_recv_no_local_hides_the_own_connection(
    harness: Harness, connection: Connection, topic: Topic, selector: str | None
) -> None:
    """With no_local a consumer does not get messages sent by any session of its connection."""
    session, sibling = connection.create_session(), connection.create_session()
    consumer = session.create_consumer(topic, selector, True)
    everything = session.create_consumer(topic, selector, False)
    send_texts(session, topic, "own")
    send_texts(sibling, topic, "sibling")
    send_texts(harness.connect().create_session(), topic, "foreign")
    assert receive_texts(consumer, 1) == ["foreign"]
    assert receive_texts(everything, 3) == ["own", "sibling", "foreign"]
    assert_empty(consumer)


@pitfall(31)
@requires(Native.NO_LOCAL | Native.TOPIC_SELECTORS)
def test_recv_no_local_with_selector(harness: Harness, session: Session, topic: Topic) -> None:
    """Both conditions hold, also when the selector is an OR."""
    consumer = session.create_consumer(topic, "colour = 'red' OR colour = 'blue'", True)
    send_coloured(session, topic, "red", "blue", "green")
    send_coloured(harness.connect().create_session(), topic, "green", "blue", "red")
    assert receive_texts(consumer, 2) == ["blue", "red"]
    assert_empty(consumer)
