"""Calls in the form of Java's API give an error or a warning that says what to write in Python."""

import warnings
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from jmsbridge import (
    Connection,
    DeliveryMode,
    DurationWarning,
    InvalidArgumentException,
    InvalidArgumentRuntimeException,
    InvalidCall,
    InvalidDestination,
    JMSContext,
    JMSError,
    JMSException,
    JMSRuntimeException,
    Message,
    Queue,
    Session,
    TextMessage,
    UnsupportedOperationError,
)
from jmsbridge.domain import QueueConnectionFactory, QueueRequestor
from jmsbridge.testing.suite.support import receive_texts

QUEUE = Queue("orders")
MODE = DeliveryMode.NON_PERSISTENT
MESSAGE = TextMessage("x")


def told(call: Callable[[], object]) -> str:
    """The text of the InvalidCall that the call raises, which is a JMSError and a TypeError."""
    with pytest.raises(InvalidCall) as caught:
        call()
    assert isinstance(caught.value, JMSError)
    assert isinstance(caught.value, TypeError)
    return str(caught.value)


RECEIVING: list[tuple[Callable[[Any], object], list[str]]] = [
    (
        lambda c: c.receive(5000),
        ["write receive(timeout=5) for Java's receive(5000)", "receive(timeout=5000) waits 5000 s"],
    ),
    (lambda c: c.receive(5), ["receive(timeout=0.005)", "receive(timeout=5) waits 5 s"]),
    (
        lambda c: c.receive(0),
        ["write receive(), which waits for ever, for Java's receive(0)", "receive(timeout=0) does not wait"],
    ),
    (lambda c: c.receive(2.5), ["receive(timeout=2.5) waits 2.5 s"]),
    (lambda c: c.receive(timedelta(seconds=1)), ["receive(timeout=2.5)"]),
    (lambda c: c.receive(None), ["receive(timeout=2.5)"]),
    (lambda c: c.receive(1, 2), ["receive(timeout=2.5)"]),
]
BODIES: list[tuple[Callable[[Any], object], list[str]]] = [
    (lambda c: c.receive_body(str, 5000), ["write receive_body(str, timeout=5) for Java's receive_body(str, 5000)"]),
    (lambda c: c.receive_body(dict, 0), ["receive_body(dict, timeout=0) does not wait"]),
]


@pytest.mark.parametrize(("call", "texts"), RECEIVING)
def test_a_positional_timeout(session: Session, call: Callable[[Any], object], texts: list[str]) -> None:
    consumer = session.create_consumer(QUEUE)
    said = told(lambda: call(consumer))
    assert [text for text in texts if text not in said] == []
    assert consumer.receive_no_wait() is None


@pytest.mark.parametrize(("call", "texts"), [*RECEIVING, *BODIES])
def test_a_positional_timeout_in_the_simplified_api(
    context: JMSContext, call: Callable[[Any], object], texts: list[str]
) -> None:
    consumer = context.create_consumer(QUEUE)
    said = told(lambda: call(consumer))
    assert [text for text in texts if text not in said] == []


def test_a_positional_timeout_of_a_request(session: Session) -> None:
    requestor: Any = QueueRequestor(session, QUEUE)
    assert "request(message, timeout=5)" in told(lambda: requestor.request("x", 5000))
    requestor.close()


LONG_FORM = "send(message, delivery_mode=1, priority=4, time_to_live=5)"
SENDING: list[tuple[Callable[[Any], object], str]] = [
    (lambda p: p.send(MESSAGE, MODE, 4, 5000), LONG_FORM),
    (lambda p: p.send("text", MODE, 4, 5000), LONG_FORM),
    (lambda p: p.send_async(MESSAGE, MODE, 4, 5000), LONG_FORM),
    (lambda p: p.send(MESSAGE, MODE, 4, 5000, print), f"{LONG_FORM[:-1]}, completion_listener=…)"),
    (lambda p: p.send(MESSAGE, print), "send(message, completion_listener=…)"),
    (lambda p: p.send(MESSAGE, MODE), "send(message, delivery_mode=…, priority=…, time_to_live=…"),
    (lambda p: p.send(QUEUE, MESSAGE, MODE, 4, 5000), LONG_FORM.replace("message", "destination, message")),
    (lambda p: p.send(QUEUE, MESSAGE, print), "send(destination, message, completion_listener=…)"),
]


@pytest.mark.parametrize("anonymous", [False, True])
@pytest.mark.parametrize(("call", "text"), SENDING)
def test_positional_settings_of_a_send(
    session: Session, anonymous: bool, call: Callable[[Any], object], text: str
) -> None:
    producer = session.create_producer(None if anonymous else QUEUE)
    assert text in told(lambda: call(producer))
    assert session.create_consumer(QUEUE).receive_no_wait() is None


def test_the_domain_specific_names_raise_the_same(session: Session) -> None:
    with session.connection.create_session() as made:
        publisher: Any = made.create_producer(None)
        assert "time_to_live=1" in told(lambda: publisher.send(made.create_topic("t"), MESSAGE, MODE, 4, 1000))


def test_forms_of_send_that_do_not_fit_the_producer_raise_as_before(session: Session) -> None:
    with pytest.raises(UnsupportedOperationError):
        session.create_producer(QUEUE).send(QUEUE, MESSAGE)
    with pytest.raises(UnsupportedOperationError):
        session.create_producer(None).send(MESSAGE)
    with pytest.raises(InvalidDestination):
        session.create_producer(None).send("orders", MESSAGE)  # type: ignore[call-overload]


def test_a_positional_setting_of_a_jms_producer_is_refused_before_it_sends(context: JMSContext) -> None:
    producer: Any = context.create_producer()
    said = told(lambda: producer.send(QUEUE, "x", MODE, 4, 5000))
    assert "set_time_to_live(5) (seconds)" in said


# ---- seconds


def durations(session: Session, context: JMSContext) -> dict[str, Callable[[Any], object]]:
    """Every call that takes a duration."""
    producer, simple, consumer = (
        session.create_producer(QUEUE),
        context.create_producer(),
        session.create_consumer(QUEUE),
    )
    session.create_producer(QUEUE).send("one to take at once")
    return {
        "attribute": lambda value: setattr(producer, "time_to_live", value),
        "delay": lambda value: setattr(producer, "delivery_delay", value),
        "send": lambda value: producer.send("x", time_to_live=value),
        "chained": lambda value: simple.set_time_to_live(value),
        "chained delay": lambda value: simple.set_delivery_delay(value),
        "receive": lambda value: consumer.receive(timeout=value),
    }


WAYS = ["attribute", "delay", "send", "chained", "chained delay", "receive"]


@pytest.mark.parametrize("way", WAYS)
def test_whole_thousands_look_like_milliseconds(session: Session, context: JMSContext, way: str) -> None:
    act = durations(session, context)[way]
    with pytest.warns(DurationWarning, match=r"5000 of them are 1:23:20.* write 5; if not, write 5000\.0") as caught:
        act(5000)
    assert [each.filename for each in caught] == [__file__]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("value", [5, 999, 3600, 0, 86400, 5000.0, timedelta(seconds=5000)])
def test_other_durations_give_no_warning(session: Session, context: JMSContext, way: str, value: Any) -> None:
    act = durations(session, context)[way]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        act(value)
    assert context.create_producer().time_to_live == 0


# ---- one class for values out of range


@pytest.mark.parametrize(
    "act",
    [
        lambda producer: producer.send("x", priority=10),
        lambda producer: producer.send("x", delivery_mode=0),
        lambda producer: producer.send("x", time_to_live=-1),
        lambda producer: setattr(producer, "priority", 10),
        lambda producer: setattr(producer, "time_to_live", -1),
        lambda producer: setattr(producer, "delivery_delay", -1),
        lambda producer: setattr(producer, "delivery_mode", 9),
    ],
)
def test_what_is_out_of_range_has_one_class(session: Session, act: Callable[[Any], object]) -> None:
    with pytest.raises(InvalidArgumentException) as caught:
        act(session.create_producer(QUEUE))
    assert isinstance(caught.value, JMSException)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    "act",
    [
        lambda producer: producer.set_priority(10),
        lambda producer: producer.set_delivery_mode(0),
        lambda producer: producer.set_time_to_live(-1),
        lambda producer: producer.set_delivery_delay(-1),
    ],
)
def test_what_is_out_of_range_has_one_unchecked_class(context: JMSContext, act: Callable[[Any], object]) -> None:
    with pytest.raises(InvalidArgumentRuntimeException) as caught:
        act(context.create_producer())
    assert isinstance(caught.value, JMSRuntimeException)
    assert isinstance(caught.value, ValueError)


def test_ordinary_sends_give_no_error_and_no_warning(connection: Connection) -> None:
    session = connection.create_session()
    producer = session.create_producer(QUEUE)
    producer.send(session.create_text_message("a"), delivery_mode=MODE, priority=9, time_to_live=30)
    done: list[Message] = []
    producer.send("b", completion_listener=lambda message, error: done.append(message))
    producer.close()
    assert receive_texts(session.create_consumer(QUEUE), 2) == ["a", "b"]
    assert len(done) == 1


def test_the_domain_specific_classes_raise_the_same() -> None:
    with QueueConnectionFactory("embedded:").create_queue_connection() as connection:
        receiver: Any = connection.create_queue_session().create_receiver(QUEUE)
        assert "receive(timeout=5)" in told(lambda: receiver.receive(5000))
