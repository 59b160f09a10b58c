"""PERSISTENT_GROUPACK together with handlers, errors and time-outs of sends."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

import jmsbridge
from jmsbridge import Connection, DeliveryMode, InDoubt, JMSException, Queue
from jmsbridge.core.sending.group import Group, Member
from jmsbridge.spi import Address, SendRefused
from jmsbridge.testing.scripted import Call, ScriptedBackend, text_envelope
from jmsbridge.testing.suite.support import LONG, eventually, run_thread, text_of
from tests.core.support import Embedded

Connect = Callable[..., Connection]
QUEUE = Queue("orders")


def test_the_handler_gets_group_acknowledged_sends(broker: Embedded) -> None:
    session = broker.connect().create_session()
    handled: list[Any] = []
    session.send_acknowledgement_handler = lambda message: handled.append(text_of(message))
    producer = session.create_producer(QUEUE)
    producer.delivery_mode = DeliveryMode.PERSISTENT_GROUPACK
    for number in range(5):
        producer.send(str(number))
    session.close()
    assert handled == ["0", "1", "2", "3", "4"]


def test_a_simplified_producer_groups(backend: ScriptedBackend) -> None:
    with jmsbridge.context("scripted:", group_ack_threshold=3) as context:
        producer = context.create_producer().set_delivery_mode(DeliveryMode.PERSISTENT_GROUPACK)
        backend.hold("send")
        producer.send(QUEUE, "0").send(QUEUE, "1")
        assert [text_of(message) for message in producer.unacknowledged] == ["0", "1"]
        third = run_thread(lambda: producer.send(QUEUE, "2"))
        backend.script.wait_held("send", 3)
        assert not third.done()
        backend.script.release("send")
        third.result(LONG)
        assert producer.unacknowledged == ()
        backend.script.answer_inline("send")


def test_a_simplified_producer_gets_the_error_of_a_refused_group(backend: ScriptedBackend) -> None:
    with jmsbridge.context("scripted:", group_ack_threshold=10) as context:
        producer = context.create_producer().set_delivery_mode(DeliveryMode.PERSISTENT_GROUPACK)
        backend.hold("send")
        producer.send(QUEUE, "0")
        backend.script.release("send", error=SendRefused("over quota"))
        backend.script.answer_inline("send")
        assert [text_of(message) for message in producer.unacknowledged] == ["0"]
        with pytest.raises(InDoubt) as caught:
            producer.send(QUEUE, "1")
        assert [text_of(message) for message in caught.value.refused] == ["0"]


def test_a_send_that_raised_is_no_member_of_its_group(backend: ScriptedBackend, connect: Connect) -> None:
    session = connect(send_window=1, send_timeout=0.05).create_session()
    session.group_ack_threshold = 10
    handled: list[Any] = []
    session.send_acknowledgement_handler = lambda message: handled.append(text_of(message))
    producer = session.create_producer(QUEUE)
    producer.delivery_mode = DeliveryMode.PERSISTENT_GROUPACK
    backend.hold("send")
    producer.send("0")
    with pytest.raises(JMSException, match="window"):
        producer.send("1")
    assert [text_of(message) for message in producer.unacknowledged] == ["0"]
    backend.script.release("send")
    eventually(lambda: handled == ["0"])
    assert producer.unacknowledged == ()
    session.close()


def test_an_interrupted_send_is_reported_once_and_no_longer_awaited(backend: ScriptedBackend, connect: Connect) -> None:
    session = connect(send_timeout=LONG).create_session()
    session.group_ack_threshold = 2
    producer = session.create_producer(QUEUE)
    producer.delivery_mode = DeliveryMode.PERSISTENT_GROUPACK

    def interrupt(_: Call) -> None:
        backend.script.before.clear()
        raise KeyboardInterrupt

    backend.script.before["send"] = interrupt
    with pytest.raises(KeyboardInterrupt):
        producer.send("interrupted")
    assert [text_of(message) for message in producer.unacknowledged] == ["interrupted"]
    with pytest.raises(InDoubt) as caught:
        producer.send("not sent either")
    assert [text_of(message) for message in caught.value.unknown] == ["interrupted"]
    for number in range(4):
        producer.send(str(number))
    assert producer.unacknowledged == ()
    session.close()


def test_a_late_send_is_reported_once_and_no_longer_awaited(backend: ScriptedBackend, connect: Connect) -> None:
    session = connect(send_timeout=0.2).create_session()
    session.group_ack_threshold = 2
    producer = session.create_producer(QUEUE)
    producer.delivery_mode = DeliveryMode.PERSISTENT_GROUPACK
    backend.hold("send")
    producer.send("0")
    with pytest.raises(InDoubt, match=r"no answer within 0\.2 s") as caught:
        producer.send("1")
    assert [text_of(message) for message in caught.value.unknown] == ["0", "1"]
    assert [text_of(message) for message in producer.unacknowledged] == ["0", "1"]
    backend.script.answer_inline("send")
    producer.send("2")
    producer.send("3")
    assert producer.unacknowledged == ()
    session.close()


def test_an_answer_at_the_deadline_is_not_reported_again(monkeypatch: pytest.MonkeyPatch) -> None:
    group, late = Group(0.05, lambda tickets: None), threading.Event()
    answer = group.on_answer

    def on_answer(member: Member) -> None:
        late.wait(LONG)
        answer(member)

    monkeypatch.setattr(group, "on_answer", on_answer)
    member = Member(group, text_envelope(Address("orders"), "a"))
    group.enter(member, 1)
    answering = run_thread(member.succeed)
    with pytest.raises(InDoubt):
        group.wait_confirmed()
    late.set()
    answering.result(LONG)
    group.wait_confirmed()
    assert len(group.unacknowledged()) == 1


def test_every_failed_send_is_reported_and_kept(backend: ScriptedBackend, connect: Connect) -> None:
    """As many as a send window may hold."""
    heard: list[JMSException] = []
    connection = connect(send_window=3000)
    connection.exception_listener = heard.append
    session = connection.create_session()
    backend.hold("send")
    producer = session.create_producer(QUEUE)
    producer.delivery_mode = DeliveryMode.NON_PERSISTENT
    for number in range(3000):
        producer.send(str(number))
    backend.script.release("send", error=SendRefused("over quota"))
    eventually(lambda: len(heard) == 3000)
    assert len(session.failed_sends) == 3000
