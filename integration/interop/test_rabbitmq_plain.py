"""Plain AMQP programs, here with pika, and jmsbridge read each other's messages."""

from collections.abc import Iterator
from typing import Any

import pika
import pytest

import jmsbridge
from integration.interop.way import PATIENCE
from integration.lab.broker import Broker
from integration.lab.external import External
from jmsbridge import Long


@pytest.fixture
def channel(rabbitmq: Broker | External) -> Iterator[Any]:
    """A channel of pika's."""
    connection = pika.BlockingConnection(pika.URLParameters(f"{rabbitmq.url('amqp')}/%2F"))
    yield connection.channel()
    connection.close()


@pytest.fixture
def session(rabbitmq: Broker | External) -> Iterator[jmsbridge.Session]:
    """A session in dialect amqp."""
    with jmsbridge.connect(rabbitmq.url("rabbitmq")) as connection:
        connection.start()
        yield connection.create_session()


def test_pika_reads_what_jmsbridge_sends(channel: Any, session: jmsbridge.Session, name: str) -> None:
    message = session.create_text_message("héllo")
    message.set_int_property("qty", 5)
    message.set_string_property("region", "EU")
    message.jms_correlation_id = "c-1"
    message.jms_reply_to = session.create_queue("answers")
    message.jms_type = "order"
    session.create_producer(session.create_queue(name)).send(message, priority=7)
    _, properties, body = channel.basic_get(name, auto_ack=True)
    assert body == "héllo".encode()
    assert properties.content_type == "text/plain;charset=utf-8"
    assert (properties.delivery_mode, properties.priority) == (2, 7)
    assert (properties.correlation_id, properties.reply_to, properties.type) == ("c-1", "answers", "order")
    assert properties.message_id == message.jms_message_id
    assert (properties.headers["qty"], properties.headers["region"]) == (5, "EU")


def test_jmsbridge_reads_what_pika_sends(channel: Any, session: jmsbridge.Session, name: str) -> None:
    consumer = session.create_consumer(session.create_queue(name))
    channel.confirm_delivery()
    properties = pika.BasicProperties(
        content_type="text/plain",
        headers={"qty": 5, "big": 1 << 40, "x-trace": "t", "nested": {"a": 1}, "none": None},
        correlation_id="c-1",
        reply_to="answers",
        message_id="m-1",
        timestamp=1_700_000_000,
        expiration="600000",
        type="order",
        app_id="billing",
    )
    channel.basic_publish("", name, "héllo".encode(), properties)
    message = consumer.receive(timeout=PATIENCE)
    assert isinstance(message, jmsbridge.TextMessage)
    assert message.text == "héllo"
    seen = {each: value for each, value in message.properties.items() if each != "JMSXDeliveryCount"}
    assert seen == {"qty": 5, "big": 1 << 40, "x-trace": "t", "none": None, "JMSXAppID": "billing"}
    assert type(seen["big"]) is Long
    assert (message.jms_correlation_id, message.jms_message_id, message.jms_type) == ("c-1", "m-1", "order")
    assert message.jms_reply_to == session.create_queue("answers")
    assert message.jms_timestamp == 1_700_000_000_000


def test_a_broken_message_is_received_as_bytes(channel: Any, session: jmsbridge.Session, name: str) -> None:
    consumer = session.create_consumer(session.create_queue(name))
    channel.basic_publish("", name, b"\xff\xfe", pika.BasicProperties(content_type="text/plain"))
    message = consumer.receive(timeout=PATIENCE)
    assert isinstance(message, jmsbridge.BytesMessage)
    assert message.get_body(bytes) == b"\xff\xfe"
    assert "UTF-8" in (message.get_string_property("JMS_jmsbridge_fault") or "")
