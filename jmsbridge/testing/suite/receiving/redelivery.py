"""Recover, listeners that raise, delivery counts, the redelivery limit: rules AC-6 to AC-9, JX-1 and BO-18."""

import threading
import time

import pytest

from jmsbridge import (
    AUTO_ACKNOWLEDGE,
    CLIENT_ACKNOWLEDGE,
    DUPS_OK_ACKNOWLEDGE,
    SESSION_TRANSACTED,
    Message,
    Queue,
    Session,
)
from jmsbridge.errors import IllegalStateException, MessageFormatRuntimeException
from jmsbridge.spi.native import Native
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.marks import pitfall, requires, rule
from jmsbridge.testing.suite.receiving.redelivery_support import (
    DEFERRED,
    deferred_session,
    deliveries,
    delivery,
    left,
    remove_dead_letters,
    returned,
    take,
    unseen,
)
from jmsbridge.testing.suite.support import LONG, SHORT, Collector, assert_empty, receive_texts, send_texts


class _Refusal(Exception):
    """The exception that the listeners of these cases raise."""


# -- recover ---------------------------------------------------------------------------------------------------------


@rule("AC-6")
@pitfall(3)
def test_redelivery_recover_restarts_at_the_oldest(harness: Harness, session: Session, queue: Queue) -> None:
    """Delivered messages are redelivered, marked and in order, before prefetched and newer ones."""
    client = deferred_session(harness, CLIENT_ACKNOWLEDGE)
    consumer = client.create_consumer(queue)
    send_texts(session, queue, "a", "b", "c", "d")
    assert deliveries(consumer, 3) == [("a", False, 1), ("b", False, 1), ("c", False, 1)]
    client.recover()
    send_texts(session, queue, "e")
    again = [("a", True, 2), ("b", True, 2), ("c", True, 2)]
    assert deliveries(consumer, 5) == [*again, ("d", False, 1), ("e", False, 1)]


@rule("AC-6", "OR-3")
@pitfall(3)
def test_redelivery_recover_covers_all_consumers(harness: Harness, session: Session, queue: Queue) -> None:
    """Recover affects the whole session: each of its consumers gets its messages again, in order."""
    other = harness.queue("other")
    client = deferred_session(harness, CLIENT_ACKNOWLEDGE)
    first, second = client.create_consumer(queue), client.create_consumer(other)
    send_texts(session, queue, "a1", "a2", "a3")
    send_texts(session, other, "b1", "b2")
    assert receive_texts(first, 1) + receive_texts(second, 2) + receive_texts(first, 1) == ["a1", "b1", "b2", "a2"]
    client.recover()
    assert deliveries(first, 3) == [("a1", True, 2), ("a2", True, 2), ("a3", False, 1)]
    assert deliveries(second, 2) == [("b1", True, 2), ("b2", True, 2)]


@rule("AC-6", "AC-5")
def test_redelivery_recover_leaves_acknowledged_alone(harness: Harness, session: Session, queue: Queue) -> None:
    """Recover redelivers only unacknowledged messages."""
    client = deferred_session(harness, CLIENT_ACKNOWLEDGE)
    consumer = client.create_consumer(queue)
    send_texts(session, queue, "a", "b", "c")
    take(consumer).acknowledge()
    assert receive_texts(consumer, 1) == ["b"]
    client.recover()
    assert deliveries(consumer, 2) == [("b", True, 2), ("c", False, 1)]


@rule("AC-6", "JX-1")
def test_redelivery_recover_again_counts_again(harness: Harness, session: Session, queue: Queue) -> None:
    """Every recover raises the count by one."""
    client = deferred_session(harness, CLIENT_ACKNOWLEDGE, redelivery_delay=0.01)
    consumer = client.create_consumer(queue)
    send_texts(session, queue, "a")
    for count in (1, 2, 3, 4):
        assert delivery(take(consumer)) == ("a", count > 1, count)
        client.recover()


@rule("AC-6", "AC-10", "JX-1")
@pitfall(3, 6)
@pytest.mark.parametrize("closed", ["consumer", "session", "connection"])
@pytest.mark.parametrize("mode", DEFERRED)
def test_redelivery_recovered_then_closed(
    harness: Harness, session: Session, queue: Queue, mode: int, closed: str
) -> None:
    """Messages waiting for redelivery when their consumer closes return to their place, with the right count."""
    deferred = deferred_session(harness, mode)
    consumer = deferred.create_consumer(queue)
    send_texts(session, queue, "a", "b", "c")
    assert receive_texts(consumer, 2) == ["a", "b"]
    (deferred.rollback if mode == SESSION_TRANSACTED else deferred.recover)()
    close = {"consumer": consumer.close, "session": deferred.close, "connection": deferred.connection.close}[closed]
    close()
    assert left(harness, queue, 3) == [returned(harness, "a"), returned(harness, "b"), unseen(harness, "c")]


@rule("JX-1", "AC-10")
@pitfall(6)
@pytest.mark.parametrize("mode", DEFERRED)
@requires(Native.DELIVERY_COUNT, native=True)
def test_redelivery_count_goes_on_elsewhere(harness: Harness, session: Session, queue: Queue, mode: int) -> None:
    """The delivery count continues across sessions, whether client or broker counted the earlier deliveries."""
    deferred = deferred_session(harness, mode, redelivery_delay=0.01)
    consumer = deferred.create_consumer(queue)
    send_texts(session, queue, "a")
    for count in (1, 2, 3):
        assert delivery(take(consumer)) == ("a", count > 1, count)
        if count < 3:
            (deferred.rollback if mode == SESSION_TRANSACTED else deferred.recover)()
    deferred.close()
    assert left(harness, queue, 1) == [("a", True, 4)]


@rule("AC-6")
@requires(Native.TRANSACTIONS)
def test_redelivery_recover_of_transacted_session(harness: Harness) -> None:
    """A transacted session has rollback instead."""
    transacted = deferred_session(harness, SESSION_TRANSACTED)
    with pytest.raises(IllegalStateException):
        transacted.recover()


@rule("AC-7")
@pytest.mark.parametrize("mode", [AUTO_ACKNOWLEDGE, DUPS_OK_ACKNOWLEDGE], ids=["auto", "dups_ok"])
def test_redelivery_recover_after_automatic_acknowledgement(
    harness: Harness, session: Session, queue: Queue, mode: int
) -> None:
    """What receive returned is acknowledged, at once or in a batch, so recover has nothing to bring back."""
    receiving = deferred_session(harness, mode)
    consumer = receiving.create_consumer(queue)
    send_texts(session, queue, "a", "b")
    assert receive_texts(consumer, 1) == ["a"]
    receiving.recover()
    assert deliveries(consumer, 1) == [("b", False, 1)]
    assert_empty(consumer)


@rule("AC-8")
@pitfall(2)
@pytest.mark.parametrize("mode", [AUTO_ACKNOWLEDGE, DUPS_OK_ACKNOWLEDGE], ids=["auto", "dups_ok"])
def test_redelivery_recover_inside_listener(harness: Harness, session: Session, queue: Queue, mode: int) -> None:
    """After recover in a listener its message is redelivered; returning does not acknowledge it."""
    listening = deferred_session(harness, mode)

    def recover_once(message: Message) -> None:
        if not message.jms_redelivered:
            listening.recover()

    collector = Collector(recover_once)
    listening.create_consumer(queue).message_listener = collector
    send_texts(session, queue, "a")
    collector.wait(2)
    listening.close()
    assert [delivery(message) for message in collector.messages] == [("a", False, 1), ("a", True, 2)]
    assert left(harness, queue, 0) == []


@rule("AC-8")
@pitfall(2, 3)
def test_redelivery_recover_inside_listener_keeps_order(harness: Harness, session: Session, queue: Queue) -> None:
    """The recovered message comes before the next one, which is not marked as redelivered."""
    listening = deferred_session(harness, AUTO_ACKNOWLEDGE)

    def recover_once(message: Message) -> None:
        if delivery(message) == ("a", False, 1):
            listening.recover()

    collector = Collector(recover_once)
    send_texts(session, queue, "a", "b")
    listening.create_consumer(queue).message_listener = collector
    got = [delivery(message) for message in collector.wait(3)]
    assert got == [("a", False, 1), ("a", True, 2), ("b", False, 1)]


@rule("AC-6")
@pitfall(2)
def test_redelivery_recover_inside_client_listener(harness: Harness, session: Session, queue: Queue) -> None:
    """Recover in a listener under CLIENT redelivers all unacknowledged messages of the session."""
    listening = deferred_session(harness, CLIENT_ACKNOWLEDGE)

    def recover_at_b(message: Message) -> None:
        if delivery(message) == ("b", False, 1):
            listening.recover()

    collector = Collector(recover_at_b)
    send_texts(session, queue, "a", "b")
    listening.create_consumer(queue).message_listener = collector
    got = [delivery(message) for message in collector.wait(4)]
    assert got == [("a", False, 1), ("b", False, 1), ("a", True, 2), ("b", True, 2)]


# -- listeners that raise --------------------------------------------------------------------------------------------


@rule("AC-9")
@pitfall(7)
@pytest.mark.parametrize("mode", [AUTO_ACKNOWLEDGE, DUPS_OK_ACKNOWLEDGE], ids=["auto", "dups_ok"])
def test_redelivery_listener_that_raises(harness: Harness, session: Session, queue: Queue, mode: int) -> None:
    """The message is redelivered at once, marked; then the listener gets the next message."""
    listening = deferred_session(harness, mode)

    def refuse_first(message: Message) -> None:
        if delivery(message) == ("a", False, 1):
            raise _Refusal

    collector = Collector(refuse_first)
    send_texts(session, queue, "a", "b")
    listening.create_consumer(queue).message_listener = collector
    got = [delivery(message) for message in collector.wait(3)]
    listening.close()
    assert sorted(got) == [("a", False, 1), ("a", True, 2), ("b", False, 1)]
    assert got.index(("a", False, 1)) < got.index(("a", True, 2))
    assert left(harness, queue, 0) == []


@rule("AC-9")
@pitfall(7)
@pytest.mark.parametrize("mode", DEFERRED)
def test_redelivery_deferred_listener_that_raises_goes_on(
    harness: Harness, session: Session, queue: Queue, mode: int
) -> None:
    """The next message is delivered; the failed one is redelivered only after recover or rollback."""
    listening = deferred_session(harness, mode)

    def listen(message: Message) -> None:
        if message.jms_redelivered:
            return
        if delivery(message)[0] == "a":
            raise _Refusal
        if mode == SESSION_TRANSACTED:
            listening.rollback()
        else:
            listening.recover()

    collector = Collector(listen)
    send_texts(session, queue, "a", "b")
    listening.create_consumer(queue).message_listener = collector
    got = [delivery(message) for message in collector.wait(4)]
    assert got == [("a", False, 1), ("b", False, 1), ("a", True, 2), ("b", True, 2)]


@rule("AC-9")
@pitfall(7)
@requires(Native.TRANSACTIONS)
def test_redelivery_raising_listener_is_no_rollback(harness: Harness, session: Session, queue: Queue) -> None:
    """An exception of a listener does not end its transaction: the next commit includes its message."""
    listening = deferred_session(harness, SESSION_TRANSACTED)

    def listen(message: Message) -> None:
        if delivery(message)[0] == "a":
            raise _Refusal
        listening.commit()

    collector = Collector(listen)
    send_texts(session, queue, "a", "b")
    listening.create_consumer(queue).message_listener = collector
    collector.wait(2)
    listening.close()
    assert collector.texts == ["a", "b"]
    assert left(harness, queue, 0) == []


# -- limit and delay -------------------------------------------------------------------------------------------------


@rule("AC-9")
@pitfall(7)
@requires(Native.REJECT, native=True)
def test_redelivery_limit_of_a_listener_that_always_raises(harness: Harness, session: Session, queue: Queue) -> None:
    """It gets a message once and max_redeliveries times again, and then the next message."""
    listening = deferred_session(harness, AUTO_ACKNOWLEDGE, max_redeliveries=2, redelivery_delay=0.01)

    def refuse_bad(message: Message) -> None:
        if delivery(message)[0] == "bad":
            raise _Refusal

    collector = Collector(refuse_bad)
    listening.create_consumer(queue).message_listener = collector
    send_texts(session, queue, "bad")
    collector.wait(3)
    send_texts(session, queue, "good")
    collector.wait(4)
    listening.close()
    got = [delivery(message) for message in collector.messages]
    assert got == [("bad", False, 1), ("bad", True, 2), ("bad", True, 3), ("good", False, 1)]
    assert left(harness, queue, 0) == []


@rule("AC-9")
@requires(Native.REJECT, native=True)
def test_redelivery_after_the_limit_goes_to_dead_letters(harness: Harness, session: Session, queue: Queue) -> None:
    """After the limit the message is in the dead-letter queue, with body, headers and properties as sent."""
    transacted = deferred_session(harness, SESSION_TRANSACTED, max_redeliveries=1, redelivery_delay=0.01)
    remove_dead_letters(harness, session)
    consumer = transacted.create_consumer(queue)
    message = session.create_text_message("bad")
    message.set_int_property("n", 7)
    session.create_producer(queue).send(message)
    for count in (1, 2):
        assert delivery(take(consumer)) == ("bad", count > 1, count)
        transacted.rollback()
    assert_empty(consumer)
    dead = take(session.create_consumer(Queue(harness.dead_letters)))
    assert (dead.text, dead.get_int_property("n")) == ("bad", 7)
    if harness.scheme == "embedded":
        assert dead.get_string_property("JMS_jmsbridge_dead_letter_reason")
        assert queue.queue_name in (dead.get_string_property("JMS_jmsbridge_dead_letter_origin") or "")


@rule("AC-9")
def test_redelivery_is_delayed_from_the_second_on(harness: Harness, session: Session, queue: Queue) -> None:
    """The first redelivery comes at once, the second after redelivery_delay."""
    listening = deferred_session(harness, AUTO_ACKNOWLEDGE, redelivery_delay=0.3)
    times: list[float] = []
    done = threading.Event()

    def refuse_twice(_: Message) -> None:
        times.append(time.monotonic())
        if len(times) < 3:
            raise _Refusal
        done.set()

    listening.create_consumer(queue).message_listener = refuse_twice
    send_texts(session, queue, "a")
    assert done.wait(LONG)
    assert times[1] - times[0] < 0.25
    assert 0.28 <= times[2] - times[1] < 2


@rule("TX-2")
@requires(Native.TRANSACTIONS)
def test_redelivery_rollback_is_delayed_from_the_second_on(harness: Harness, session: Session, queue: Queue) -> None:
    """A message that was rolled back twice waits for redelivery_delay before it comes a third time."""
    transacted = deferred_session(harness, SESSION_TRANSACTED, redelivery_delay=0.4)
    consumer = transacted.create_consumer(queue)
    send_texts(session, queue, "a")
    for count in (1, 2):
        assert delivery(take(consumer, timeout=0.3 if count == 2 else LONG)) == ("a", count > 1, count)
        transacted.rollback()
    assert_empty(consumer, SHORT)
    assert delivery(take(consumer)) == ("a", True, 3)


# -- the count -------------------------------------------------------------------------------------------------------


@rule("JX-1", "HD-8")
@pitfall(6)
@pytest.mark.parametrize("mode", DEFERRED)
def test_redelivery_count_and_flag_agree(harness: Harness, session: Session, queue: Queue, mode: int) -> None:
    """JMSXDeliveryCount is 1 at first, and 2 with JMSRedelivered at the second delivery, also in another session."""
    deferred = deferred_session(harness, mode)
    consumer = deferred.create_consumer(queue)
    send_texts(session, queue, "a")
    first = take(consumer)
    assert "JMSXDeliveryCount" in list(first.property_names)
    assert first.property_exists("JMSXDeliveryCount")
    assert delivery(first) == ("a", False, 1)
    deferred.close()
    assert left(harness, queue, 1) == [returned(harness, "a")]


# -- receive_body ----------------------------------------------------------------------------------------------------


@rule("AC-1", "BO-18")
@pitfall(8)
@pytest.mark.parametrize("mode", [AUTO_ACKNOWLEDGE, DUPS_OK_ACKNOWLEDGE], ids=["auto", "dups_ok"])
def test_redelivery_put_back_by_receive_body(harness: Harness, session: Session, queue: Queue, mode: int) -> None:
    """If receive_body asks for another type, the message stays first in the queue, as if not received."""
    context = harness.context(mode)
    consumer = context.create_consumer(queue)
    send_texts(session, queue, "a", "b")
    with pytest.raises(MessageFormatRuntimeException):
        consumer.receive_body(dict, timeout=LONG)
    assert deliveries(consumer, 2) == [("a", False, 1), ("b", False, 1)]
    context.close()
    assert left(harness, queue, 0) == []


@rule("BO-18")
@pitfall(8)
def test_redelivery_put_back_is_never_counted(harness: Harness, session: Session, queue: Queue) -> None:
    """A failed receive_body does not count towards the limit of redeliveries, also for another consumer."""
    context = harness.context(AUTO_ACKNOWLEDGE, max_redeliveries=1)
    consumer = context.create_consumer(queue)
    send_texts(session, queue, "a")
    for _ in range(4):
        with pytest.raises(MessageFormatRuntimeException):
            consumer.receive_body(bytes, timeout=LONG)
    context.close()
    assert left(harness, queue, 1) == [unseen(harness, "a")]


@rule("BO-18")
@pitfall(8)
@pytest.mark.parametrize("mode", DEFERRED)
def test_redelivery_receive_body_consumes_in_deferred_modes(
    harness: Harness, session: Session, queue: Queue, mode: int
) -> None:
    """Under CLIENT and in transactions a message counts as received although receive_body failed."""
    context = harness.context(mode)
    consumer = context.create_consumer(queue)
    send_texts(session, queue, "a", "b")
    with pytest.raises(MessageFormatRuntimeException):
        consumer.receive_body(dict, timeout=LONG)
    assert deliveries(consumer, 1) == [("b", False, 1)]
    if mode == SESSION_TRANSACTED:
        context.rollback()
    else:
        context.recover()
    assert deliveries(consumer, 2) == [("a", True, 2), ("b", True, 2)]


@rule("AC-12")
@pitfall(4)
def test_redelivery_prefetched_is_never_dead_lettered(harness: Harness, session: Session, queue: Queue) -> None:
    """With no redelivery allowed, a message that was only prefetched elsewhere is still delivered."""
    send_texts(session, queue, "a", "b")
    strict = harness.connect(max_redeliveries=0)
    for _ in range(2):
        with strict.create_session() as passing:
            idle = passing.create_consumer(queue)
            assert idle.receive(timeout=LONG) is not None
            passing.close()
            send_texts(session, queue, "c")
    assert receive_texts(strict.create_session().create_consumer(queue), 2) == ["c", "c"]
