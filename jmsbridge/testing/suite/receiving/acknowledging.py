"""When a message counts as acknowledged, in the modes of Jakarta Messaging: rules AC-1 to AC-5 and AC-10 to AC-13.

To observe acknowledgements, a case cuts the network or closes the session, and another connection receives what is
left. After a cut only the texts are compared, because a broker cannot know which messages the application had seen.
"""

import threading
from typing import Any

import pytest

from jmsbridge import (
    AUTO_ACKNOWLEDGE,
    CLIENT_ACKNOWLEDGE,
    DUPS_OK_ACKNOWLEDGE,
    SESSION_TRANSACTED,
    Message,
    Queue,
    Session,
    Topic,
)
from jmsbridge.errors import IllegalStateException
from jmsbridge.spi.native import Native
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.marks import pitfall, requires, rule
from jmsbridge.testing.suite.receiving.redelivery_support import (
    DEFERRED,
    deferred_session,
    deliveries,
    delivery,
    left,
    lossy_session,
    returned,
    take,
    texts_after_cut,
    unseen,
)
from jmsbridge.testing.suite.support import LONG, Collector, assert_empty, receive_texts, send_texts

# -- AUTO ------------------------------------------------------------------------------------------------------------


@rule("AC-1")
@requires(Native.SETTLE_CONFIRM)
@pitfall(8)
def test_ack_auto_receive_settles_before_returning(harness: Harness, session: Session, queue: Queue) -> None:
    """A message that receive returned is acknowledged; messages behind it are not."""
    consumer = lossy_session(harness, AUTO_ACKNOWLEDGE).create_consumer(queue)
    send_texts(session, queue, "a", "b")
    assert receive_texts(consumer, 1) == ["a"]
    assert texts_after_cut(harness, queue, 1) == ["b"]


@rule("AC-1")
@requires(Native.SETTLE_CONFIRM)
def test_ack_auto_listener_settles_after_return(harness: Harness, session: Session, queue: Queue) -> None:
    """While the listener runs, its message is not acknowledged: after a cut another consumer gets it."""
    entered, leave = threading.Event(), threading.Event()

    def listen(_: Message) -> None:
        entered.set()
        leave.wait(LONG)

    lossy_session(harness, AUTO_ACKNOWLEDGE).create_consumer(queue).message_listener = listen
    send_texts(session, queue, "a")
    assert entered.wait(LONG)
    try:
        assert texts_after_cut(harness, queue, 1) == ["a"]
    finally:
        leave.set()


@rule("AC-1")
@pytest.mark.parametrize("mode", [AUTO_ACKNOWLEDGE, DUPS_OK_ACKNOWLEDGE], ids=["auto", "dups_ok"])
def test_ack_auto_listener_settles_when_it_returned(
    harness: Harness, session: Session, queue: Queue, mode: int
) -> None:
    """A listener that returned normally has acknowledged its message."""
    listening = deferred_session(harness, mode)
    collector = Collector()
    listening.create_consumer(queue).message_listener = collector
    send_texts(session, queue, "a", "b")
    collector.wait(2)
    listening.close()
    assert collector.texts == ["a", "b"]
    assert left(harness, queue, 0) == []


# -- CLIENT ----------------------------------------------------------------------------------------------------------


@rule("AC-3")
@pitfall(1)
def test_ack_client_acknowledges_the_whole_session(harness: Harness, session: Session, queue: Queue) -> None:
    """Acknowledging the second of three covers all three, and what another consumer of the session received."""
    other = harness.queue("other")
    client = deferred_session(harness, CLIENT_ACKNOWLEDGE)
    first, second = client.create_consumer(queue), client.create_consumer(other)
    send_texts(session, queue, "a1", "a2", "a3")
    send_texts(session, other, "b1")
    messages = [take(first), take(first), take(first)]
    assert take(second).text == "b1"
    messages[1].acknowledge()
    client.close()
    assert left(harness, queue, 0) == []
    assert left(harness, other, 0) == []


@rule("AC-3")
def test_ack_client_leaves_what_comes_after_it(harness: Harness, session: Session, queue: Queue) -> None:
    """A message received after the acknowledgement is not part of it."""
    client = deferred_session(harness, CLIENT_ACKNOWLEDGE)
    consumer = client.create_consumer(queue)
    send_texts(session, queue, "a", "b")
    take(consumer).acknowledge()
    assert receive_texts(consumer, 1) == ["b"]
    client.close()
    assert left(harness, queue, 1) == [returned(harness, "b")]


@rule("AC-12")
@pitfall(4)
def test_ack_client_leaves_what_was_not_received(harness: Harness, session: Session, queue: Queue) -> None:
    """Messages that were only prefetched are released in order, not marked as redelivered."""
    client = deferred_session(harness, CLIENT_ACKNOWLEDGE)
    consumer = client.create_consumer(queue)
    send_texts(session, queue, "a", "b", "c")
    take(consumer).acknowledge()
    client.close()
    assert left(harness, queue, 2) == [unseen(harness, "b"), unseen(harness, "c")]


@rule("AC-12")
@pitfall(1, 4)
def test_ack_client_leaves_what_other_consumers_prefetched(harness: Harness, session: Session, queue: Queue) -> None:
    """Messages that another consumer of the session has only prefetched are not acknowledged."""
    other = harness.queue("other")
    client = deferred_session(harness, CLIENT_ACKNOWLEDGE)
    first, second = client.create_consumer(queue), client.create_consumer(other)
    send_texts(session, other, "b1", "b2")
    send_texts(session, queue, "a")
    assert receive_texts(second, 1) == ["b1"]
    take(first).acknowledge()
    client.close()
    assert left(harness, other, 1) == [unseen(harness, "b2")]
    assert left(harness, queue, 0) == []


@rule("AC-3")
@pitfall(1)
def test_ack_client_inside_listener(harness: Harness, session: Session, queue: Queue) -> None:
    """An acknowledgement from within the listener covers the message in progress and those before it."""
    client = deferred_session(harness, CLIENT_ACKNOWLEDGE)

    def acknowledge_second(message: Message) -> None:
        if delivery(message)[0] == "b":
            message.acknowledge()

    collector = Collector(acknowledge_second)
    client.create_consumer(queue).message_listener = collector
    send_texts(session, queue, "a", "b", "c")
    collector.wait(3)
    client.close()
    assert left(harness, queue, 1) == [returned(harness, "c")]


@rule("AC-3")
def test_ack_context_acknowledges_the_session(harness: Harness, session: Session, queue: Queue) -> None:
    """JMSContext.acknowledge acknowledges everything that the session consumed, like Message.acknowledge."""
    context = harness.context(CLIENT_ACKNOWLEDGE)
    consumer = context.create_consumer(queue)
    send_texts(session, queue, "a", "b", "c")
    assert receive_texts(consumer, 2) == ["a", "b"]
    context.acknowledge()
    context.close()
    assert left(harness, queue, 1) == [unseen(harness, "c")]


@rule("AC-4")
@requires(Native.TRANSACTIONS)
def test_ack_context_acknowledge_is_ignored_elsewhere(harness: Harness, session: Session, queue: Queue) -> None:
    """In a transacted context it does nothing: the rollback brings the message back."""
    context = harness.context(SESSION_TRANSACTED)
    consumer = context.create_consumer(queue)
    send_texts(session, queue, "a")
    assert receive_texts(consumer, 1) == ["a"]
    context.acknowledge()
    context.rollback()
    assert deliveries(consumer, 1) == [("a", True, 2)]


@rule("AC-10")
@pytest.mark.parametrize("closed", ["session", "connection"])
def test_ack_client_is_never_forced_by_close(harness: Harness, session: Session, queue: Queue, closed: str) -> None:
    """After a close unacknowledged messages are redelivered, marked so, before those that were not delivered."""
    connection = harness.connect()
    client = connection.create_session(acknowledge_mode=CLIENT_ACKNOWLEDGE)
    consumer = client.create_consumer(queue)
    send_texts(session, queue, "a", "b", "c")
    assert receive_texts(consumer, 2) == ["a", "b"]
    (client if closed == "session" else connection).close()
    assert left(harness, queue, 3) == [returned(harness, "a"), returned(harness, "b"), unseen(harness, "c")]


@rule("AC-10")
@requires(Native.DURABLE)
def test_ack_durable_subscription_keeps_unacknowledged(harness: Harness, session: Session, topic: Topic) -> None:
    """A durable subscription holds its unacknowledged messages for its next consumer."""
    connection, name = harness.connect(client_id=harness.name("id")), harness.name("sub")
    client = connection.create_session(acknowledge_mode=CLIENT_ACKNOWLEDGE)
    consumer = client.create_durable_consumer(topic, name)
    send_texts(session, topic, "a", "b")
    assert receive_texts(consumer, 1) == ["a"]
    client.close()
    again = connection.create_session()
    with again.create_durable_consumer(topic, name) as consumer:
        assert deliveries(consumer, 2) == [("a", True, 2), unseen(harness, "b")]
    again.unsubscribe(name)


@rule("AC-5")
def test_ack_is_final(harness: Harness, session: Session, queue: Queue) -> None:
    """An acknowledged message never comes again: not after recover, not after close, not elsewhere."""
    client = deferred_session(harness, CLIENT_ACKNOWLEDGE)
    consumer = client.create_consumer(queue)
    send_texts(session, queue, "a")
    message = take(consumer)
    message.acknowledge()
    message.acknowledge()
    client.recover()
    assert_empty(consumer)
    client.close()
    assert left(harness, queue, 0) == []


@rule("AC-4")
@pytest.mark.parametrize("mode", [AUTO_ACKNOWLEDGE, DUPS_OK_ACKNOWLEDGE], ids=["auto", "dups_ok"])
def test_ack_is_ignored_in_automatic_modes(harness: Harness, session: Session, queue: Queue, mode: int) -> None:
    """acknowledge has no effect in automatic modes."""
    automatic = deferred_session(harness, mode)
    consumer = automatic.create_consumer(queue)
    send_texts(session, queue, "a", "b")
    take(consumer).acknowledge()
    automatic.close()
    assert left(harness, queue, 1) == [unseen(harness, "b")]


@rule("AC-4")
@requires(Native.TRANSACTIONS)
def test_ack_is_ignored_in_transactions(harness: Harness, session: Session, queue: Queue) -> None:
    """acknowledge has no effect in a transaction."""
    transacted = deferred_session(harness, SESSION_TRANSACTED)
    consumer = transacted.create_consumer(queue)
    send_texts(session, queue, "a")
    take(consumer).acknowledge()
    transacted.rollback()
    assert deliveries(consumer, 1) == [("a", True, 2)]


@rule("AC-4")
@pytest.mark.parametrize("closed", ["session", "connection"])
@pytest.mark.parametrize("mode", [AUTO_ACKNOWLEDGE, DUPS_OK_ACKNOWLEDGE, *DEFERRED])
def test_ack_of_closed_session(harness: Harness, session: Session, queue: Queue, mode: int, closed: str) -> None:
    """Once its session or connection is closed, a message cannot be acknowledged in any mode."""
    connection = harness.connect()
    closing = connection.create_session(mode == SESSION_TRANSACTED, mode)
    consumer = closing.create_consumer(queue)
    send_texts(session, queue, "a")
    message = take(consumer)
    (closing if closed == "session" else connection).close()
    with pytest.raises(IllegalStateException):
        message.acknowledge()


# -- acknowledging after the consumer was closed, and prefetch -------------------------------------------------------


@rule("AC-11")
@pitfall(5)
def test_ack_closed_consumer_can_still_acknowledge(harness: Harness, session: Session, queue: Queue) -> None:
    """Closing a consumer neither acknowledges nor forgets what it delivered."""
    client = deferred_session(harness, CLIENT_ACKNOWLEDGE)
    consumer = client.create_consumer(queue)
    send_texts(session, queue, "a")
    message = take(consumer)
    consumer.close()
    assert left(harness, queue, 0) == []
    message.acknowledge()
    client.close()
    assert left(harness, queue, 0) == []


@rule("AC-11")
@pitfall(5)
def test_ack_closed_consumer_can_still_recover(harness: Harness, session: Session, queue: Queue) -> None:
    """Recover redelivers the messages of a closed consumer to the next consumer."""
    client = deferred_session(harness, CLIENT_ACKNOWLEDGE)
    consumer = client.create_consumer(queue)
    send_texts(session, queue, "a", "b")
    assert receive_texts(consumer, 2) == ["a", "b"]
    consumer.close()
    client.recover()
    assert deliveries(client.create_consumer(queue), 2) == [("a", True, 2), ("b", True, 2)]


@rule("AC-11")
@pitfall(5)
@requires(Native.TRANSACTIONS)
@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_ack_closed_consumer_can_still_finish_transaction(
    harness: Harness, session: Session, queue: Queue, end: str
) -> None:
    """Commit and rollback cover what a closed consumer of the session had received."""
    transacted = deferred_session(harness, SESSION_TRANSACTED)
    consumer = transacted.create_consumer(queue)
    send_texts(session, queue, "a")
    assert receive_texts(consumer, 1) == ["a"]
    consumer.close()
    if end == "commit":
        transacted.commit()
        assert left(harness, queue, 0) == []
    else:
        transacted.rollback()
        assert left(harness, queue, 1) == [returned(harness, "a")]


@rule("AC-12")
@pitfall(4)
@requires(Native.FAIL, native=True)
def test_ack_closed_consumer_releases_prefetched(harness: Harness, session: Session, queue: Queue) -> None:
    """Closing a consumer releases messages that it had only prefetched, in order; delivered ones stay unsettled."""
    client = deferred_session(harness, CLIENT_ACKNOWLEDGE)
    consumer = client.create_consumer(queue)
    send_texts(session, queue, "a", "b", "c")
    assert receive_texts(consumer, 1) == ["a"]
    consumer.close()
    assert left(harness, queue, 2) == [unseen(harness, "b"), unseen(harness, "c")]
    client.close()
    assert left(harness, queue, 1) == [returned(harness, "a")]


@rule("AC-13")
@pytest.mark.parametrize("where", ["connection", "session", "consumer"])
def test_ack_prefetch_bounds_one_consumer(harness: Harness, session: Session, queue: Queue, where: str) -> None:
    """A consumer that does not receive holds no more than its prefetch; another one gets the rest."""
    prefetch: dict[str, dict[str, Any]] = {place: {} for place in ("connection", "session", "consumer")}
    prefetch[where] = {"prefetch": 1}
    bounded = harness.connect(**prefetch["connection"]).create_session(**prefetch["session"])
    idle = bounded.create_consumer(queue, **prefetch["consumer"])
    send_texts(session, queue, *"abcde")
    busy = session.create_consumer(queue)
    got = receive_texts(busy, 4)
    last = busy.receive(timeout=0.1) or take(idle)
    assert sorted([*got, delivery(last)[0]], key=str) == list("abcde")


@rule("AC-13")
def test_ack_prefetch_zero_takes_on_receive(harness: Harness, session: Session, queue: Queue) -> None:
    """With prefetch 0 a consumer holds nothing: it fetches one message per receive."""
    idle = harness.connect(prefetch=0).create_session().create_consumer(queue)
    send_texts(session, queue, "a", "b", "c")
    assert receive_texts(idle, 1) == ["a"]
    busy = session.create_consumer(queue)
    assert receive_texts(busy, 2) == ["b", "c"]
    assert_empty(idle)


@rule("AC-13")
@pytest.mark.parametrize("mode", DEFERRED)
def test_ack_unbounded_by_prefetch(harness: Harness, session: Session, queue: Queue, mode: int) -> None:
    """Three times the prefetch can be received before anything is acknowledged."""
    deferred = deferred_session(harness, mode, prefetch=2)
    consumer = deferred.create_consumer(queue)
    send_texts(session, queue, *"abcdef")
    assert receive_texts(consumer, 6) == list("abcdef")
