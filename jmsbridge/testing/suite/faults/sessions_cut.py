"""The network fails under sessions: what acknowledgement modes and transactions keep, redeliver and report."""

import threading
from collections import Counter

import pytest

from jmsbridge import (
    CLIENT_ACKNOWLEDGE,
    DUPS_OK_ACKNOWLEDGE,
    InDoubtException,
    JMSException,
    Message,
    Queue,
    TransactionRolledBackException,
)
from jmsbridge.spi import Native
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.marks import requires, rule
from jmsbridge.testing.suite.faults.connections_cut import (
    connect,
    drained,
    receive_messages,
    send_elsewhere,
    texts_of,
    wait_until_back,
)
from jmsbridge.testing.suite.support import (
    LONG,
    Collector,
    Completions,
    assert_empty,
    receive_texts,
    run_thread,
    send_texts,
)

_NOT_COMMITTED = (TransactionRolledBackException, InDoubtException)
"""InDoubt, because the commit may be written before the link notices its loss."""


@rule("AC-1", "AC-5")
@requires(Native.SETTLE_CONFIRM)
def test_fault_auto_leaves_one_message_in_doubt(harness: Harness, queue: Queue) -> None:
    """With confirmed acknowledgements at most the message that receive returned last comes a second time."""
    session = connect(harness, block_on_acknowledge=True).create_session()
    consumer = session.create_consumer(queue)
    texts = [f"{number:02}" for number in range(10)]
    send_texts(session, queue, *texts)
    seen = receive_texts(consumer, 4)
    harness.cut()
    while set(seen) != set(texts):
        seen += receive_texts(consumer, 1)
    seen += drained(harness, queue)
    assert seen[:4] == texts[:4]
    assert [text for text in texts[:4] if seen.count(text) != 1] == []
    assert len(seen) <= len(texts) + 1, f"more than one message came twice: {seen}"


@rule("AC-5")
@requires(Native.SETTLE_CONFIRM)
def test_fault_client_acknowledged_do_not_return(harness: Harness, queue: Queue) -> None:
    """After a confirmed acknowledgement only messages received later are delivered again."""
    session = connect(harness, block_on_acknowledge=True).create_session(acknowledge_mode=CLIENT_ACKNOWLEDGE)
    consumer = session.create_consumer(queue)
    send_texts(session, queue, "1", "2", "3")
    receive_messages(consumer, 2)[0].acknowledge()
    assert receive_texts(consumer, 1) == ["3"]
    harness.cut()
    wait_until_back(harness, session.connection)
    assert receive_texts(consumer, 1) == ["3"]
    assert_empty(consumer)


@rule("AC-1", "JX-1")
def test_fault_auto_message_in_listener_returns(harness: Harness, queue: Queue) -> None:
    """After a cut during a listener its message, not acknowledged, is delivered again, marked as redelivered."""
    entered, go_on = threading.Event(), threading.Event()

    def hold_first(message: Message) -> None:
        if not entered.is_set():
            entered.set()
            assert go_on.wait(LONG)

    listener = Collector(hold_first)
    connection = connect(harness)
    session = connection.create_session()
    session.create_consumer(queue).message_listener = listener
    send_elsewhere(harness, queue, "interrupted")
    assert entered.wait(LONG)
    harness.cut()
    wait_until_back(harness, connection)
    go_on.set()
    first, second = listener.wait(2)[:2]
    assert texts_of([first, second]) == ["interrupted", "interrupted"]
    assert [first.jms_redelivered, second.jms_redelivered] == [False, True]
    assert second.get_int_property("JMSXDeliveryCount") >= 2
    connection.close()
    assert list(drained(harness, queue)) == []


@rule("AC-10", "JX-1")
def test_fault_client_unacknowledged_return(harness: Harness, queue: Queue) -> None:
    """What was not acknowledged comes again, flagged and counted, and can be acknowledged then."""
    connection = connect(harness)
    session = connection.create_session(acknowledge_mode=CLIENT_ACKNOWLEDGE)
    consumer = session.create_consumer(queue)
    send_texts(session, queue, "1", "2", "3")
    assert texts_of(receive_messages(consumer, 3)) == ["1", "2", "3"]
    harness.cut()
    wait_until_back(harness, connection)
    again = receive_messages(consumer, 3)
    assert sorted(message.get_body(str) or "" for message in again) == ["1", "2", "3"]
    assert [message.jms_redelivered for message in again] == [True, True, True]
    assert min(message.get_int_property("JMSXDeliveryCount") for message in again) >= 2
    again[-1].acknowledge()
    session.close()
    assert list(drained(harness, queue)) == []


@rule("AC-10")
def test_fault_client_acknowledge_of_old_messages_is_harmless(harness: Harness, queue: Queue) -> None:
    """Acknowledging messages of the lost link neither fails nor removes anything from the queue."""
    connection = connect(harness)
    session = connection.create_session(acknowledge_mode=CLIENT_ACKNOWLEDGE)
    consumer = session.create_consumer(queue)
    send_texts(session, queue, "1", "2")
    old = receive_messages(consumer, 2)
    harness.cut()
    wait_until_back(harness, connection)
    old[-1].acknowledge()
    assert sorted(receive_texts(consumer, 2)) == ["1", "2"]
    session.close()
    assert sorted(drained(harness, queue)) == ["1", "2"]


@rule("AC-2")
def test_fault_dups_ok_loses_nothing(harness: Harness, queue: Queue) -> None:
    """Messages may be duplicated, but not lost."""
    session = connect(harness).create_session(acknowledge_mode=DUPS_OK_ACKNOWLEDGE)
    consumer = session.create_consumer(queue)
    texts = [f"{number:02}" for number in range(12)]
    send_texts(session, queue, *texts)
    seen = set(receive_texts(consumer, 6))
    assert seen == set(texts[:6])
    harness.cut()
    while seen != set(texts):
        seen.update(receive_texts(consumer, 1))
    assert seen == set(texts)


@rule("AC-12")
def test_fault_prefetched_are_not_lost(harness: Harness, queue: Queue) -> None:
    """Messages that waited in the consumer when the link died come from the broker again."""
    session = connect(harness, prefetch=50).create_session()
    consumer = session.create_consumer(queue)
    texts = [f"{number:02}" for number in range(20)]
    send_texts(session, queue, *texts)
    seen = receive_texts(consumer, 5)
    assert seen == texts[:5]
    harness.cut()
    while set(seen) != set(texts):
        seen += receive_texts(consumer, 1)
    assert set(seen[5:]) >= set(texts[5:])
    session.close()
    assert set(drained(harness, queue)) <= set(texts)


@rule("TX-4")
@requires(Native.TRANSACTIONS, native=True)
def test_fault_commit_rolls_back_consumption(harness: Harness, queue: Queue) -> None:
    """commit after a cut raises, its messages are delivered again, and the next transaction works."""
    connection = connect(harness)
    session = connection.create_session(transacted=True)
    consumer = session.create_consumer(queue)
    send_elsewhere(harness, queue, "1", "2")
    assert receive_texts(consumer, 2) == ["1", "2"]
    harness.cut()
    with pytest.raises(_NOT_COMMITTED):
        session.commit()
    wait_until_back(harness, connection)
    again = receive_messages(consumer, 2)
    assert sorted(message.get_body(str) or "" for message in again) == ["1", "2"]
    assert [message.jms_redelivered for message in again] == [True, True]
    session.commit()
    session.close()
    assert list(drained(harness, queue)) == []


@rule("TX-2", "TX-4")
@requires(Native.TRANSACTIONS)
def test_fault_commit_rolls_back_sends(harness: Harness, queue: Queue) -> None:
    """No message of the lost transaction is visible, all of the next one are."""
    connection = connect(harness)
    session = connection.create_session(transacted=True)
    send_texts(session, queue, "lost with its transaction")
    harness.cut()
    with pytest.raises(_NOT_COMMITTED):
        session.commit()
    wait_until_back(harness, connection)
    send_texts(session, queue, "committed")
    session.commit()
    assert list(drained(harness, queue)) == ["committed"]


@rule("TX-2")
@requires(Native.TRANSACTIONS)
def test_fault_rollback_succeeds(harness: Harness, queue: Queue) -> None:
    """A rollback after a cut succeeds, because the transaction is rolled back anyway."""
    connection = connect(harness)
    session = connection.create_session(transacted=True)
    consumer = session.create_consumer(queue)
    send_elsewhere(harness, queue, "again")
    assert receive_texts(consumer, 1) == ["again"]
    send_texts(session, queue, "never")
    harness.cut()
    session.rollback()
    wait_until_back(harness, connection)
    assert receive_texts(consumer, 1) == ["again"]
    session.commit()
    session.close()
    assert list(drained(harness, queue)) == []


@rule("TX-1")
@requires(Native.TRANSACTIONS)
def test_fault_idle_transacted_session_is_unharmed(harness: Harness, queue: Queue) -> None:
    """A transaction that began after the cut has lost nothing, so its commit succeeds."""
    connection = connect(harness)
    session = connection.create_session(transacted=True)
    send_texts(session, queue, "1")
    session.commit()
    harness.cut()
    wait_until_back(harness, connection)
    send_texts(session, queue, "2")
    session.commit()
    assert list(drained(harness, queue)) == ["1", "2"]


def test_fault_nothing_confirmed_is_lost(harness: Harness, queue: Queue) -> None:
    """Cuts while sending: each send that returned is on the queue; one that raised may be there, once."""
    session = connect(harness).create_session()
    confirmed: list[str] = []
    doubtful: list[str] = []
    with session.create_producer(queue) as producer:
        for number in range(60):
            if number % 15 == 10:
                cutter = run_thread(harness.cut)
            try:
                producer.send(session.create_text_message(str(number)))
            except JMSException:
                doubtful.append(str(number))
            else:
                confirmed.append(str(number))
            if number % 15 == 10:
                cutter.result(LONG)
    assert len(confirmed) >= 50
    found = Counter(drained(harness, queue))
    assert [text for text in confirmed if found[text] != 1] == []
    assert set(found) <= set(confirmed) | set(doubtful)


@rule("AS-2")
def test_fault_async_sends_are_each_answered_once(harness: Harness, queue: Queue) -> None:
    """Callbacks come in sending order; a completed message is at the broker; a send that raises has no callback."""
    session = connect(harness).create_session()
    completions = Completions()
    sent: list[str] = []
    with session.create_producer(queue) as producer:
        for number in range(60):
            if number == 30:
                completions.wait(1)
                harness.cut()
            try:
                producer.send(session.create_text_message(str(number)), completion_listener=completions)
            except JMSException:
                continue  # An exception is the outcome: nothing else will come for it.
            sent.append(str(number))
    events = completions.wait(len(sent))
    assert len(sent) >= 30
    assert [event[1].get_body(str) for event in events] == sent
    completed = [event[1].get_body(str) for event in events if event[0] == "completed"]
    assert len(completed) >= 1
    found = Counter(drained(harness, queue))
    assert [text for text in completed if found[text] != 1] == []
    assert len(completions.events) == len(sent)
