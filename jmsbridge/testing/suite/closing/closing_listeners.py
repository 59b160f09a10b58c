"""Closing around listeners and blocked receives (sections 6.1.8, 6.2.15, 8.8; rules CL-5 to CL-7)."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait

import pytest

from jmsbridge import (
    AUTO_ACKNOWLEDGE,
    CLIENT_ACKNOWLEDGE,
    SESSION_TRANSACTED,
    Connection,
    IllegalState,
    IllegalStateException,
    IllegalStateRuntimeException,
    JMSConsumer,
    JMSContext,
    Message,
    MessageConsumer,
    Queue,
    Session,
)
from jmsbridge.spi.native import Native
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.marks import pitfall, requires, rule
from jmsbridge.testing.suite.receiving.redelivery_support import returned, unseen
from jmsbridge.testing.suite.support import (
    LONG,
    SHORT,
    Collector,
    assert_empty,
    eventually,
    receive_texts,
    run_thread,
    send_texts,
)


class Held:
    """A listener that blocks until it is released, then runs ``work`` and records its result."""

    def __init__(self, work: Callable[[Message], object]) -> None:
        self.work = work
        self.inside = threading.Event()
        self.go = threading.Event()
        self.outcome: Future[object] = Future()

    def __call__(self, message: Message) -> None:
        self.inside.set()
        try:
            assert self.go.wait(LONG)
            self.outcome.set_result(self.work(message))
        except BaseException as error:  # the test asks the future
            self.outcome.set_exception(error)

    def close_meanwhile(self, close: Callable[[], None]) -> None:
        """Close in another thread; it must wait for this listener, whose work must succeed."""
        assert self.inside.wait(LONG)
        closing = run_thread(close)
        assert not wait([closing], timeout=SHORT).done, "close did not wait for the listener"
        assert not self.outcome.done()
        self.go.set()
        closing.result(LONG)
        assert self.outcome.done(), "close returned before the listener had finished"
        self.outcome.result(0)


CLOSED_BY = ["consumer", "session", "connection"]


def held_session(
    harness: Harness, session: Session, queue: Queue, mode: int, work: Callable[[Session, Message], object]
) -> tuple[Held, dict[str, Callable[[], None]]]:
    """A session whose listener is blocked in the first of two messages, and the objects to close."""
    connection = harness.connect()
    own = connection.create_session(session_mode=mode)
    consumer = own.create_consumer(queue)
    held = Held(lambda message: work(own, message))
    consumer.message_listener = held
    send_texts(session, queue, "first")
    assert held.inside.wait(LONG)
    send_texts(session, queue, "second")
    return held, {"consumer": consumer.close, "session": own.close, "connection": connection.close}


@rule("CL-5")
@pitfall(14)
@pytest.mark.parametrize("what", ["session", "connection"])
def test_close_waits_for_the_running_listener(harness: Harness, session: Session, queue: Queue, what: str) -> None:
    """close() from outside waits, the listener can still send, its message is acknowledged, and no other is taken."""
    answers = harness.queue()

    def answer(own: Session, message: Message) -> None:
        send_texts(own, answers, f"answer to {message.get_body(str)}")

    held, close = held_session(harness, session, queue, AUTO_ACKNOWLEDGE, answer)
    held.close_meanwhile(close[what])
    assert receive_texts(session.create_consumer(answers), 1) == ["answer to first"]
    consumer = session.create_consumer(queue)
    second = consumer.receive(timeout=LONG)
    assert second is not None
    assert (second.get_body(str), second.jms_redelivered) == unseen(harness, "second")[:2]
    assert_empty(consumer)


@rule("CL-5")
@pitfall(14)
@pytest.mark.parametrize("what", CLOSED_BY)
def test_close_waits_for_the_running_listener_that_acknowledges(
    harness: Harness, session: Session, queue: Queue, what: str
) -> None:
    """A listener in client mode can acknowledge while close() waits for it."""
    held, close = held_session(harness, session, queue, CLIENT_ACKNOWLEDGE, lambda own, message: message.acknowledge())
    held.close_meanwhile(close[what])
    consumer = session.create_consumer(queue)
    assert receive_texts(consumer, 1) == ["second"]
    assert_empty(consumer)


@rule("CL-5")
@pitfall(14)
@requires(Native.TRANSACTIONS)
@pytest.mark.parametrize("what", CLOSED_BY)
def test_close_waits_for_the_running_listener_that_commits(
    harness: Harness, session: Session, queue: Queue, what: str
) -> None:
    """A listener in a transaction can send and commit while close() waits for it."""
    answers = harness.queue()

    def work(own: Session, message: Message) -> None:
        send_texts(own, answers, "committed")
        own.commit()

    held, close = held_session(harness, session, queue, SESSION_TRANSACTED, work)
    held.close_meanwhile(close[what])
    assert receive_texts(session.create_consumer(answers), 1) == ["committed"]
    consumer = session.create_consumer(queue)
    assert receive_texts(consumer, 1) == ["second"]
    assert_empty(consumer)


@rule("CL-5")
@pitfall(14)
@pytest.mark.parametrize("what", ["context", "consumer"])
def test_close_waits_for_a_context_s_running_listener(
    harness: Harness, session: Session, queue: Queue, what: str
) -> None:
    """The same through a JMSContext and a JMSConsumer."""
    answers = harness.queue()
    context = harness.context()
    consumer = context.create_consumer(queue)
    held = Held(lambda message: context.create_producer().send(answers, "answer"))
    consumer.message_listener = held
    send_texts(session, queue, "text")
    held.close_meanwhile(context.close if what == "context" else consumer.close)
    assert receive_texts(session.create_consumer(answers), 1) == ["answer"]
    assert_empty(session.create_consumer(queue))


@rule("CL-5", "CL-6")
@pitfall(14)
@pytest.mark.parametrize("timeout", [None, LONG], ids=["for-ever", "timed"])
@pytest.mark.parametrize("what", CLOSED_BY)
def test_close_ends_a_blocked_receive(harness: Harness, queue: Queue, what: str, timeout: float | None) -> None:
    """close() returns, and a receive that waits in another thread returns None at once."""
    connection = harness.connect()
    session = connection.create_session()
    consumer = session.create_consumer(queue)
    close = {"consumer": consumer.close, "session": session.close, "connection": connection.close}[what]
    returned: list[object] = []
    waiting = run_thread(lambda: returned.append(consumer.receive(timeout=timeout)))
    assert not wait([waiting], timeout=SHORT).done
    run_thread(close).result(LONG / 2)
    waiting.result(LONG)
    assert returned == [None]
    with pytest.raises(IllegalStateException):
        consumer.receive(timeout=SHORT)


@rule("CL-5", "CL-6")
@pytest.mark.parametrize("what", ["context", "consumer"])
def test_close_ends_a_blocked_receive_of_a_context(harness: Harness, queue: Queue, what: str) -> None:
    """The same through a JMSContext."""
    context = harness.context()
    consumer = context.create_consumer(queue)
    waiting = run_thread(consumer.receive)
    assert not wait([waiting], timeout=SHORT).done
    run_thread(context.close if what == "context" else consumer.close).result(LONG)
    assert waiting.result(0) is None
    with pytest.raises(IllegalStateRuntimeException):
        consumer.receive_no_wait()


@rule("CL-6")
@pitfall(14)
def test_close_consumer_from_another_thread_waits_for_its_listener(
    harness: Harness, session: Session, queue: Queue
) -> None:
    """Closing a consumer waits for its listener; other messages stay for the next consumer of the session."""
    sessions: list[Session] = []
    held, close = held_session(harness, session, queue, AUTO_ACKNOWLEDGE, lambda own, message: sessions.append(own))
    held.close_meanwhile(close["consumer"])
    consumer = sessions[0].create_consumer(queue)
    assert receive_texts(consumer, 1) == ["second"]
    assert_empty(consumer)


def consumer_of(
    harness: Harness, api: str, mode: int, queue: Queue
) -> tuple[MessageConsumer | JMSConsumer, Session | JMSContext]:
    """A consumer of either API with its session."""
    if api == "context":
        context = harness.context(mode)
        return context.create_consumer(queue), context
    own = harness.connect().create_session(session_mode=mode)
    return own.create_consumer(queue), own


def run_in_listener(consumer: MessageConsumer | JMSConsumer, work: Callable[[Message], object]) -> Collector:
    """Run ``work`` for each message and record the messages for which it returned."""
    finished = Collector()

    def on_message(message: Message) -> None:
        work(message)
        finished(message)

    consumer.message_listener = on_message
    return finished


@rule("CL-6")
@pitfall(13)
@pytest.mark.parametrize("api", ["session", "context"])
def test_close_consumer_from_own_listener_succeeds(harness: Harness, session: Session, queue: Queue, api: str) -> None:
    """A listener may close its own consumer: its message is acknowledged, and it gets no further message."""
    consumer, own = consumer_of(harness, api, AUTO_ACKNOWLEDGE, queue)
    send_texts(session, queue, "first", "second", "third")
    finished = run_in_listener(consumer, lambda message: consumer.close())
    finished.wait(1)
    rest = session.create_consumer(queue)
    assert receive_texts(rest, 2) == ["second", "third"]
    own.close()
    assert_empty(rest)
    assert finished.texts == ["first"]


@rule("CL-6")
@pitfall(13)
def test_close_consumer_from_own_listener_may_be_followed_by_acknowledge(
    harness: Harness, session: Session, queue: Queue
) -> None:
    """In client mode the message of a listener that closed its consumer can be acknowledged after that."""
    consumer, own = consumer_of(harness, "session", CLIENT_ACKNOWLEDGE, queue)
    send_texts(session, queue, "text")

    def work(message: Message) -> None:
        consumer.close()
        message.acknowledge()

    run_in_listener(consumer, work).wait(1)
    own.close()
    assert_empty(session.create_consumer(queue))


@rule("CL-6")
@requires(Native.TRANSACTIONS)
def test_close_consumer_from_own_listener_may_be_followed_by_commit(
    harness: Harness, session: Session, queue: Queue
) -> None:
    """In a transaction the listener may close its consumer and then commit."""
    own = harness.connect().create_session(session_mode=SESSION_TRANSACTED)
    consumer = own.create_consumer(queue)
    send_texts(session, queue, "text")

    def work(message: Message) -> None:
        consumer.close()
        own.commit()

    run_in_listener(consumer, work).wait(1)
    own.close()
    assert_empty(session.create_consumer(queue))


@rule("CL-6")
@requires(Native.TRANSACTIONS)
def test_close_consumer_from_own_listener_may_be_followed_by_rollback(
    harness: Harness, session: Session, queue: Queue
) -> None:
    """In a transaction the listener may close its consumer and then roll back: the message comes again, elsewhere."""
    own = harness.connect().create_session(session_mode=SESSION_TRANSACTED)
    consumer = own.create_consumer(queue)
    send_texts(session, queue, "text")

    def work(message: Message) -> None:
        consumer.close()
        own.rollback()

    finished = run_in_listener(consumer, work)
    finished.wait(1)
    own.close()
    again = session.create_consumer(queue).receive(timeout=LONG)
    assert again is not None
    assert (again.get_body(str), again.jms_redelivered) == returned(harness, "text")[:2]
    assert finished.texts == ["text"]


@rule("CL-6")
def test_close_consumer_from_the_listener_of_a_sibling(harness: Harness, session: Session, queue: Queue) -> None:
    """A listener may close another consumer of its session, and continues to get messages."""
    own = harness.connect().create_session()
    silenced_queue = harness.queue()
    silenced, silent = own.create_consumer(silenced_queue), Collector()
    silenced.message_listener = silent
    finished = run_in_listener(own.create_consumer(queue), lambda message: silenced.close())
    send_texts(session, queue, "first")
    finished.wait(1)
    send_texts(session, silenced_queue, "unheard")
    send_texts(session, queue, "second")
    finished.wait(2)
    assert receive_texts(session.create_consumer(silenced_queue), 1) == ["unheard"]
    assert (finished.texts, silent.texts) == (["first", "second"], [])


@rule("CL-7")
@pitfall(12)
@pytest.mark.parametrize("what", ["session", "connection", "context"])
def test_close_from_own_listener_is_refused(harness: Harness, session: Session, queue: Queue, what: str) -> None:
    """Closing a session, connection or context from its own listener raises IllegalState and has no effect."""
    errors: list[IllegalState] = []
    target: Session | Connection | JMSContext
    consumer: MessageConsumer | JMSConsumer
    if what == "context":
        target = context = harness.context()
        consumer = context.create_consumer(queue)
    else:
        connection = harness.connect()
        own = connection.create_session()
        target = own if what == "session" else connection
        consumer = own.create_consumer(queue)

    def work(message: Message) -> None:
        with pytest.raises(IllegalState) as raised:
            target.close()
        errors.append(raised.value)

    finished = run_in_listener(consumer, work)
    send_texts(session, queue, "first", "second")
    finished.wait(2)
    assert finished.texts == ["first", "second"]
    expected = IllegalStateRuntimeException if what == "context" else IllegalStateException
    assert [type(error) for error in errors] == [expected, expected]
    target.close()
    assert_empty(session.create_consumer(queue))


@rule("CL-7")
def test_close_of_another_session_inside_a_listener_succeeds(harness: Harness, session: Session, queue: Queue) -> None:
    """A listener may close another session and another connection."""
    connection, other_connection = harness.connect(), harness.connect()
    other_session = connection.create_session()
    closed: list[str] = []

    def work(message: Message) -> None:
        other_session.close()
        other_connection.close()
        closed.append("both")

    run_in_listener(connection.create_session().create_consumer(queue), work)
    send_texts(session, queue, "text")
    eventually(lambda: closed)
    for call in (other_session.create_message, other_connection.create_session):
        with pytest.raises(IllegalStateException):
            call()
