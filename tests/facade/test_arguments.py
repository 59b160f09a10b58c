"""Invalid arguments are refused at the call, by name, with the right exception."""

import math
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from jmsbridge import (
    DUPS_OK_ACKNOWLEDGE,
    Connection,
    InvalidDestinationException,
    InvalidSelectorException,
    JMSContext,
    JMSException,
    JMSProducer,
    JMSRuntimeException,
    MessageConsumer,
    MessageFormatException,
    MessageProducer,
    Queue,
    Session,
)
from jmsbridge.testing.suite.support import LONG, eventually, run_thread, send_texts, text_of
from tests.core.support import Embedded

QUEUE = Queue("orders")
NOTHING: Any = None


class Half:
    """Not a completion listener, because one method is missing."""

    def on_completion(self, message: Any) -> None:
        raise AssertionError("never")


@pytest.mark.parametrize("prefetch", [-1, "x", 2.5, True, [], 1.0])
def test_prefetch_is_a_number(broker: Embedded, prefetch: Any) -> None:
    connection = broker.connect()
    session = connection.create_session()
    for act in (
        lambda: session.create_consumer(QUEUE, prefetch=prefetch),
        lambda: connection.create_session(prefetch=prefetch),
        lambda: session.create_shared_consumer(session.create_topic("t"), "s", prefetch=prefetch),
    ):
        with pytest.raises(ValueError, match="prefetch"):
            act()


@pytest.mark.parametrize("timeout", [math.inf, 1e10, 1e300, timedelta.max])
def test_a_receive_may_have_a_very_long_timeout(broker: Embedded, timeout: Any) -> None:
    session = broker.connect().create_session()
    consumer = session.create_consumer(QUEUE)
    receiving = run_thread(lambda: consumer.receive(timeout=timeout))
    eventually(lambda: bool(consumer._receiver.inbox.waiting))
    send_texts(broker.connect().create_session(), QUEUE, "m")
    assert text_of(receiving.result(LONG)) == "m"


@pytest.mark.parametrize("timeout", [math.nan, -1, -0.5, "x", True, [], timedelta(seconds=-1)])
def test_a_receive_refuses_what_is_no_timeout(broker: Embedded, timeout: Any) -> None:
    consumer = broker.connect().create_session().create_consumer(QUEUE)
    with pytest.raises(ValueError, match="duration"):
        consumer.receive(timeout=timeout)
    assert consumer.receive_no_wait() is None


@pytest.mark.parametrize("duration", [math.inf, math.nan, 1e30, -1, "x", timedelta.min, True, []])
def test_messages_refuse_what_is_no_duration(broker: Embedded, duration: Any) -> None:
    producer = broker.connect().create_session().create_producer(QUEUE)
    acts: list[Callable[[], object]] = [
        lambda: producer.send("m", time_to_live=duration),
        lambda: setattr(producer, "time_to_live", duration),
        lambda: setattr(producer, "delivery_delay", duration),
    ]
    for act in acts:
        with pytest.raises(ValueError, match="duration"):
            act()


SESSION: list[tuple[Callable[[Session], object], type[Exception]]] = [
    (lambda session: session.unsubscribe([]), InvalidDestinationException),  # type: ignore[arg-type]
    (lambda session: session.unsubscribe(NOTHING), InvalidDestinationException),
    (lambda session: session.create_consumer(QUEUE, 5), InvalidSelectorException),  # type: ignore[arg-type]
    (lambda session: session.create_consumer(QUEUE, b"x=1"), InvalidSelectorException),  # type: ignore[arg-type]
    (lambda session: session.create_browser(QUEUE, 5), InvalidSelectorException),  # type: ignore[arg-type]
    (lambda session: session.create_consumer(NOTHING), InvalidDestinationException),
    (lambda session: session.create_producer("orders"), InvalidDestinationException),  # type: ignore[arg-type]
    (lambda session: session.create_shared_consumer(session.create_topic("t"), []), JMSException),  # type: ignore[arg-type]
    (lambda session: setattr(session, "group_ack_threshold", "x"), ValueError),
    (lambda session: setattr(session, "group_ack_threshold", 0), ValueError),
    (lambda session: setattr(session, "send_acknowledgement_handler", 5), ValueError),
]


@pytest.mark.parametrize(("act", "expected"), SESSION)
def test_session_arguments(broker: Embedded, act: Callable[[Session], object], expected: type[Exception]) -> None:
    session = broker.connect().create_session()
    with pytest.raises(expected):
        act(session)
    send_texts(session, QUEUE, "usable")


CONNECTION: list[tuple[Callable[[Connection], object], type[Exception]]] = [
    (lambda connection: connection.create_session(session_mode=[]), JMSException),  # type: ignore[call-overload]
    (lambda connection: connection.create_session(session_mode=4), JMSException),
    (lambda connection: connection.create_session(False, "x"), JMSException),  # type: ignore[call-overload]
    (lambda connection: connection.create_session(session_mode=DUPS_OK_ACKNOWLEDGE, dups_ok_messages=-1), ValueError),
    (lambda connection: connection.create_session(session_mode=DUPS_OK_ACKNOWLEDGE, dups_ok_interval=-1), ValueError),
    (lambda connection: setattr(connection, "exception_listener", Half()), ValueError),
    (lambda connection: setattr(connection, "exception_listener", 5), ValueError),
    (lambda connection: setattr(connection, "client_id", []), JMSException),
]


@pytest.mark.parametrize(("act", "expected"), CONNECTION)
def test_connection_arguments(broker: Embedded, act: Callable[[Connection], object], expected: type[Exception]) -> None:
    connection = broker.stopped()
    with pytest.raises(expected):
        act(connection)
    send_texts(connection.create_session(), QUEUE, "usable")


PRODUCER: list[tuple[Callable[[Any], object], type[Exception]]] = [
    (lambda producer: producer.send("m", duplicate_id=5), ValueError),
    (lambda producer: producer.send("m", duplicate_id=[]), ValueError),
    (lambda producer: producer.send(5), MessageFormatException),
    (lambda producer: producer.send(object()), MessageFormatException),
    (lambda producer: producer.send(None), MessageFormatException),
    (lambda producer: producer.send("m", completion_listener="abc"), ValueError),
    (lambda producer: producer.send("m", completion_listener=Half()), ValueError),
    (lambda producer: producer.send("m", completion_listener=None), ValueError),
    (lambda producer: producer.send("m", priority=[]), JMSException),
    (lambda producer: producer.send("m", delivery_mode=[]), JMSException),
]


@pytest.mark.parametrize(("act", "expected"), PRODUCER)
def test_producer_arguments(
    broker: Embedded, act: Callable[[MessageProducer], object], expected: type[Exception]
) -> None:
    producer = broker.connect().create_session().create_producer(QUEUE)
    with pytest.raises(expected):
        act(producer)
    producer.send("usable")


def test_a_message_listener_can_be_called(broker: Embedded) -> None:
    consumer: MessageConsumer = broker.connect().create_session().create_consumer(QUEUE)
    for listener in (5, "abc", Half()):
        with pytest.raises(ValueError, match="listener"):
            consumer.message_listener = listener  # type: ignore[assignment]
    assert consumer.message_listener is None
    assert consumer.receive_no_wait() is None


SIMPLIFIED: list[Callable[[Any], object]] = [
    lambda producer: producer.set_time_to_live("x"),
    lambda producer: producer.set_delivery_delay(-1),
    lambda producer: producer.set_jms_reply_to(5),
    lambda producer: producer.set_jms_correlation_id(5),
    lambda producer: producer.set_jms_correlation_id_as_bytes("x"),
    lambda producer: producer.set_jms_correlation_id_as_bytes(5),
    lambda producer: producer.set_jms_type(5),
    lambda producer: producer.set_property("x", [1]),
    lambda producer: producer.set_property("", 1),
    lambda producer: producer.set_async(5),
    lambda producer: producer.set_async(Half()),
    lambda producer: producer.set_duplicate_id(5),
    lambda producer: producer.set_duplicate_id([]),
    lambda producer: producer.set_priority([]),
    lambda producer: producer.set_delivery_mode([]),
    lambda producer: producer.send(QUEUE, object()),
]


@pytest.mark.parametrize("act", SIMPLIFIED)
def test_simplified_producer_arguments(broker: Embedded, act: Callable[[JMSProducer], object]) -> None:
    context: JMSContext = broker.context()
    producer = context.create_producer()
    with pytest.raises((ValueError, TypeError, JMSRuntimeException)):
        act(producer)
    producer.send(QUEUE, "usable")
    received = context.create_consumer(QUEUE).receive(timeout=LONG)
    assert text_of(received) == "usable"
    assert received is not None
    assert received.jms_correlation_id is None
    assert received.jms_type is None
