"""Which methods may be called from which threads (sections 2.14, 6.2.5, 6.2.6 and 6.2.13; rules TH-1 to TH-4)."""

import pickle
import threading
from concurrent.futures import wait
from functools import partial

import pytest

from jmsbridge import (
    AUTO_ACKNOWLEDGE,
    IllegalStateException,
    IllegalStateRuntimeException,
    Message,
    Queue,
    Session,
)
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.marks import pitfall, rule
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


@rule("TH-1")
def test_thread_connection_serves_many_threads(harness: Harness, session: Session, queue: Queue) -> None:
    """Several threads may create sessions of one connection at the same time and use one session each."""
    connection = harness.connect()
    gate = threading.Barrier(4)

    def work(label: str) -> None:
        gate.wait(LONG)
        own = connection.create_session()
        send_texts(own, queue, *(f"{label}{number}" for number in range(5)))
        own.close()

    threads = [run_thread(partial(work, label)) for label in "abcd"]
    for thread in threads:
        thread.result(LONG)
    texts = receive_texts(session.create_consumer(queue), 20)
    for label in "abcd":
        assert [text for text in texts if text[0] == label] == [f"{label}{number}" for number in range(5)]


@rule("TH-1", "QU-1")
def test_thread_factory_and_destination_serve_many_threads(harness: Harness, session: Session, queue: Queue) -> None:
    """One factory and one destination object serve threads at once; a factory holds no connection itself."""
    factory = harness.factory()
    gate = threading.Barrier(3)

    def work() -> None:
        gate.wait(LONG)
        with factory.create_connection() as connection:
            send_texts(connection.create_session(), queue, "text")

    for thread in [run_thread(work) for _ in range(3)]:
        thread.result(LONG)
    assert receive_texts(session.create_consumer(queue), 3) == ["text"] * 3
    assert pickle.loads(pickle.dumps(queue)) == queue


@rule("TH-2")
@pitfall(18)
def test_thread_listeners_of_one_session_take_turns(harness: Harness, session: Session) -> None:
    """While one listener of a session runs, its other listener waits; then it gets its message."""
    connection = harness.connect(start=False)
    own = connection.create_session()
    first, second = harness.queue(), harness.queue()
    inside, leave = threading.Event(), threading.Event()

    def hold(message: Message) -> None:
        inside.set()
        assert leave.wait(LONG)

    holding, other = Collector(hold), Collector()
    own.create_consumer(first).message_listener = holding
    own.create_consumer(second).message_listener = other
    connection.start()
    send_texts(session, first, "hold")
    assert inside.wait(LONG)
    send_texts(session, second, "wait")
    heard = run_thread(lambda: other.wait(1))
    assert not wait([heard], timeout=SHORT).done
    assert other.texts == []
    leave.set()
    heard.result(LONG)
    assert (holding.texts, other.texts) == (["hold"], ["wait"])


@rule("TH-2")
@pitfall(18)
def test_thread_one_listener_at_a_time_under_load(harness: Harness, session: Session) -> None:
    """Three consumers of one session, many messages: never two calls at once, none lost."""
    connection = harness.connect(start=False)
    own = connection.create_session()
    queues = [harness.queue() for _ in range(3)]
    busy = threading.Lock()
    overlaps: list[Message] = []
    pause = threading.Event()

    def on_message(message: Message) -> None:
        if not busy.acquire(blocking=False):
            overlaps.append(message)
            return
        pause.wait(0.002)
        busy.release()

    collector = Collector(on_message)
    for queue in queues:
        own.create_consumer(queue).message_listener = collector
        send_texts(session, queue, *map(str, range(10)))
    connection.start()
    collector.wait(30)
    assert overlaps == []
    for queue in queues:
        texts = [m.get_body(str) for m in collector.messages if m.jms_destination == queue]
        assert texts == [str(number) for number in range(10)]


@rule("TH-2")
@pitfall(18)
def test_thread_listeners_of_two_sessions_run_together(harness: Harness, session: Session) -> None:
    """Listeners of different sessions run at the same time: both meet at a barrier."""
    connection = harness.connect()
    meeting = threading.Barrier(2)
    met: list[int] = []

    def on_message(message: Message) -> None:
        met.append(meeting.wait(LONG))

    for _ in range(2):
        queue = harness.queue()
        connection.create_session().create_consumer(queue).message_listener = Collector(on_message)
        send_texts(session, queue, "text")
    eventually(lambda: len(met) == 2)
    assert sorted(met) == [0, 1]


@rule("TH-2")
def test_thread_listener_and_completion_run_off_the_caller(harness: Harness, session: Session, queue: Queue) -> None:
    """All listener calls of a session come on one thread, which is not the application's."""
    threads: set[threading.Thread] = set()
    collector = Collector(lambda message: threads.add(threading.current_thread()))
    harness.connect().create_session().create_consumer(queue).message_listener = collector
    send_texts(session, queue, "a", "b", "c")
    collector.wait(3)
    eventually(lambda: threads)
    assert len(threads) == 1
    assert threading.current_thread() not in threads


@rule("TH-3")
@pitfall(18)
def test_thread_receive_beside_a_listener_is_refused(harness: Harness, session: Session, queue: Queue) -> None:
    """receive on a session with a listener is refused; the listener is not affected."""
    own = harness.connect().create_session()
    collector = Collector()
    listening = own.create_consumer(queue)
    other = own.create_consumer(harness.queue())
    listening.message_listener = collector
    for consumer in (listening, other):
        with pytest.raises(IllegalStateException):
            consumer.receive(timeout=SHORT)
        with pytest.raises(IllegalStateException):
            consumer.receive_no_wait()
    send_texts(session, queue, "heard")
    collector.wait(1)
    assert collector.texts == ["heard"]


@rule("TH-3")
def test_thread_receive_of_a_context_beside_a_listener_is_refused(harness: Harness, queue: Queue) -> None:
    """The same through a JMSContext, with the unchecked class."""
    context = harness.context()
    consumer = context.create_consumer(queue)
    consumer.message_listener = Collector()
    with pytest.raises(IllegalStateRuntimeException):
        consumer.receive(timeout=SHORT)
    with pytest.raises(IllegalStateRuntimeException):
        context.create_consumer(harness.queue()).receive_no_wait()


@rule("TH-3")
@pitfall(18)
def test_thread_two_receives_at_once_are_refused(harness: Harness, session: Session, queue: Queue) -> None:
    """While one thread waits in receive, another's receive on the session is refused; the first gets its message."""
    own = harness.connect().create_session()
    first, second = own.create_consumer(queue), own.create_consumer(harness.queue())
    waiting = run_thread(lambda: first.receive(timeout=LONG))
    assert not wait([waiting], timeout=SHORT).done
    for consumer in (first, second):
        with pytest.raises(IllegalStateException):
            consumer.receive(timeout=SHORT)
    send_texts(session, queue, "text")
    message = waiting.result(LONG)
    assert message is not None
    assert message.get_body(str) == "text"


@rule("TH-3")
def test_thread_context_may_get_a_second_listener(harness: Harness, session: Session) -> None:
    """A started JMSContext may get another consumer with another listener; both get their messages."""
    context = harness.context()
    collectors: list[Collector] = []
    for label in ("first", "second"):
        queue = harness.queue()
        collector = Collector()
        context.create_consumer(queue).message_listener = collector
        collectors.append(collector)
        send_texts(session, queue, label)
    for collector in collectors:
        collector.wait(1)
    assert [collector.texts for collector in collectors] == [["first"], ["second"]]


@rule("TH-3")
def test_thread_context_sibling_may_be_made_beside_a_listener(harness: Harness, session: Session, queue: Queue) -> None:
    """create_context, and closing a consumer, are allowed from any thread while listeners run."""
    context = harness.context()
    inside, leave = threading.Event(), threading.Event()

    def hold(message: Message) -> None:
        inside.set()
        assert leave.wait(LONG)

    context.create_consumer(queue).message_listener = Collector(hold)
    send_texts(session, queue, "hold")
    assert inside.wait(LONG)
    sibling = context.create_context(AUTO_ACKNOWLEDGE)
    other = harness.queue()
    sibling.create_producer().send(other, "from the sibling")
    assert receive_texts(sibling.create_consumer(other), 1) == ["from the sibling"]
    leave.set()
    sibling.close()


@rule("TH-3")
def test_thread_listener_may_receive_from_another_session(harness: Harness, session: Session, queue: Queue) -> None:
    """The restriction is per session: a listener may receive on a session of its own making."""
    connection = harness.connect()
    other = harness.queue()
    found: list[list[str]] = []

    def on_message(message: Message) -> None:
        with connection.create_session() as own:
            found.append(receive_texts(own.create_consumer(other), 1))

    send_texts(session, other, "there")
    connection.create_session().create_consumer(queue).message_listener = Collector(on_message)
    send_texts(session, queue, "go")
    eventually(lambda: found)
    assert found == [["there"]]


@rule("TH-4")
def test_thread_listener_is_unset_by_none(harness: Harness, session: Session, queue: Queue) -> None:
    """Setting None removes the listener; later messages wait for receive."""

    consumer = harness.connect().create_session().create_consumer(queue)
    assert consumer.message_listener is None
    collector = Collector()
    consumer.message_listener = collector
    assert consumer.message_listener is collector
    send_texts(session, queue, "heard")
    collector.wait(1)
    consumer.message_listener = None
    assert consumer.message_listener is None
    send_texts(session, queue, "received")
    assert receive_texts(consumer, 1) == ["received"]
    assert_empty(consumer)
    assert collector.texts == ["heard"]


@rule("TH-4")
def test_thread_listener_gets_what_came_before_it(harness: Harness, session: Session, queue: Queue) -> None:
    """Messages that wait in the consumer when a listener is set go to the listener, in order."""
    consumer = harness.connect().create_session().create_consumer(queue)
    send_texts(session, queue, "a", "b", "c", "d")
    assert receive_texts(consumer, 1) == ["a"]
    collector = Collector()
    consumer.message_listener = collector
    collector.wait(3)
    assert collector.texts == ["b", "c", "d"]
