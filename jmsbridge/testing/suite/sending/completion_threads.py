"""Asynchronous send: threads, order, waiting, back-pressure: rules AS-3, AS-6, CL-8, CL-9 (section 7.3)."""

import threading
import time
from collections.abc import Callable

import pytest

from jmsbridge import SESSION_TRANSACTED, JMSContext, Message, MessageProducer, Queue, Session
from jmsbridge.errors import IllegalState, IllegalStateException, IllegalStateRuntimeException, JMSException
from jmsbridge.spi.native import Native
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.marks import pitfall, requires, rule
from jmsbridge.testing.suite.receiving.redelivery_support import deferred_session, left, take
from jmsbridge.testing.suite.support import (
    LONG,
    SHORT,
    Completions,
    assert_empty,
    eventually,
    receive_texts,
    run_thread,
    send_texts,
)


class Holding(Completions):
    """Completions whose first callback blocks until ``release``; ``inside`` is called at its end."""

    def __init__(self, inside: Callable[[Message], object] | None = None) -> None:
        super().__init__(self._hold)
        self.entered, self.leave = threading.Event(), threading.Event()
        self.returned = 0
        self.errors: list[BaseException] = []
        self._inside = inside

    def _hold(self, message: Message) -> None:
        if not self.entered.is_set():
            self.entered.set()
            assert self.leave.wait(LONG)
            if self._inside is not None:
                try:
                    self._inside(message)
                except Exception as error:  # what these cases are about
                    self.errors.append(error)
        self.returned += 1

    def started(self) -> None:
        """Wait until the first callback is inside."""
        assert self.entered.wait(LONG)

    def release(self) -> None:
        """Let the first callback return."""
        self.leave.set()


def send_async(session: Session, producer: MessageProducer, listener: Completions, *texts: str) -> None:
    """Send these texts asynchronously."""
    for text in texts:
        producer.send(session.create_text_message(text), completion_listener=listener)


# -- threads and order -----------------------------------------------------------------------------------------------


@rule("AS-3")
@pitfall(21)
def test_callback_runs_on_another_thread(session: Session, queue: Queue) -> None:
    """Never on the thread that sends, also when the broker answers at once."""
    listener = Completions()
    send_async(session, session.create_producer(queue), listener, *"abcdefghij")
    listener.wait(10)
    assert threading.current_thread() not in listener.threads
    assert all(thread.name.startswith("jmsbridge-") for thread in listener.threads)


@rule("AS-3")
def test_callbacks_come_one_at_a_time(harness: Harness, session: Session, queue: Queue) -> None:
    """One callback at a time per session, over all its producers and listeners."""
    running = threading.Semaphore(1)
    overlaps: list[Message] = []

    def guard(message: Message) -> None:
        if not running.acquire(blocking=False):
            overlaps.append(message)
            return
        time.sleep(0.002)  # sleep: long enough for another callback to come in
        running.release()

    listeners = [Completions(guard), Completions(guard)]
    producers = [session.create_producer(queue), session.create_producer(harness.queue("other"))]
    for number in range(40):
        send_async(session, producers[number % 2], listeners[number // 2 % 2], str(number))
    session.close()
    assert [len(listener.events) for listener in listeners] == [20, 20]
    assert overlaps == []


@rule("AS-3")
def test_callbacks_of_sessions_are_independent(harness: Harness, queue: Queue) -> None:
    """A callback that blocks delays only its own session."""
    connection = harness.connect()
    slow, quick = connection.create_session(), connection.create_session()
    listener, other = Holding(), Completions()
    send_async(slow, slow.create_producer(queue), listener, "a", "b")
    listener.started()
    try:
        send_async(quick, quick.create_producer(queue), other, "c", "d")
        other.wait(2)
        assert len(listener.events) == 1
    finally:
        listener.release()


# -- close, commit and rollback wait ---------------------------------------------------------------------------------


def assert_waits(work: Callable[[], object], listener: Holding, count: int) -> None:
    """Check that ``work`` returns only after all ``count`` callbacks, the first of which is blocked, have returned."""
    ending = run_thread(work)
    try:
        with pytest.raises(TimeoutError):
            ending.result(SHORT)
        assert listener.returned == 0
    finally:
        listener.release()
    ending.result(LONG)
    assert listener.returned == count
    assert [event[0] for event in listener.events] == ["completed"] * count


@rule("CL-8")
@pitfall(23)
@pytest.mark.parametrize("closed", ["producer", "session", "connection"])
def test_close_waits_for_callbacks(harness: Harness, queue: Queue, closed: str) -> None:
    """Closing producer, session or connection lets incomplete sends complete, callbacks included."""
    connection = harness.connect()
    session = connection.create_session()
    producer = session.create_producer(queue)
    listener = Holding()
    send_async(session, producer, listener, "a", "b", "c")
    listener.started()
    close = {"producer": producer.close, "session": session.close, "connection": connection.close}[closed]
    assert_waits(close, listener, 3)
    assert [text for text, _, _ in left(harness, queue, 3)] == ["a", "b", "c"]


@rule("CL-8")
@pitfall(23)
def test_close_of_context_waits_for_callbacks(harness: Harness, queue: Queue) -> None:
    """The same for a JMSContext."""
    context = harness.context()
    listener = Holding()
    producer = context.create_producer().set_async(listener)
    for text in "abc":
        producer.send(queue, text)
    listener.started()
    assert_waits(context.close, listener, 3)


@rule("CL-8", "AS-8")
@pitfall(16, 23)
@requires(Native.TRANSACTIONS)
@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_commit_waits_for_callbacks(harness: Harness, queue: Queue, end: str) -> None:
    """Commit and rollback wait for the callbacks of their session's sends."""
    transacted = deferred_session(harness, SESSION_TRANSACTED)
    listener = Holding()
    send_async(transacted, transacted.create_producer(queue), listener, "a", "b", "c")
    ending = run_thread(transacted.commit if end == "commit" else transacted.rollback)
    listener.started()
    try:
        with pytest.raises(TimeoutError):
            ending.result(SHORT)
    finally:
        listener.release()
    ending.result(LONG)
    assert listener.returned == 3
    transacted.close()
    expected = ["a", "b", "c"] if end == "commit" else []
    assert [text for text, _, _ in left(harness, queue, len(expected))] == expected


# -- what a callback may not do --------------------------------------------------------------------------------------

OWN: dict[str, Callable[[Session, MessageProducer, Callable[[], None]], Callable[[], None]]] = {
    "producer.close": lambda session, producer, close: producer.close,
    "session.close": lambda session, producer, close: session.close,
    "connection.close": lambda session, producer, close: close,
    "session.commit": lambda session, producer, close: session.commit,
    "session.rollback": lambda session, producer, close: session.rollback,
}


@rule("CL-9")
@pitfall(23)
@requires(Native.TRANSACTIONS)
@pytest.mark.parametrize("ending", OWN.values(), ids=OWN)
def test_callback_may_not_end_its_own(
    harness: Harness,
    queue: Queue,
    ending: Callable[[Session, MessageProducer, Callable[[], None]], Callable[[], None]],
) -> None:
    """A callback cannot close its own producer, session or connection, commit or roll back; all keep working."""
    connection = harness.connect()
    session = connection.create_session(transacted=True)
    producer = session.create_producer(queue)
    listener = Holding(lambda _: ending(session, producer, connection.close)())
    send_async(session, producer, listener, "a")
    listener.release()
    session.commit()
    assert [type(error) for error in listener.errors] == [IllegalStateException]
    producer.send(session.create_text_message("b"))
    session.commit()
    assert receive_texts(session.create_consumer(queue), 2) == ["a", "b"]


ENDINGS: dict[str, Callable[[JMSContext], None]] = {
    "close": lambda context: context.close(),
    "commit": lambda context: context.commit(),
    "rollback": lambda context: context.rollback(),
}


@rule("CL-9")
@pitfall(23)
@requires(Native.TRANSACTIONS)
@pytest.mark.parametrize("ending", ENDINGS.values(), ids=ENDINGS)
def test_callback_of_context_may_not_end_it(
    harness: Harness, queue: Queue, ending: Callable[[JMSContext], None]
) -> None:
    """The same for a JMSContext, unchecked."""
    context = harness.context(SESSION_TRANSACTED)
    listener = Holding(lambda _: ending(context))
    context.create_producer().set_async(listener).send(queue, "a")
    listener.release()
    context.commit()
    assert [type(error) for error in listener.errors] == [IllegalStateRuntimeException]
    assert receive_texts(context.create_consumer(queue), 1) == ["a"]


@rule("CL-9")
@pitfall(23)
@pytest.mark.parametrize("closed", ["producer", "session", "connection"])
def test_close_from_application_while_callback_is_refused(harness: Harness, queue: Queue, closed: str) -> None:
    """While the application's close waits, the callback's own close is refused; then the application's succeeds."""
    connection = harness.connect()
    session = connection.create_session()
    producer = session.create_producer(queue)
    close = {"producer": producer.close, "session": session.close, "connection": connection.close}[closed]
    listener = Holding(lambda _: close())
    send_async(session, producer, listener, "a", "b")
    listener.started()
    assert_waits(close, listener, 2)
    assert [type(error) for error in listener.errors] == [IllegalStateException]


@rule("CL-9")
@pitfall(23)
@requires(Native.TRANSACTIONS)
def test_commit_from_application_while_callback_is_refused(harness: Harness, queue: Queue) -> None:
    """The same for commit: only the calling thread matters."""
    transacted = deferred_session(harness, SESSION_TRANSACTED)
    listener = Holding(lambda _: transacted.commit())
    send_async(transacted, transacted.create_producer(queue), listener, "a", "b")
    committing = run_thread(transacted.commit)
    listener.started()
    listener.release()
    committing.result(LONG)
    assert [type(error) for error in listener.errors] == [IllegalStateException]
    assert receive_texts(transacted.create_consumer(queue), 2) == ["a", "b"]


# -- what a callback may do ------------------------------------------------------------------------------------------


@rule("CL-9")
def test_callback_may_close_what_is_not_its_own(harness: Harness, session: Session, queue: Queue) -> None:
    """Another producer of the session, another session and another connection are not the callback's own."""
    other = harness.connect()
    sibling = other.create_session()
    producer = session.create_producer(queue)

    def close_others(_: Message) -> None:
        sibling.close()
        other.close()

    listener = Holding(close_others)
    send_async(session, producer, listener, "a", "b")
    listener.release()
    eventually(lambda: listener.returned == 2)
    assert listener.errors == []
    with pytest.raises(IllegalState):
        sibling.create_text_message("x")


@rule("CL-9", "CN-5")
def test_callback_may_stop_its_connection(harness: Harness, queue: Queue) -> None:
    """stop concerns deliveries, not completions: allowed in a completion listener."""
    connection = harness.connect()
    session = connection.create_session()
    consumer = session.create_consumer(queue)
    listener = Holding(lambda _: connection.stop())
    send_async(session, session.create_producer(queue), listener, "a")
    listener.release()
    eventually(lambda: listener.returned == 1)
    session.create_producer(queue).send(session.create_text_message("b"))
    assert_empty(consumer)
    assert listener.errors == []
    connection.start()
    assert receive_texts(consumer, 2) == ["a", "b"]


@rule("CL-9", "CN-5")
def test_callback_may_stop_its_context(harness: Harness, queue: Queue) -> None:
    """JMSContext.stop from its own completion listener raises nothing."""
    context = harness.context()
    listener = Holding(lambda _: context.stop())
    context.create_producer().set_async(listener).send(queue, "a")
    listener.release()
    context.close()
    assert (len(listener.events), listener.errors) == (1, [])


@rule("AS-6")
@pitfall(23)
def test_callback_may_use_its_session(harness: Harness, session: Session, queue: Queue) -> None:
    """With no other thread on the session, a callback sends and receives with it and does not deadlock."""
    replies = harness.queue("replies")
    producer, consumer = session.create_producer(None), session.create_consumer(replies)
    got: list[str | None] = []

    def work(_: Message) -> None:
        producer.send(replies, session.create_text_message("from the callback"))
        got.append(take(consumer).text)

    listener = Holding(work)
    producer.send(queue, session.create_text_message("a"), completion_listener=listener)
    listener.release()
    eventually(lambda: listener.returned == 1)
    assert (got, listener.errors) == (["from the callback"], [])


@rule("AS-6")
def test_callback_session_is_not_dedicated(session: Session, queue: Queue) -> None:
    """A completion listener does not dedicate the session: the application receives and creates with it as before."""
    consumer = session.create_consumer(queue)
    listener = Completions()
    for text in "abc":
        send_async(session, session.create_producer(queue), listener, text)
        assert receive_texts(consumer, 1) == [text]
    listener.wait(3)
    send_texts(session, queue, "d")
    assert receive_texts(consumer, 1) == ["d"]


@rule("AS-6", "CL-8")
def test_callback_chain_of_sends(session: Session, queue: Queue) -> None:
    """Each callback sends the next message asynchronously; close waits for whatever the last one started."""
    producer = session.create_producer(queue)
    done = threading.Event()

    def continue_chain(_: Message) -> None:
        count = len(listener.events)
        if count < 5:
            send_async(session, producer, listener, str(count))
        else:
            done.set()

    listener = Completions(continue_chain)
    send_async(session, producer, listener, "0")
    assert done.wait(LONG)
    assert [event[0] for event in listener.events] == ["completed"] * 5
    assert receive_texts(session.create_consumer(queue), 5) == list("01234")


@rule("CL-8", "AS-6")
@pitfall(23)
@pytest.mark.parametrize("closed", ["producer", "session", "connection"])
def test_callback_sends_while_close_waits(harness: Harness, queue: Queue, closed: str) -> None:
    """A callback that uses the session while close waits for it does not deadlock; its send works or is refused."""
    connection = harness.connect()
    session = connection.create_session()
    producer = session.create_producer(queue)
    close = {"producer": producer.close, "session": session.close, "connection": connection.close}[closed]
    listener = Holding(lambda _: producer.send(session.create_text_message("late")))
    send_async(session, producer, listener, "a")
    listener.started()
    assert_waits(close, listener, 1)
    assert all(isinstance(error, IllegalState) for error in listener.errors)
    expected = ["a"] if listener.errors else ["a", "late"]
    assert [text for text, _, _ in left(harness, queue, len(expected))] == expected


@rule("CL-8", "AS-6")
@pitfall(16, 23)
@requires(Native.TRANSACTIONS)
def test_callback_sends_while_commit_waits(harness: Harness, queue: Queue) -> None:
    """A callback that sends while commit waits does not deadlock; this commit or the next covers its message."""
    transacted = deferred_session(harness, SESSION_TRANSACTED)
    producer = transacted.create_producer(queue)
    listener = Holding(lambda _: producer.send(transacted.create_text_message("late")))
    send_async(transacted, producer, listener, "a")
    committing = run_thread(transacted.commit)
    listener.started()
    with pytest.raises(TimeoutError):
        committing.result(0.05)
    listener.release()
    committing.result(LONG)
    assert listener.errors == []
    transacted.commit()
    assert receive_texts(transacted.create_consumer(queue), 2) == ["a", "late"]


# -- back-pressure ---------------------------------------------------------------------------------------------------


@rule("AS-6")
def test_callback_window_holds_the_sender_back(harness: Harness, queue: Queue) -> None:
    """When send_window sends are pending, the next one waits for room."""
    session = harness.connect(send_window=3).create_session()
    producer = session.create_producer(queue)
    listener = Holding()
    send_async(session, producer, listener, "a", "b", "c")
    listener.started()
    fourth = run_thread(lambda: send_async(session, producer, listener, "d"))
    try:
        with pytest.raises(TimeoutError):
            fourth.result(SHORT)
    finally:
        listener.release()
    fourth.result(LONG)
    listener.wait(4)
    assert receive_texts(session.create_consumer(queue), 4) == list("abcd")


@rule("AS-2")
def test_callback_window_wait_ends_with_send_timeout(harness: Harness, queue: Queue) -> None:
    """A sender that finds no room within send_timeout gets an error, and no callback follows."""
    session = harness.connect(send_window=1, send_timeout=0.3).create_session()
    producer = session.create_producer(queue)
    listener = Holding()
    send_async(session, producer, listener, "a")
    listener.started()
    try:
        with pytest.raises(JMSException):
            send_async(session, producer, listener, "b")
    finally:
        listener.release()
    session.close()
    assert [event[0] for event in listener.events] == ["completed"]
    assert [text for text, _, _ in left(harness, queue, 1)] == ["a"]


@rule("AS-6")
@pitfall(23)
def test_callback_sends_with_full_window(harness: Harness, queue: Queue) -> None:
    """A callback that sends while the window is full does not wait for itself."""
    session = harness.connect(send_window=1).create_session()
    producer = session.create_producer(queue)
    listener = Holding(lambda _: send_async(session, producer, listener, "b"))
    send_async(session, producer, listener, "a")
    listener.release()
    eventually(lambda: listener.returned == 2)
    assert listener.errors == []
    assert receive_texts(session.create_consumer(queue), 2) == ["a", "b"]
