"""Sending: delivery modes, ranges, wrong calls, callbacks (sections 3.4.9, 7.1 to 7.3, 7.7; rules DM and DF-5)."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from jmsbridge import (
    BytesMessage,
    DeliveryMode,
    Destination,
    IllegalStateException,
    IllegalStateRuntimeException,
    InvalidDestinationException,
    InvalidDestinationRuntimeException,
    JMSException,
    JMSRuntimeException,
    MessageFormatException,
    MessageFormatRuntimeException,
    MessageProducer,
    Queue,
    Session,
    StreamMessage,
    UnsupportedOperationError,
)
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.marks import pitfall, rule
from jmsbridge.testing.suite.messages.wire import receive_message
from jmsbridge.testing.suite.support import Completions, assert_empty, eventually, receive_texts

MODES = {"persistent": DeliveryMode.PERSISTENT, "non-persistent": DeliveryMode.NON_PERSISTENT}


@rule("DM-1")
@pytest.mark.parametrize("kind", ["queue", "topic"])
@pytest.mark.parametrize("mode", MODES)
def test_send_exactly_once_in_each_mode(harness: Harness, session: Session, mode: str, kind: str) -> None:
    """Both modes fit both kinds of destination; each message comes once, in order, with its mode."""
    destination: Destination = harness.queue() if kind == "queue" else harness.topic()
    consumer = session.create_consumer(destination)
    producer = session.create_producer(destination)
    producer.delivery_mode = MODES[mode]
    for number in range(10):
        producer.send(session.create_text_message(str(number)))
    received = [receive_message(consumer) for _ in range(10)]
    assert [message.get_body(str) for message in received] == [str(number) for number in range(10)]
    assert {message.jms_delivery_mode for message in received} == {MODES[mode]}
    assert_empty(consumer)


@rule("DM-2", "HD-1")
def test_send_defaults(harness: Harness, session: Session, queue: Queue) -> None:
    """A new producer sends PERSISTENT, with priority 4, without expiration and delay, in both APIs."""
    for producer in (session.create_producer(queue), harness.context().create_producer()):
        assert producer.delivery_mode == DeliveryMode.PERSISTENT
        assert producer.priority == 4
        assert producer.time_to_live == 0
        assert producer.delivery_delay == 0
        assert producer.disable_message_id is False
        assert producer.disable_message_timestamp is False
    message = session.create_message()
    session.create_producer(queue).send(message)
    received = receive_message(session.create_consumer(queue))
    assert (received.jms_delivery_mode, received.jms_priority, received.jms_expiration) == (2, 4, 0)


OUT_OF_RANGE: list[tuple[str, int]] = [
    ("priority", -1),
    ("priority", 10),
    ("delivery_mode", 0),
    ("delivery_mode", -1),
    ("delivery_mode", 4),
]


@rule("DM-2")
@pytest.mark.parametrize(("name", "value"), OUT_OF_RANGE)
def test_send_out_of_range_is_refused(session: Session, queue: Queue, name: str, value: int) -> None:
    """A MessageProducer refuses an invalid mode or priority, keeps its settings and still sends."""
    producer = session.create_producer(queue)
    producer.priority = 6
    producer.delivery_mode = DeliveryMode.NON_PERSISTENT
    with pytest.raises(JMSException):
        setattr(producer, name, value)
    assert (producer.priority, producer.delivery_mode) == (6, DeliveryMode.NON_PERSISTENT)
    producer.send(session.create_message())
    received = receive_message(session.create_consumer(queue))
    assert (received.jms_priority, received.jms_delivery_mode) == (6, DeliveryMode.NON_PERSISTENT)


@rule("DM-2")
@pytest.mark.parametrize(("name", "value"), OUT_OF_RANGE)
def test_send_out_of_range_for_one_message_is_refused(session: Session, queue: Queue, name: str, value: int) -> None:
    """The same for the arguments of one send; nothing is sent."""
    options: dict[str, Any] = {name: value}
    with pytest.raises(JMSException):
        session.create_producer(queue).send(session.create_message(), **options)
    assert_empty(session.create_consumer(queue))


@rule("DM-2")
@pitfall(40)
@pytest.mark.parametrize(("name", "value"), OUT_OF_RANGE)
def test_send_context_producer_out_of_range_at_the_setter(harness: Harness, name: str, value: int) -> None:
    """A JMSProducer refuses at the setter, with the unchecked class."""
    producer = harness.context().create_producer().set_priority(6).set_delivery_mode(DeliveryMode.NON_PERSISTENT)
    with pytest.raises(JMSRuntimeException):
        getattr(producer, f"set_{name}")(value)
    assert (producer.priority, producer.delivery_mode) == (6, DeliveryMode.NON_PERSISTENT)


@rule("HD-1")
@pitfall(24)
def test_send_async_callback_gets_the_caller_s_object_filled_in(session: Session, queue: Queue) -> None:
    """The callback's message is the sent object itself, headers set, on another thread, and unchanged afterwards."""
    seen: list[tuple[object, ...]] = []
    completions = Completions(
        on=lambda m: seen.append((m.jms_message_id, m.jms_timestamp, m.jms_destination, m.jms_priority))
    )
    message = session.create_text_message("text")
    message.set_int_property("p", 1)
    session.create_producer(queue).send(message, priority=8, completion_listener=completions)
    completions.wait(1)
    eventually(lambda: seen)
    assert completions.events[0][0] == "completed"
    assert completions.messages[0] is message
    assert completions.threads[0] is not threading.current_thread()
    received = receive_message(session.create_consumer(queue))
    assert seen == [(received.jms_message_id, received.jms_timestamp, queue, 8)]
    assert (message.text, message.get_int_property("p")) == ("text", 1)
    message.text = "mine again"
    message.set_int_property("p", 2)


@rule("BO-3")
@pitfall(24)
def test_send_async_callback_reads_bytes_without_reset(session: Session, queue: Queue) -> None:
    """A bytes message is in read mode, at its start, when the completion listener gets it."""
    read: list[tuple[int, int, str]] = []

    def on_completion(message: object) -> None:
        assert isinstance(message, BytesMessage)
        read.append((message.body_length, message.read_int(), message.read_utf()))

    message = session.create_bytes_message()
    message.write_int(7)
    message.write_utf("seven")
    session.create_producer(queue).send(message, completion_listener=Completions(on=on_completion))
    eventually(lambda: read)
    assert read == [(11, 7, "seven")]


@rule("BO-3")
@pitfall(24)
def test_send_async_callback_reads_stream_without_reset(session: Session, queue: Queue) -> None:
    """A stream message is in read mode, at its start, when the completion listener gets it."""
    read: list[tuple[object, object]] = []

    def on_completion(message: object) -> None:
        assert isinstance(message, StreamMessage)
        read.append((message.read_int(), message.read_string()))

    message = session.create_stream_message()
    message.write_int(7)
    message.write_string("seven")
    session.create_producer(queue).send(message, completion_listener=Completions(on=on_completion))
    eventually(lambda: read)
    assert read == [(7, "seven")]


@rule("BO-3", "BO-4")
@pytest.mark.parametrize("kind", ["bytes", "stream"])
def test_send_async_callback_reads_from_the_start_what_was_read_before(
    session: Session, queue: Queue, kind: str
) -> None:
    """A body of which its sender has read a part is sent whole, and is read from its start in callback and receiver."""
    read: list[int] = []

    def take_two(message: object) -> None:
        assert isinstance(message, BytesMessage | StreamMessage)
        read.extend([message.read_int(), message.read_int()])

    message = session.create_bytes_message() if kind == "bytes" else session.create_stream_message()
    message.write_int(1)
    message.write_int(2)
    message.reset()
    assert message.read_int() == 1
    session.create_producer(queue).send(message, completion_listener=Completions(on=take_two))
    eventually(lambda: read)
    assert read == [1, 2]
    take_two(receive_message(session.create_consumer(queue)))
    assert read == [1, 2, 1, 2]


NO_MESSAGE: Any = None


@rule("DF-5")
@pitfall(25)
def test_send_missing_message_fails_at_the_call(session: Session, queue: Queue) -> None:
    """Sending None raises MessageFormat, on either kind of producer."""
    with pytest.raises(MessageFormatException):
        session.create_producer(queue).send(NO_MESSAGE)
    with pytest.raises(MessageFormatException):
        session.create_producer(None).send(queue, NO_MESSAGE)
    assert_empty(session.create_consumer(queue))


@rule("DF-5")
@pitfall(25)
def test_send_missing_message_async_fails_at_the_call(session: Session, queue: Queue) -> None:
    """An asynchronous send of None raises, and the listener is not called."""
    completions = Completions()
    producer = session.create_producer(queue)
    with pytest.raises(MessageFormatException):
        producer.send(NO_MESSAGE, completion_listener=completions)
    producer.send(session.create_text_message("real"), completion_listener=completions)
    producer.close()
    assert [event[0] for event in completions.events] == ["completed"]
    assert receive_texts(session.create_consumer(queue), 1) == ["real"]


@rule("DF-5")
@pitfall(25)
@pytest.mark.parametrize("asynchronous", [False, True])
def test_send_missing_message_of_a_context_fails_at_the_call(
    harness: Harness, queue: Queue, asynchronous: bool
) -> None:
    """A JMSProducer raises the unchecked class at the call, with a completion listener too."""
    context = harness.context()
    completions = Completions()
    producer = context.create_producer()
    if asynchronous:
        producer.set_async(completions)
    with pytest.raises(MessageFormatRuntimeException):
        producer.send(queue, NO_MESSAGE)
    context.close()
    assert completions.events == []


@rule("DF-5")
@pitfall(40)
def test_send_identified_producer_refuses_a_destination(harness: Harness, session: Session, queue: Queue) -> None:
    """An identified producer refuses a destination argument, even its own destination."""
    producer = session.create_producer(queue)
    for destination in (queue, harness.queue(), harness.topic()):
        with pytest.raises(UnsupportedOperationError):
            producer.send(destination, session.create_message())
    nowhere: Any = None
    with pytest.raises((UnsupportedOperationError, InvalidDestinationException)):
        producer.send(nowhere, session.create_message())
    assert_empty(session.create_consumer(queue))
    assert producer.destination == queue


@rule("DF-5")
@pitfall(40)
def test_send_anonymous_producer_wants_a_destination(session: Session, queue: Queue) -> None:
    """An anonymous producer refuses a send without a destination; with None the error is InvalidDestination."""
    producer = session.create_producer(None)
    assert producer.destination is None
    with pytest.raises(UnsupportedOperationError):
        producer.send(session.create_message())
    nowhere: Any = None
    with pytest.raises(InvalidDestinationException):
        producer.send(nowhere, session.create_message())
    producer.send(queue, session.create_text_message("there"))
    assert receive_texts(session.create_consumer(queue), 1) == ["there"]


@rule("DF-5")
@pitfall(40)
def test_send_context_producer_missing_destination(harness: Harness) -> None:
    """A JMSProducer raises the unchecked class, for a message and for a body."""
    context = harness.context()
    nowhere: Any = None
    for body in (context.create_message(), "text", b"bytes", {"k": 1}):
        with pytest.raises(InvalidDestinationRuntimeException):
            context.create_producer().send(nowhere, body)


WRONG_SENDS: dict[str, Callable[[MessageProducer, Queue], object]] = {
    "no-message": lambda producer, queue: producer.send(NO_MESSAGE),
    "no-destination": lambda producer, queue: producer.send(NO_MESSAGE, "text"),
    "wrong-form": lambda producer, queue: producer.send(queue, "text"),
    "bad-priority": lambda producer, queue: producer.send("text", priority=99),
    "setter": lambda producer, queue: setattr(producer, "priority", 99),
}


@rule("CL-2", "DF-5")
@pitfall(40)
@pytest.mark.parametrize("wrong", WRONG_SENDS)
def test_send_checks_closed_before_everything(session: Session, queue: Queue, wrong: str) -> None:
    """A closed producer raises IllegalState before it checks the arguments."""
    producer = session.create_producer(queue)
    producer.close()
    with pytest.raises(IllegalStateException):
        WRONG_SENDS[wrong](producer, queue)


@rule("CL-2")
@pitfall(40)
def test_send_closed_context_producer_before_everything(harness: Harness, queue: Queue) -> None:
    """A JMSProducer of a closed context raises IllegalState before it checks the arguments."""
    context = harness.context()
    producer = context.create_producer().send(queue, "before")
    assert receive_texts(context.create_consumer(queue), 1) == ["before"]
    context.close()
    for destination, body in ((queue, "text"), (queue, NO_MESSAGE), (NO_MESSAGE, "text")):
        with pytest.raises(IllegalStateRuntimeException):
            producer.send(destination, body)
