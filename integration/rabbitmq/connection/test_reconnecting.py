"""A durable subscription that is still in use by the lost link, as the broker sees it."""

import contextlib
import logging
from collections.abc import Callable

import pytest

import jmsbridge
from integration.lab.broker import Broker
from integration.rabbitmq.support import Client
from jmsbridge import TextMessage, Topic
from jmsbridge.spi import Address, BackendError
from jmsbridge.testing.proxy import FaultProxy
from jmsbridge.testing.suite.support import Collector, eventually, send_texts
from jmsbridge_rabbitmq import RabbitOptions

_PATIENCE = 30.0  # seconds, generous for a loaded machine


def test_a_subscription_that_is_still_in_use_by_the_lost_link(
    broker: Broker, name: str, fault_proxy: Callable[..., FaultProxy], caplog: pytest.LogCaptureFixture
) -> None:
    """When the broker has noticed the loss, the subscription can be used again."""
    caplog.set_level(logging.INFO, "jmsbridge.link")
    ghost = Client(
        broker, options=RabbitOptions(subscription_names="java")
    )  # for which names of other programs are possible
    proxy, topic = fault_proxy(broker.url()), Topic(name)
    with (
        contextlib.closing(ghost),
        jmsbridge.connect(proxy.through(broker.url()), client_id=name, reconnect_delay=0.5) as connection,
        jmsbridge.connect(broker.url()) as other,
    ):
        connection.start()
        told: list[Exception] = []
        connection.exception_listener = told.append
        session, listener = connection.create_session(), Collector()
        session.create_durable_consumer(topic, "sub").message_listener = listener
        proxy.refuse()
        proxy.cut()
        held = []

        def taken() -> bool:
            try:
                held.append(ghost.consume(Address(name, topic=True), durable=True, key=f"{name}.sub")[0])
            except BackendError:  # the broker has not noticed the cut
                return False
            return True

        eventually(taken, _PATIENCE)
        proxy.resume()
        eventually(lambda: [text for text in caplog.messages if "an exclusive consumer" in text], _PATIENCE)
        held[0].close()
        send_texts(other.create_session(), topic, "afterwards")
        message = listener.wait(1, _PATIENCE)[0]
        assert isinstance(message, TextMessage)
        assert message.text == "afterwards"
        assert not told
