"""PERSISTENT_GROUPACK beside the other ways of learning about sends."""

from collections.abc import Callable
from typing import Any

import pytest

import jmsbridge
from jmsbridge import Connection, DeliveryMode, InDoubt, JMSException, Queue
from jmsbridge.spi import SendRefused
from jmsbridge.testing.scripted import ScriptedBackend
from jmsbridge.testing.suite.support import LONG, eventually, run_thread
from tests.review.support import Embedded

Connect = Callable[..., Connection]
QUEUE = Queue("orders")


def test_the_handler_gets_group_acknowledged_sends(broker: Embedded) -> None:
    session = broker.connect().create_session()
    handled: list[Any] = []
    session.send_acknowledgement_handler = lambda message: handled.append(message.text)
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
        assert [message.text for message in producer.unacknowledged] == ["0", "1"]
        third = run_thread(lambda: producer.send(QUEUE, "2"))
        backend.script.wait_held("send", 3)
        assert not third.done()
        backend.script.release("send")
        third.result(LONG)
        assert producer.unacknowledged == ()
        backend.script.answer_inline("send")


def test_a_simplified_producer_hears_of_a_refused_group(backend: ScriptedBackend) -> None:
    with jmsbridge.context("scripted:", group_ack_threshold=10) as context:
        producer = context.create_producer().set_delivery_mode(DeliveryMode.PERSISTENT_GROUPACK)
        backend.hold("send")
        producer.send(QUEUE, "0")
        backend.script.release("send", error=SendRefused("over quota"))
        backend.script.answer_inline("send")
        assert [message.text for message in producer.unacknowledged] == ["0"]
        with pytest.raises(InDoubt) as caught:
            producer.send(QUEUE, "1")
        assert [message.text for message in caught.value.refused] == ["0"]


def test_a_send_that_raised_is_no_member_of_its_group(backend: ScriptedBackend, connect: Connect) -> None:
    session = connect(send_window=1, send_timeout=0.05).create_session()
    session.group_ack_threshold = 10
    handled: list[Any] = []
    session.send_acknowledgement_handler = lambda message: handled.append(message.text)
    producer = session.create_producer(QUEUE)
    producer.delivery_mode = DeliveryMode.PERSISTENT_GROUPACK
    backend.hold("send")
    producer.send("0")
    with pytest.raises(JMSException, match="window"):
        producer.send("1")
    assert [message.text for message in producer.unacknowledged] == ["0"]
    backend.script.release("send")
    eventually(lambda: handled == ["0"])
    assert producer.unacknowledged == ()
    session.close()
