"""Asynchronous send, message by message: rules AS-1, AS-2, AS-4, AS-5, AS-7 to AS-9 (section 7.3).

The threads, the waiting and the order of callbacks are in ``completion_threads``.
"""

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from jmsbridge import (
    BytesMessage,
    DeliveryMode,
    Message,
    MessageProducer,
    Queue,
    Session,
    StreamMessage,
    TextMessage,
    Topic,
)
from jmsbridge.errors import (
    InvalidDestination,
    InvalidDestinationException,
    InvalidDestinationRuntimeException,
    JMSException,
    JMSRuntimeException,
    MessageFormatException,
    MessageFormatRuntimeException,
    UnsupportedOperationError,
)
from jmsbridge.spi.native import Native
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.marks import pitfall, requires, rule
from jmsbridge.testing.suite.receiving.redelivery_support import gone_queue, left
from jmsbridge.testing.suite.support import LONG, Completions, assert_empty, receive_texts


def outcome(send: Callable[[Completions], object]) -> BaseException | None:
    """The outcome of an asynchronous send: None when completed, else the error, raised or given to the listener.

    Fails if there are two outcomes.
    """
    listener = Completions()
    try:
        send(listener)
    except Exception as error:  # its class is what the caller asserts
        quiet = threading.Event()
        assert not quiet.wait(0.1)
        assert listener.events == []
        return error
    [event] = listener.wait(1)
    return event[2] if event[0] == "failed" else None


def send_one(producer: MessageProducer, message: Message, listener: Completions) -> None:
    """One asynchronous send, for ``outcome``."""
    producer.send(message, completion_listener=listener)


# -- the forms -------------------------------------------------------------------------------------------------------


@rule("AS-1")
def test_async_classic_forms(session: Session, queue: Queue) -> None:
    """The four forms of the classic API: identified and anonymous producer, with and without send arguments."""
    own, anonymous = session.create_producer(queue), session.create_producer(None)
    listener = Completions()
    messages = [session.create_text_message(text) for text in "abcd"]
    arguments: dict[str, Any] = {"delivery_mode": 1, "priority": 7, "time_to_live": 60, "completion_listener": listener}
    own.send(messages[0], completion_listener=listener)
    own.send(messages[1], **arguments)
    anonymous.send(queue, messages[2], completion_listener=listener)
    anonymous.send(queue, messages[3], **arguments)
    assert [event[0] for event in listener.wait(4)] == ["completed"] * 4
    assert [(message.jms_delivery_mode, message.jms_priority) for message in messages] == [(2, 4), (1, 7)] * 2
    assert sorted(receive_texts(session.create_consumer(queue), 4)) == list("abcd")


@rule("AS-1", "AS-7")
def test_async_context_sends_every_body(harness: Harness, queue: Queue) -> None:
    """The simplified API: set_async once, then a message, a text, a mapping, bytes or an object."""
    context = harness.context()
    listener = Completions()
    producer = context.create_producer().set_async(listener)
    message = context.create_text_message("message")
    for body in (message, "text", {"a": 1}, b"bytes", [1, "two"]):
        producer.send(queue, body)
    events = listener.wait(5)
    assert [event[0] for event in events] == ["completed"] * 5
    assert events[0][1] is message
    consumer = context.create_consumer(queue)
    got = [consumer.receive(timeout=LONG) for _ in range(5)]
    assert [type(one).__name__ for one in got[1:]] == ["TextMessage", "MapMessage", "BytesMessage", "ObjectMessage"]


@rule("AS-7")
@requires(Native.TEMPORARY, native=True)
def test_async_listener_of_context_is_readable(harness: Harness, queue: Queue) -> None:
    """The listener reads back; None returns to synchronous sends, whose errors are raised."""
    context = harness.context()
    listener = Completions()
    producer = context.create_producer()
    assert producer.async_listener is None
    assert producer.set_async(listener) is producer
    assert producer.async_listener is listener
    producer.send(queue, "a")
    listener.wait(1)
    assert producer.set_async(None).async_listener is None
    producer.send(queue, "b")
    with pytest.raises(InvalidDestinationRuntimeException):
        producer.send(gone_queue(harness), "c")
    assert len(listener.events) == 1


@rule("AS-7")
def test_async_null_listener(session: Session, queue: Queue) -> None:
    """None as completion listener is refused, and nothing is sent."""
    producer = session.create_producer(queue)
    with pytest.raises(ValueError, match=r".+"):
        producer.send(session.create_text_message("a"), completion_listener=None)  # type: ignore[call-overload]
    assert_empty(session.create_consumer(queue))


# -- certainty -------------------------------------------------------------------------------------------------------


@rule("AS-1")
@pitfall(22)
@requires(Native.BROWSE)
def test_async_completed_message_is_with_the_broker(harness: Harness, session: Session, queue: Queue) -> None:
    """When on_completion runs, another connection can already see the message."""
    watching = harness.connect().create_session()
    shown: list[list[str]] = []

    browser = watching.create_browser(queue)

    def browse(_: Message) -> None:
        shown.append([str(message.text) for message in browser if isinstance(message, TextMessage)])

    listener = Completions(browse)
    session.create_producer(queue).send(session.create_text_message("a"), completion_listener=listener)
    listener.wait(1)
    session.close()
    assert shown == [["a"]]


@rule("AS-1")
@pitfall(22)
def test_async_completed_message_survives_a_cut(harness: Harness, queue: Queue) -> None:
    """A completed message is at the broker, even if the network fails at that moment."""
    sending = harness.connect(reconnect_attempts=0).create_session()
    producer = sending.create_producer(queue)
    cut = threading.Event()

    def cut_at_last(_: Message) -> None:
        if len(listener.events) == 3:
            harness.cut()
            cut.set()

    listener = Completions(cut_at_last)
    texts = [str(number) for number in range(3)]
    for text in texts:
        producer.send(sending.create_text_message(text), completion_listener=listener)
    assert cut.wait(LONG)
    assert [event[0] for event in listener.events] == ["completed"] * 3
    assert [text for text, _, _ in left(harness, queue, 3)] == texts


@rule("AS-1")
def test_async_non_persistent_completes_too(session: Session, queue: Queue) -> None:
    """NON_PERSISTENT messages complete as well, although a synchronous send would not wait for them."""
    producer = session.create_producer(queue)
    producer.delivery_mode = DeliveryMode.NON_PERSISTENT
    listener = Completions()
    for text in "abc":
        producer.send(session.create_text_message(text), completion_listener=listener)
    assert [event[0] for event in listener.wait(3)] == ["completed"] * 3


# -- one outcome -----------------------------------------------------------------------------------------------------


@rule("AS-2", "AS-9")
@pitfall(21)
@requires(Native.TEMPORARY, native=True)
def test_async_failure_is_checked(harness: Harness, session: Session) -> None:
    """A MessageProducer's asynchronous send that the broker refuses ends once, with the checked exception."""
    producer = session.create_producer(None)
    gone, message = gone_queue(harness), session.create_text_message("a")
    error = outcome(lambda listener: producer.send(gone, message, completion_listener=listener))
    assert isinstance(error, InvalidDestinationException)
    assert isinstance(error, JMSException)


@rule("AS-2", "AS-9")
@pitfall(21)
@requires(Native.TEMPORARY, native=True)
def test_async_context_failure_is_unchecked(harness: Harness) -> None:
    """A JMSProducer's asynchronous send that the broker refuses ends once, with the unchecked exception."""
    producer = harness.context().create_producer()
    gone = gone_queue(harness)
    error = outcome(lambda listener: producer.set_async(listener).send(gone, "a"))
    assert isinstance(error, InvalidDestinationRuntimeException)
    assert isinstance(error, JMSRuntimeException)


@rule("AS-2")
@pitfall(21)
def test_async_one_outcome_after_link_loss(harness: Harness, queue: Queue) -> None:
    """On a lost connection every send has one outcome, an error; a completed message is always at the broker."""
    sending = harness.connect(reconnect_attempts=0, send_timeout=1).create_session()
    producer = sending.create_producer(queue)
    harness.cut()
    for _ in range(3):
        error = outcome(partial(send_one, producer, sending.create_text_message("a")))
        assert isinstance(error, JMSException)
    assert left(harness, queue, 0) == []


@rule("AS-2")
@pitfall(21, 25)
def test_async_null_message(session: Session, queue: Queue) -> None:
    """Sending None raises MessageFormatException from send, without a callback."""
    producer = session.create_producer(queue)
    listener = Completions()
    with pytest.raises(MessageFormatException):
        producer.send(None, completion_listener=listener)  # type: ignore[call-overload]
    producer.send(session.create_text_message("a"), completion_listener=listener)
    listener.wait(1)
    session.close()
    assert [event[0] for event in listener.events] == ["completed"]


@rule("AS-2")
@pitfall(25)
def test_async_null_message_of_context(harness: Harness, queue: Queue) -> None:
    """The same for a body that is no message body: unchecked, at once, no callback."""
    context = harness.context()
    listener = Completions()
    nested: Any = {"nested": {"a": 1}}
    with pytest.raises(MessageFormatRuntimeException):
        context.create_producer().set_async(listener).send(queue, nested)
    context.close()
    assert listener.events == []


@rule("AS-2")
@pitfall(21)
@pytest.mark.parametrize("bad", ["form", "destination", "priority", "delivery_mode"])
def test_async_bad_arguments_have_one_outcome(session: Session, queue: Queue, bad: str) -> None:
    """A bad argument is reported once, by exception or by callback, and nothing is sent."""
    own, anonymous = session.create_producer(queue), session.create_producer(None)
    message = session.create_text_message("a")
    nowhere: Any = None
    sends: dict[str, tuple[type[Exception], Callable[[Completions], object]]] = {
        "form": (UnsupportedOperationError, lambda cl: own.send(queue, message, completion_listener=cl)),
        "destination": (InvalidDestination, lambda cl: anonymous.send(nowhere, message, completion_listener=cl)),
        "priority": (JMSException, lambda cl: own.send(message, priority=10, completion_listener=cl)),
        "delivery_mode": (JMSException, lambda cl: own.send(message, delivery_mode=9, completion_listener=cl)),
    }
    expected, send = sends[bad]
    assert isinstance(outcome(send), expected)
    assert_empty(session.create_consumer(queue))


@rule("AS-2")
@pitfall(21)
def test_async_listener_that_raises(session: Session, queue: Queue) -> None:
    """An exception of a callback causes no second callback for its message, and the next callbacks follow."""

    def refuse(message: Message) -> None:
        if isinstance(message, TextMessage) and message.text == "a":
            raise LookupError(message.text)

    listener = Completions(refuse)
    producer = session.create_producer(queue)
    messages = [session.create_text_message(text) for text in "abc"]
    for message in messages:
        producer.send(message, completion_listener=listener)
    listener.wait(3)
    session.close()
    assert listener.events == [("completed", message) for message in messages]


# -- the message -----------------------------------------------------------------------------------------------------


@rule("AS-4", "HD-1")
def test_async_headers_are_set_in_callback(session: Session, topic: Topic) -> None:
    """In on_completion the caller's own message has all that the provider sets on send."""
    seen: list[tuple[Any, ...]] = []

    def read(message: Message) -> None:
        seen.append((message.jms_message_id, message.jms_destination, message.jms_delivery_mode, message.jms_priority))
        seen.append((message.jms_timestamp, message.jms_expiration, message.jms_delivery_time))

    listener = Completions(read)
    message = session.create_text_message("a")
    message.jms_priority = 1
    session.create_producer(topic).send(message, priority=8, time_to_live=10, completion_listener=listener)
    [event] = listener.wait(1)
    session.close()
    assert event[1] is message
    (message_id, destination, mode, priority), (timestamp, expiration, delivery_time) = seen
    assert message_id is not None
    assert message_id.startswith("ID:")
    assert (destination, mode, priority) == (topic, DeliveryMode.PERSISTENT, 8)
    assert timestamp > 0
    assert (expiration - timestamp, delivery_time - timestamp) == (10_000, 0)


@rule("AS-4", "BO-3")
def test_async_bytes_are_readable_in_callback(session: Session, queue: Queue) -> None:
    """A BytesMessage can be read in the callback without reset."""
    seen: list[int] = []

    def read(message: Message) -> None:
        assert isinstance(message, BytesMessage)
        seen.extend([message.body_length, message.read_int()])

    listener = Completions(read)
    message = session.create_bytes_message()
    message.write_int(77)
    session.create_producer(queue).send(message, completion_listener=listener)
    listener.wait(1)
    session.close()
    assert seen == [4, 77]


@rule("AS-4", "BO-3")
def test_async_stream_is_readable_in_callback(session: Session, queue: Queue) -> None:
    """A StreamMessage too."""
    seen: list[str | None] = []

    def read(message: Message) -> None:
        assert isinstance(message, StreamMessage)
        seen.append(message.read_string())

    listener = Completions(read)
    message = session.create_stream_message()
    message.write_string("a")
    session.create_producer(queue).send(message, completion_listener=listener)
    listener.wait(1)
    session.close()
    assert seen == ["a"]


class InFlight:
    """Two sends: the first callback blocks until ``release``, so the second message has no callback yet."""

    def __init__(self, session: Session, queue: Queue) -> None:
        self.entered, self.leave = threading.Event(), threading.Event()
        self.producer = session.create_producer(queue)
        self.listener = Completions(self._hold)
        self.first, self.second = session.create_text_message("first"), session.create_text_message("second")
        self.second.set_string_property("p", "v")
        for message in (self.first, self.second):
            self.producer.send(message, completion_listener=self.listener)

    def _hold(self, message: Message) -> None:
        if message is self.first:
            self.entered.set()
            assert self.leave.wait(LONG)

    def release(self) -> None:
        """Let the callbacks go on, and wait for both."""
        self.leave.set()
        self.listener.wait(2)


ACCESSES: dict[str, Callable[[TextMessage], object]] = {
    "text": lambda message: message.text,
    "set_text": lambda message: setattr(message, "text", "x"),
    "get_body": lambda message: message.get_body(str),
    "clear_body": lambda message: message.clear_body(),
    "message_id": lambda message: message.jms_message_id,
    "timestamp": lambda message: message.jms_timestamp,
    "set_type": lambda message: setattr(message, "jms_type", "x"),
    "get_property": lambda message: message.get_string_property("p"),
    "set_property": lambda message: message.set_string_property("p", "x"),
    "property_names": lambda message: list(message.property_names),
    "property_exists": lambda message: message.property_exists("p"),
    "clear_properties": lambda message: message.clear_properties(),
}


@rule("AS-5")
@pytest.mark.parametrize("access", ACCESSES.values(), ids=ACCESSES)
def test_async_message_in_flight_is_inaccessible(
    session: Session, queue: Queue, access: Callable[[TextMessage], object]
) -> None:
    """Between send and callback the message can be neither read nor changed."""
    flight = InFlight(session, queue)
    assert flight.entered.wait(LONG)
    try:
        with pytest.raises(JMSException):
            access(flight.second)
    finally:
        flight.release()
    assert flight.second.text == "second"
    assert flight.second.get_string_property("p") == "v"


@rule("AS-5")
def test_async_message_is_accessible_afterwards(session: Session, queue: Queue) -> None:
    """A message can be accessed again from its callback on, while later messages still cannot."""
    flight = InFlight(session, queue)
    assert flight.entered.wait(LONG)
    try:
        assert flight.first.text == "first"
        assert flight.first.jms_message_id is not None
    finally:
        flight.release()
    flight.second.text = "changed"
    flight.producer.send(flight.second)
    assert receive_texts(session.create_consumer(queue), 3) == ["first", "second", "changed"]


@rule("AS-5")
def test_async_message_in_flight_is_not_sent_again(session: Session, queue: Queue) -> None:
    """Sending a message that is in flight is an access like any other."""
    flight = InFlight(session, queue)
    assert flight.entered.wait(LONG)
    try:
        with pytest.raises(JMSException):
            flight.producer.send(flight.second)
    finally:
        flight.release()
    consumer = session.create_consumer(queue)
    assert receive_texts(consumer, 2) == ["first", "second"]
    assert_empty(consumer)


@rule("AS-5", "HD-11")
def test_async_message_reused_after_completion(session: Session, queue: Queue) -> None:
    """One message object, sent again and again, each time after its callback: every text arrives as it was."""
    producer = session.create_producer(queue)
    message = session.create_text_message()
    for number in range(5):
        message.text = str(number)
        assert producer.send_async(message).result(LONG) is message
    assert receive_texts(session.create_consumer(queue), 5) == list("01234")
