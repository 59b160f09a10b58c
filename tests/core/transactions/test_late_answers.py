"""Transactions with a lost link or a late answer; redelivery within the window."""

from collections.abc import Callable

import pytest

from jmsbridge import Connection, Queue, TransactionRolledBackException
from jmsbridge.spi import Address, SendRefused
from jmsbridge.testing.scripted import ScriptedBackend, text_envelope
from jmsbridge.testing.suite.support import LONG, receive_texts, run_thread, send_texts
from tests.core.support import Embedded

Connect = Callable[..., Connection]
QUEUE = Queue("orders")


def test_messages_of_a_new_link_in_a_lost_transaction_are_redelivered(broker: Embedded) -> None:
    send_texts(broker.connect().create_session(), QUEUE, "m0", "m1")
    connection = broker.connect()
    session = connection.create_session(transacted=True)
    consumer = session.create_consumer(QUEUE)
    assert receive_texts(consumer, 1) == ["m0"]
    broker.cut(connection)
    assert receive_texts(consumer, 1) == ["m0"]
    with pytest.raises(TransactionRolledBackException):
        session.commit()
    assert receive_texts(consumer, 2) == ["m0", "m1"]
    session.commit()
    assert consumer.receive_no_wait() is None


def test_a_commit_whose_send_is_refused_late_fails(backend: ScriptedBackend, connect: Connect) -> None:
    session = connect().create_session(transacted=True)
    producer = session.create_producer(QUEUE)
    backend.hold("send")
    producer.send("one")
    committing = run_thread(session.commit)
    backend.script.wait_held("send")
    backend.script.release("send", error=SendRefused("over quota"))
    with pytest.raises(TransactionRolledBackException, match="over quota"):
        committing.result(LONG)
    assert backend.accepted == []
    backend.script.answer_inline("send")
    producer.send("two")
    session.commit()
    assert [envelope.body for envelope in backend.accepted] == ["two"]


def test_a_commit_does_not_overtake_its_sends(backend: ScriptedBackend, connect: Connect) -> None:
    session = connect().create_session(transacted=True)
    backend.hold("send")
    session.create_producer(QUEUE).send("one")
    committing = run_thread(session.commit)
    backend.script.wait_held("send")
    assert "commit" not in backend.script.verbs()
    backend.script.release("send")
    committing.result(LONG)
    assert [envelope.body for envelope in backend.accepted] == ["one"]


def test_a_send_without_answer_fails_only_its_own_transaction(backend: ScriptedBackend, connect: Connect) -> None:
    session = connect(send_timeout=0.05).create_session(transacted=True)
    producer = session.create_producer(QUEUE)
    backend.hold("send")
    producer.send("one")
    late = backend.script.wait_held("send")
    with pytest.raises(TransactionRolledBackException):
        session.commit()
    backend.script.answer_inline("send")
    producer.send("two")
    late[0].fail(SendRefused("late"))
    session.commit()
    assert [envelope.body for envelope in backend.accepted] == ["two"]


def test_rollbacks_ask_for_no_more_than_the_window(backend: ScriptedBackend, connect: Connect) -> None:
    session = connect(redelivery_delay=0.0, max_redeliveries=100).create_session(transacted=True, prefetch=1)
    consumer = session.create_consumer(QUEUE)
    backend.subscription.deliver(*(text_envelope(Address("orders"), f"m{number}") for number in range(12)))
    for _ in range(6):
        assert receive_texts(consumer, 1) == ["m0"]
        session.rollback()
    granted = sum(call.detail for call in backend.script.calls if call.verb == "grant")
    assert granted == 2  # the message that the application has, and one on its way


def test_a_rolled_back_window_leaves_the_rest_to_others(broker: Embedded) -> None:
    connection = broker.connect(redelivery_delay=0.0)
    session = connection.create_session(transacted=True, prefetch=1)
    other = connection.create_session()
    send_texts(other, QUEUE, *(f"m{number}" for number in range(6)))
    consumer = session.create_consumer(QUEUE)
    for _ in range(4):
        assert receive_texts(consumer, 1) == ["m0"]
        session.rollback()
    assert receive_texts(other.create_consumer(QUEUE), 4) == ["m2", "m3", "m4", "m5"]
