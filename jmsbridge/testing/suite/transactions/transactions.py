"""Local transactions: rules TX-1 to TX-7."""

import time

import pytest

from jmsbridge import (
    AUTO_ACKNOWLEDGE,
    CLIENT_ACKNOWLEDGE,
    DUPS_OK_ACKNOWLEDGE,
    INDIVIDUAL_ACKNOWLEDGE,
    SESSION_TRANSACTED,
    Message,
    Queue,
    Session,
    TextMessage,
    Topic,
)
from jmsbridge.errors import IllegalStateException, IllegalStateRuntimeException, InDoubt, TransactionRolledBack
from jmsbridge.spi.native import Native
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.marks import pitfall, requires, rule
from jmsbridge.testing.suite.receiving.redelivery_support import (
    deferred_session,
    deliveries,
    delivery,
    left,
    returned,
    take,
    unseen,
)
from jmsbridge.testing.suite.support import Collector, Completions, assert_empty, receive_texts, send_texts


def transacted_session(harness: Harness) -> Session:
    """A transacted session of a new connection."""
    return deferred_session(harness, SESSION_TRANSACTED)


@rule("TX-1")
@requires(Native.TRANSACTIONS)
def test_tx_next_begins_at_once(harness: Harness, session: Session, queue: Queue) -> None:
    """Commit and rollback end one transaction and begin the next."""
    transacted = transacted_session(harness)
    consumer = session.create_consumer(queue)
    send_texts(transacted, queue, "a")
    transacted.commit()
    send_texts(transacted, queue, "b")
    transacted.rollback()
    send_texts(session, other := harness.queue("other"), "received in it")
    assert receive_texts(transacted.create_consumer(other), 1) == ["received in it"]
    send_texts(transacted, queue, "c")
    transacted.commit()
    assert receive_texts(consumer, 2) == ["a", "c"]
    send_texts(transacted, queue, "d")
    assert_empty(consumer)


@rule("TX-1")
@requires(Native.TRANSACTIONS)
def test_tx_empty_ends_are_fine(harness: Harness, session: Session, queue: Queue) -> None:
    """An empty transaction can be committed and rolled back, repeatedly."""
    transacted = transacted_session(harness)
    assert transacted.transacted is True
    transacted.commit()
    transacted.rollback()
    transacted.rollback()
    transacted.commit()
    send_texts(transacted, queue, "a")
    transacted.commit()
    assert receive_texts(session.create_consumer(queue), 1) == ["a"]


@rule("TX-1")
@requires(Native.TRANSACTIONS)
def test_tx_acknowledge_mode_is_ignored_when_transacted(harness: Harness) -> None:
    """Any acknowledgement mode is accepted beside transacted and reads back as SESSION_TRANSACTED."""
    connection = harness.connect()
    for mode in (AUTO_ACKNOWLEDGE, CLIENT_ACKNOWLEDGE, -1):
        assert connection.create_session(True, mode).acknowledge_mode == SESSION_TRANSACTED


@rule("TX-2")
@requires(Native.TRANSACTIONS)
def test_tx_commit_makes_sends_visible(harness: Harness, session: Session, queue: Queue) -> None:
    """Messages are visible after the commit, in order, and not before."""
    transacted = transacted_session(harness)
    consumer = session.create_consumer(queue)
    send_texts(transacted, queue, "a", "b")
    assert_empty(consumer)
    transacted.commit()
    assert deliveries(consumer, 2) == [("a", False, 1), ("b", False, 1)]


@rule("TX-2")
@requires(Native.TRANSACTIONS)
def test_tx_rollback_destroys_sends(harness: Harness, session: Session, queue: Queue) -> None:
    """Messages sent before a rollback are never delivered."""
    transacted = transacted_session(harness)
    send_texts(transacted, queue, "a", "b")
    transacted.rollback()
    transacted.commit()
    assert left(harness, queue, 0) == []


@rule("TX-2")
@requires(Native.TRANSACTIONS)
def test_tx_commit_settles_received(harness: Harness, session: Session, queue: Queue) -> None:
    """A commit acknowledges the messages received before it, and no others."""
    transacted = transacted_session(harness)
    consumer = transacted.create_consumer(queue)
    send_texts(session, queue, "a", "b", "c")
    assert receive_texts(consumer, 2) == ["a", "b"]
    transacted.commit()
    transacted.rollback()
    transacted.close()
    assert left(harness, queue, 1) == [unseen(harness, "c")]


@rule("TX-2")
@requires(Native.TRANSACTIONS)
@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_tx_covers_queues_and_topics_together(
    harness: Harness, session: Session, queue: Queue, topic: Topic, end: str
) -> None:
    """One transaction covers all producers and consumers of the session, queues and topics."""
    results = harness.queue("results")
    watching, watched = session.create_consumer(topic), session.create_consumer(results)
    transacted = transacted_session(harness)
    orders, news = transacted.create_consumer(queue), transacted.create_consumer(topic)
    send_texts(session, queue, "order")
    send_texts(session, topic, "news")
    assert receive_texts(watching, 1) == receive_texts(news, 1) == ["news"]
    assert receive_texts(orders, 1) == ["order"]
    send_texts(transacted, results, "result")
    send_texts(transacted, topic, "more")
    assert_empty(watching, timeout=0.1)
    if end == "commit":
        transacted.commit()
        assert receive_texts(watched, 1) + receive_texts(watching, 1) == ["result", "more"]
        assert receive_texts(news, 1) == ["more"]
        assert_empty(orders)
    else:
        transacted.rollback()
        assert deliveries(orders, 1) == [("order", True, 2)]
        assert deliveries(news, 1) == [("news", True, 2)]
        assert_empty(watched)
        assert_empty(watching)


@rule("TX-3")
@pitfall(3)
@requires(Native.TRANSACTIONS)
def test_tx_rollback_redelivers_in_order(harness: Harness, session: Session, queue: Queue) -> None:
    """Rolled back messages come again in their order, before those of the same sender that are newer."""
    transacted = transacted_session(harness)
    consumer = transacted.create_consumer(queue)
    producer = session.create_producer(queue)
    for text in "abcd":
        producer.send(session.create_text_message(text))
    assert receive_texts(consumer, 3) == ["a", "b", "c"]
    producer.send(session.create_text_message("e"))
    transacted.rollback()
    producer.send(session.create_text_message("f"))
    assert [text for text, _, _ in deliveries(consumer, 6)] == list("abcdef")


@rule("TX-3", "AC-12", "JX-1")
@pitfall(4)
@requires(Native.TRANSACTIONS)
def test_tx_rollback_leaves_prefetched_unmarked(harness: Harness, session: Session, queue: Queue) -> None:
    """Rollback raises the delivery count of received messages, not of those that were only prefetched."""
    transacted = transacted_session(harness)
    consumer = transacted.create_consumer(queue)
    send_texts(session, queue, "a", "b", "c")
    assert receive_texts(consumer, 1) == ["a"]
    transacted.rollback()
    assert deliveries(consumer, 3) == [("a", True, 2), ("b", False, 1), ("c", False, 1)]


@rule("TX-2", "AC-5")
@requires(Native.TRANSACTIONS)
def test_tx_rollback_after_partial_commit(harness: Harness, session: Session, queue: Queue) -> None:
    """Only what came after the last commit comes again."""
    transacted = transacted_session(harness)
    consumer = transacted.create_consumer(queue)
    send_texts(session, queue, "a", "b", "c")
    assert receive_texts(consumer, 1) == ["a"]
    transacted.commit()
    assert receive_texts(consumer, 1) == ["b"]
    transacted.rollback()
    assert deliveries(consumer, 2) == [("b", True, 2), ("c", False, 1)]


@rule("OR-1", "TX-2")
@pitfall(17)
@requires(Native.TRANSACTIONS)
def test_tx_several_producers_keep_order(harness: Harness, session: Session, queue: Queue) -> None:
    """Producers of one transacted session take turns; the committed messages are in send order."""
    transacted = transacted_session(harness)
    producers = [transacted.create_producer(queue), transacted.create_producer(queue), transacted.create_producer(None)]
    for number in range(12):
        message = transacted.create_text_message(str(number))
        if number % 3 == 2:
            producers[2].send(queue, message)
        else:
            producers[number % 3].send(message)
    transacted.commit()
    assert receive_texts(session.create_consumer(queue), 12) == [str(number) for number in range(12)]


@rule("TX-4")
@pytest.mark.parametrize("mode", [AUTO_ACKNOWLEDGE, CLIENT_ACKNOWLEDGE, DUPS_OK_ACKNOWLEDGE, INDIVIDUAL_ACKNOWLEDGE])
def test_tx_not_transacted(harness: Harness, mode: int) -> None:
    """A session that is not transacted has nothing to commit or roll back."""
    plain = harness.connect().create_session(acknowledge_mode=mode)
    assert plain.transacted is False
    with pytest.raises(IllegalStateException):
        plain.commit()
    with pytest.raises(IllegalStateException):
        plain.rollback()


@rule("TX-4")
def test_tx_not_transacted_context(harness: Harness) -> None:
    """The same in the simplified API, unchecked."""
    context = harness.context(CLIENT_ACKNOWLEDGE)
    with pytest.raises(IllegalStateRuntimeException):
        context.commit()
    with pytest.raises(IllegalStateRuntimeException):
        context.rollback()


@rule("TX-4")
@requires(Native.TRANSACTIONS)
def test_tx_failed_commit_rolls_back(harness: Harness, session: Session, queue: Queue) -> None:
    """A commit that ended in a rollback raises TransactionRolledBack, and the session has a new transaction."""
    transacted = deferred_session(harness, SESSION_TRANSACTED, reconnect_delay=0.01)
    consumer = transacted.create_consumer(queue)
    send_texts(session, queue, "in")
    assert receive_texts(consumer, 1) == ["in"]
    results = harness.queue("results")
    send_texts(transacted, results, "lost")
    harness.cut()
    with pytest.raises((TransactionRolledBack, InDoubt)):  # in doubt where the commit was written to the dead link
        transacted.commit()
    for _ in range(20):  # until the new link is there, a transaction may fail the same way again
        assert delivery(take(consumer))[:2] == ("in", True)
        send_texts(transacted, results, "kept")
        try:
            transacted.commit()
            break
        except TransactionRolledBack:
            continue  # Not yet there: once more.
    transacted.close()
    assert left(harness, results, 1) == [("kept", False, 1)]
    assert left(harness, queue, 0) == []


@rule("TX-4", "AS-2")
@pitfall(21)
@requires(Native.TRANSACTIONS)
def test_tx_failed_commit_completes_each_send_once(harness: Harness, queue: Queue) -> None:
    """Asynchronous sends of a lost transaction have one outcome each, and none of their messages is visible."""
    transacted = deferred_session(harness, SESSION_TRANSACTED, reconnect_attempts=0)
    producer = transacted.create_producer(queue)
    listener = Completions()
    messages = [transacted.create_text_message(str(number)) for number in range(5)]
    for message in messages:
        producer.send(message, completion_listener=listener)
    harness.cut()
    with pytest.raises((TransactionRolledBack, InDoubt)):
        transacted.commit()
    assert listener.messages == messages
    assert left(harness, queue, 0) == []


@rule("TX-5")
@requires(Native.TRANSACTIONS)
@pytest.mark.parametrize("closed", ["session", "connection"])
def test_tx_close_rolls_back(harness: Harness, session: Session, queue: Queue, closed: str) -> None:
    """Closing the session or connection rolls back: sends are dropped, received messages are delivered again."""
    results = harness.queue("results")
    connection = harness.connect()
    transacted = connection.create_session(transacted=True)
    consumer = transacted.create_consumer(queue)
    send_texts(session, queue, "a", "b")
    assert receive_texts(consumer, 1) == ["a"]
    send_texts(transacted, results, "result")
    (transacted if closed == "session" else connection).close()
    assert left(harness, queue, 2) == [returned(harness, "a"), unseen(harness, "b")]
    assert left(harness, results, 0) == []


@rule("TX-6")
@requires(Native.TRANSACTIONS)
def test_tx_own_sends_are_not_received(harness: Harness, queue: Queue) -> None:
    """A session does not receive what it sent in the same transaction, so no request and reply fit in one."""
    transacted = transacted_session(harness)
    consumer = transacted.create_consumer(queue)
    send_texts(transacted, queue, "request")
    assert_empty(consumer)
    transacted.commit()
    assert deliveries(consumer, 1) == [("request", False, 1)]


@rule("TX-7", "HD-4")
@requires(Native.TRANSACTIONS)
def test_tx_timestamps_are_of_the_send(harness: Harness, session: Session, queue: Queue) -> None:
    """Timestamp, expiration and delivery time are those of the send call, the same on both sides."""
    transacted = transacted_session(harness)
    consumer = session.create_consumer(queue)
    before = int(time.time() * 1000)
    [sent] = send_texts(transacted, queue, "a", time_to_live=60)
    after = int(time.time() * 1000) + 1
    assert_empty(consumer, timeout=0.1)
    transacted.commit()
    got = take(consumer)
    assert before <= sent.jms_timestamp <= after
    assert before + 60_000 <= sent.jms_expiration <= after + 60_000
    assert got.jms_timestamp == sent.jms_timestamp
    assert got.jms_expiration == sent.jms_expiration
    assert got.jms_delivery_time == sent.jms_delivery_time


@rule("TX-7", "EX-1")
@pitfall(19)
@requires(Native.TRANSACTIONS)
@requires(Native.EXPIRY)
def test_tx_expiration_counts_from_send(harness: Harness, session: Session, queue: Queue) -> None:
    """A message that expired between send and commit is not delivered."""
    transacted = transacted_session(harness)
    consumer = session.create_consumer(queue)
    send_texts(transacted, queue, "short", time_to_live=0.1)
    send_texts(transacted, queue, "long", time_to_live=60)
    assert_empty(consumer)
    transacted.commit()
    assert receive_texts(consumer, 1) == ["long"]
    assert_empty(consumer)


@rule("TX-7", "HD-6")
@pitfall(19)
@requires(Native.TRANSACTIONS)
@requires(Native.DELAY)
def test_tx_delay_counts_from_send(harness: Harness, session: Session, queue: Queue) -> None:
    """A message whose delay ended before the commit is delivered at once."""
    transacted = transacted_session(harness)
    producer = transacted.create_producer(queue)
    producer.delivery_delay = 1.0
    consumer = session.create_consumer(queue)
    before = int(time.time() * 1000)
    message = transacted.create_text_message("a")
    producer.send(message)
    after = int(time.time() * 1000) + 1
    assert before + 1000 <= message.jms_delivery_time <= after + 1000
    assert_empty(consumer, timeout=1.05)
    transacted.commit()
    got = take(consumer, timeout=0.5)
    assert got.jms_delivery_time == message.jms_delivery_time


@rule("TX-1")
@pitfall(16)
@requires(Native.TRANSACTIONS)
def test_tx_commit_inside_listener(harness: Harness, session: Session, queue: Queue) -> None:
    """A listener may forward and commit each message; none is lost, duplicated or reordered."""
    results = harness.queue("results")
    transacted = transacted_session(harness)
    producer = transacted.create_producer(results)

    def forward(message: Message) -> None:
        assert isinstance(message, TextMessage)
        producer.send(transacted.create_text_message(f"re: {message.text}"))
        transacted.commit()

    consumer = session.create_consumer(results)
    transacted.create_consumer(queue).message_listener = Collector(forward)
    texts = [str(number) for number in range(20)]
    send_texts(session, queue, *texts)
    assert receive_texts(consumer, 20) == [f"re: {text}" for text in texts]
    transacted.close()
    assert left(harness, queue, 0) == []


@rule("TX-2")
@pitfall(16)
@requires(Native.TRANSACTIONS)
def test_tx_rollback_inside_listener(harness: Harness, session: Session, queue: Queue) -> None:
    """A listener may roll back: its sends are dropped, and its message is redelivered and marked so."""

    results = harness.queue("results")
    transacted = transacted_session(harness)
    producer = transacted.create_producer(results)

    def second_try(message: Message) -> None:
        text, redelivered, count = delivery(message)
        producer.send(transacted.create_text_message(f"{text} {count}"))
        if redelivered:
            transacted.commit()
        else:
            transacted.rollback()

    collector = Collector(second_try)
    transacted.create_consumer(queue).message_listener = collector
    send_texts(session, queue, "a")
    collector.wait(2)
    transacted.close()
    assert [delivery(message) for message in collector.messages] == [("a", False, 1), ("a", True, 2)]
    assert left(harness, results, 1) == [("a 2", False, 1)]
    assert left(harness, queue, 0) == []


@rule("TX-2", "AS-8")
@pitfall(16)
@requires(Native.TRANSACTIONS)
def test_tx_commit_includes_pending_sends(harness: Harness, session: Session, queue: Queue) -> None:
    """Asynchronous sends before the commit are part of it, however long they took."""
    transacted = transacted_session(harness)
    producer = transacted.create_producer(queue)
    listener = Completions()
    texts = [str(number) for number in range(50)]
    for text in texts:
        producer.send(transacted.create_text_message(text), completion_listener=listener)
    transacted.commit()
    assert len(listener.events) == 50
    assert receive_texts(session.create_consumer(queue), 50) == texts


@rule("TX-2")
@requires(Native.TRANSACTIONS)
def test_tx_context_commits_and_rolls_back(harness: Harness, session: Session, queue: Queue) -> None:
    """A transacted context: its producers and consumers share the transaction."""
    context = harness.context(SESSION_TRANSACTED)
    results = harness.queue("results")
    consumer = context.create_consumer(queue)
    send_texts(session, queue, "a")
    for end in (context.rollback, context.commit):
        assert receive_texts(consumer, 1) == ["a"]
        context.create_producer().send(results, "result")
        end()
    assert context.transacted is True
    context.close()
    assert left(harness, results, 1) == [("result", False, 1)]
    assert left(harness, queue, 0) == []


@rule("AS-8")
@requires(Native.TRANSACTIONS)
def test_tx_async_callbacks_precede_commit(harness: Harness, session: Session, queue: Queue) -> None:
    """Each message of a transaction has its callback, and commit returns after the last of them."""
    transacted = deferred_session(harness, SESSION_TRANSACTED)
    producer = transacted.create_producer(queue)
    consumer = session.create_consumer(queue)
    listener = Completions()
    messages = [transacted.create_text_message(str(number)) for number in range(10)]
    for message in messages:
        producer.send(message, completion_listener=listener)
    assert_empty(consumer, timeout=0.1)
    transacted.commit()
    assert listener.events == [("completed", message) for message in messages]
    assert receive_texts(consumer, 10) == [str(number) for number in range(10)]


@rule("AS-8")
@requires(Native.TRANSACTIONS)
def test_tx_async_rollback(harness: Harness, queue: Queue) -> None:
    """Rollback too waits for the callbacks, one per message; then the messages are gone and usable again."""
    transacted = deferred_session(harness, SESSION_TRANSACTED)
    producer = transacted.create_producer(queue)
    listener = Completions()
    messages = [transacted.create_text_message(str(number)) for number in range(10)]
    for message in messages:
        producer.send(message, completion_listener=listener)
    transacted.rollback()
    assert listener.messages == messages
    assert messages[0].text == "0"
    transacted.close()
    assert left(harness, queue, 0) == []
