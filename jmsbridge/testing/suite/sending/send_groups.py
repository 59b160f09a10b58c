"""Sends confirmed in groups (``send_confirmation = "group"``): the promises are those of sends confirmed one by one.

Where the broker has no transactions of sends each send is confirmed by itself, and the same must hold.
"""

import threading
from typing import Any

import pytest

from jmsbridge import DeliveryMode, Message, Queue, Session
from jmsbridge.errors import InDoubtException, InvalidDestination
from jmsbridge.spi.native import Native
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.marks import requires, rule
from jmsbridge.testing.suite.receiving.redelivery_support import gone_queue
from jmsbridge.testing.suite.support import LONG, Completions, assert_empty, receive_texts, text_of

COUNT = 400
"""More than one group, whatever the broker does."""
TEXTS = [str(number) for number in range(COUNT)]


def grouped(harness: Harness, **options: Any) -> Session:
    """A session that confirms in groups."""
    return harness.connect(send_confirmation="group", **options).create_session()


def outcomes(listener: Completions) -> list[tuple[str, str]]:
    """What became of each message, in the order of the callbacks."""
    return [(event[0], text_of(event[1])) for event in listener.events]


@rule("AS-1", "OR-1", "AS-5")
@requires(Native.SEND_TRANSACTIONS)
def test_send_group_completes_all_in_order(harness: Harness, queue: Queue) -> None:
    session, listener = grouped(harness), Completions()
    producer = session.create_producer(queue)
    for text in TEXTS:
        producer.send(text, completion_listener=listener)
    listener.wait(COUNT)
    assert outcomes(listener) == [("completed", text) for text in TEXTS]
    assert receive_texts(session.create_consumer(queue), COUNT) == TEXTS


@rule("AS-1")
@requires(Native.SEND_TRANSACTIONS)
def test_send_group_completion_means_that_the_message_is_visible(harness: Harness, queue: Queue) -> None:
    """In the callback another connection can receive the message already, and nothing of it before its commit."""
    consumer = harness.connect().create_session().create_consumer(queue)
    seen: list[str | None] = []

    def receive(_: Message) -> None:
        message = consumer.receive(timeout=LONG)
        seen.append(None if message is None else text_of(message))

    listener = Completions(receive)
    producer = grouped(harness).create_producer(queue)
    for text in TEXTS[:20]:
        producer.send(text, completion_listener=listener)
    producer.close()
    assert seen == TEXTS[:20]


@rule("OR-1", "OR-2")
@requires(Native.SEND_TRANSACTIONS)
@pytest.mark.parametrize("blocking", [True, False])
@pytest.mark.parametrize("mode", [DeliveryMode.PERSISTENT, DeliveryMode.NON_PERSISTENT])
def test_send_group_keeps_order_with_other_sends(harness: Harness, queue: Queue, blocking: bool, mode: int) -> None:
    """Sends with and without a listener, that wait or not, of two producers: the session's order."""
    session = grouped(harness, block_on_durable_send=blocking, block_on_non_durable_send=blocking)
    producers = [session.create_producer(queue), session.create_producer(queue)]
    listener = Completions()
    for number, text in enumerate(TEXTS):
        producer = producers[number // 3 % 2]
        if number % 10 in (4, 8):
            producer.send(text, delivery_mode=mode)
        else:
            producer.send(text, delivery_mode=mode, completion_listener=listener)
    assert receive_texts(session.create_consumer(queue), COUNT) == TEXTS
    listener.wait(COUNT - COUNT // 5)
    assert all(what == "completed" for what, _ in outcomes(listener))


@rule("OR-2")
@requires(Native.SEND_TRANSACTIONS)
def test_send_group_comes_before_a_later_synchronous_send(harness: Harness, queue: Queue) -> None:
    """When the synchronous send returns, everything sent before is with the broker."""
    session, listener = grouped(harness), Completions()
    producer = session.create_producer(queue)
    for text in TEXTS[:50]:
        producer.send(text, completion_listener=listener)
    producer.send("synchronous")
    consumer = harness.connect().create_session().create_consumer(queue)
    assert receive_texts(consumer, 51) == [*TEXTS[:50], "synchronous"]


@rule("AS-4", "AS-5")
@requires(Native.SEND_TRANSACTIONS | Native.TEMPORARY, native=True)
def test_send_group_with_a_refused_message(harness: Harness, queue: Queue) -> None:
    """Only the message that the broker refuses fails; those sent with it arrive once, and in order."""
    gone = gone_queue(harness)
    session, listener = grouped(harness), Completions()
    producer = session.create_producer(None)
    for number, text in enumerate(TEXTS[:60]):
        producer.send(gone if number in (7, 30) else queue, text, completion_listener=listener)
    listener.wait(60)
    failed = ["7", "30"]
    assert outcomes(listener) == [("failed" if text in failed else "completed", text) for text in TEXTS[:60]]
    errors = [event[2] for event in listener.events if event[0] == "failed"]
    assert all(isinstance(error, InvalidDestination) for error in errors)
    consumer = session.create_consumer(queue)
    assert receive_texts(consumer, 58) == [text for text in TEXTS[:60] if text not in failed]
    assert_empty(consumer)


@rule("CL-8")
@requires(Native.SEND_TRANSACTIONS)
@pytest.mark.parametrize("what", ["producer", "session", "connection"])
def test_send_group_is_finished_by_close(harness: Harness, queue: Queue, what: str) -> None:
    """Close returns after the last callback."""
    session, listener = grouped(harness), Completions()
    producer = session.create_producer(queue)
    for text in TEXTS:
        producer.send(text, completion_listener=listener)
    closing = {"producer": producer.close, "session": session.close, "connection": session.connection.close}
    closing[what]()
    assert outcomes(listener) == [("completed", text) for text in TEXTS]
    assert receive_texts(harness.connect().create_session().create_consumer(queue), COUNT) == TEXTS


@rule("TX-1")
@requires(Native.SEND_TRANSACTIONS)
@pytest.mark.filterwarnings("ignore::jmsbridge.EmulationWarning")
def test_send_group_leaves_transactions_alone(harness: Harness, queue: Queue) -> None:
    """A transacted session sends at its commit, and not before."""
    session = harness.connect(send_confirmation="group").create_session(transacted=True)
    consumer = harness.connect().create_session().create_consumer(queue)
    producer, listener = session.create_producer(queue), Completions()
    producer.send("rolled back", completion_listener=listener)
    session.rollback()
    producer.send("committed", completion_listener=listener)
    listener.wait(2)
    assert_empty(consumer)
    session.commit()
    assert receive_texts(consumer, 1) == ["committed"]
    assert_empty(consumer)


@rule("AS-4")
@requires(Native.SEND_TRANSACTIONS | Native.DUPLICATE_DETECTION)
def test_send_group_with_duplicates(harness: Harness, queue: Queue) -> None:
    """A duplicate within a group, and one of an earlier group, complete and do not arrive again."""
    session, listener = grouped(harness), Completions()
    producer = session.create_producer(queue)
    for _ in range(2):
        for text in ("a", "b", "a", "c"):
            producer.send(text, duplicate_id=f"{queue.queue_name}-{text}", completion_listener=listener)
        producer.send("between")
    listener.wait(8)
    assert [what for what, _ in outcomes(listener)] == ["completed"] * 8
    consumer = session.create_consumer(queue)
    assert receive_texts(consumer, 5) == ["a", "b", "c", "between", "between"]
    assert_empty(consumer)


@rule("AS-4", "AS-5")
@requires(Native.SEND_TRANSACTIONS)
def test_send_group_and_a_lost_link(harness: Harness, queue: Queue) -> None:
    """Each send has one callback, in order; what completed is there, and what failed as certainly not sent is not."""
    session = grouped(harness, reconnect_delay=0.01, reconnect_delay_max=0.1, send_timeout=4 * LONG)
    producer, listener = session.create_producer(queue), Completions()
    many, sent = threading.Event(), list[str]()

    def cut() -> None:
        for _ in range(3):
            assert many.wait(LONG)
            many.clear()
            harness.cut()

    cutting = threading.Thread(target=cut)
    cutting.start()
    while cutting.is_alive() or len(sent) < COUNT:
        producer.send(str(len(sent)), completion_listener=listener)
        sent.append(str(len(sent)))
        if len(sent) % 50 == 0:
            many.set()
    cutting.join(LONG)
    session.close()
    assert [text for _, text in outcomes(listener)] == sent
    done = {text for what, text in outcomes(listener) if what == "completed"}
    failed = [event for event in listener.events if event[0] == "failed"]
    doubtful = {text_of(event[1]) for event in failed if isinstance(event[2], InDoubtException)}
    consumer = harness.connect().create_session().create_consumer(queue)
    got, missing = list[str](), set(done)
    while (message := consumer.receive(timeout=LONG if missing else 1.0)) is not None:
        got.append(text_of(message))
        missing.discard(got[-1])
    assert not missing, f"completed and not there: {sorted(missing)}"
    assert set(got) <= done | doubtful, f"failed and there: {sorted(set(got) - done - doubtful)}"
    assert len(set(got)) == len(got), "something came twice"


@requires(Native.SEND_TRANSACTIONS)
def test_send_group_is_listed_among_the_capabilities(harness: Harness) -> None:
    """Native where the broker has transactions; elsewhere each send is confirmed by itself."""
    connection = harness.connect(send_confirmation="group")
    has_transactions = Native.SEND_TRANSACTIONS in harness.native
    assert connection.capabilities["send_groups"].outcome == ("native" if has_transactions else "emulated")
