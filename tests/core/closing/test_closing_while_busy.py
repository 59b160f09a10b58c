"""Closing while other threads send, run callbacks, listen and create sessions."""

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from jmsbridge import (
    CLIENT_ACKNOWLEDGE,
    INDIVIDUAL_ACKNOWLEDGE,
    Connection,
    IllegalStateException,
    JMSException,
    Message,
    Queue,
    Session,
    TransactionRolledBackException,
)
from jmsbridge.testing.marks import rule
from jmsbridge.testing.scripted import Call, ScriptedBackend
from jmsbridge.testing.suite.support import LONG, Completions, eventually, run_thread, send_texts, text_of
from tests.core.support import Embedded, Gate

Connect = Callable[..., Connection]
QUEUE = Queue("orders")


@pytest.mark.parametrize("attempt", range(30))
def test_every_send_that_returned_is_called_back_once(broker: Embedded, attempt: int) -> None:
    session = broker.connect().create_session()
    producer = session.create_producer(QUEUE)
    called: Counter[str] = Counter()
    sent: list[str] = []
    enough = threading.Event()

    def send_on() -> None:
        for number in range(100_000):
            producer.send(str(number), completion_listener=lambda message, error: called.update([text_of(message)]))
            sent.append(str(number))
            if number == attempt:
                enough.set()

    sending = run_thread(send_on)
    assert enough.wait(LONG)
    session.close()
    assert isinstance(sending.exception(LONG), IllegalStateException)
    assert called == Counter(sent)


def test_callbacks_that_always_send_again_are_ended(broker: Embedded) -> None:
    session = broker.connect(close_timeout=0.2).create_session()
    producer = session.create_producer(QUEUE)
    sent: list[int] = []
    called: Counter[int] = Counter()

    def again(message: Any, error: Any) -> None:
        called[message.get_int_property("number")] += 1
        send()

    def send() -> None:
        message = session.create_message()
        message.set_int_property("number", len(called))
        producer.send(message, delivery_mode=1, completion_listener=again)
        sent.append(1)

    send()
    run_thread(session.close).result(LONG)
    assert set(called.values()) == {1}
    assert len(called) == len(sent)


def test_callbacks_that_always_send_again_without_answers_are_ended(backend: ScriptedBackend, connect: Connect) -> None:
    session = connect(close_timeout=0.1).create_session()
    producer = session.create_producer(QUEUE)
    outcomes: list[str] = []

    def again(message: Any, error: Any) -> None:
        outcomes.append(message.text)
        producer.send(f"{len(outcomes)}", completion_listener=again)

    backend.hold("send")
    producer.send("0", completion_listener=again)
    run_thread(session.close).result(LONG)
    assert outcomes == [str(number) for number in range(len(outcomes))]
    assert backend.script.count("send") == len(outcomes)


def test_a_session_created_while_its_connection_closes_is_refused(backend: ScriptedBackend, connect: Connect) -> None:
    connection = connect()
    opening, go = threading.Event(), threading.Event()

    def late(call: Call) -> None:
        opening.set()
        assert go.wait(LONG)

    backend.script.before["channel"] = late
    creating = run_thread(connection.create_session)
    assert opening.wait(LONG)
    connection.close()
    go.set()
    assert isinstance(creating.exception(LONG), JMSException)


def test_a_session_that_a_listener_creates_while_its_connection_closes_is_closed(broker: Embedded) -> None:
    connection = broker.connect()
    session = connection.create_session()
    send_texts(session, QUEUE, "m")
    gate = Gate()
    made: list[Session] = []

    def listener(message: Message) -> None:
        gate()
        made.append(connection.create_session())

    session.create_consumer(QUEUE).message_listener = listener
    gate.wait_entered()
    closing = threading.Event()
    quiet = session._core._wait_quiet

    def say_closing(left: Callable[[], float]) -> None:
        closing.set()
        quiet(left)

    session._core._wait_quiet = say_closing  # type: ignore[method-assign]
    done = run_thread(connection.close)
    assert closing.wait(LONG)
    gate.open.set()
    done.result(LONG)
    for one in made:
        with pytest.raises(IllegalStateException):
            one.create_message()
    assert connection._core.sessions == ()


def test_the_second_closer_of_a_consumer_waits_for_its_listener_too(broker: Embedded) -> None:
    session = broker.connect().create_session()
    send_texts(session, QUEUE, "m")
    gate = Gate()
    consumer = session.create_consumer(QUEUE)
    consumer.message_listener = gate
    gate.wait_entered()
    closers = [run_thread(consumer.close) for _ in range(2)]
    returned_early = threading.Event()
    for closer in closers:
        closer.add_done_callback(lambda _: None if gate.returned.is_set() else returned_early.set())
    assert not returned_early.wait(0.1)
    gate.open.set()
    for closer in closers:
        closer.result(LONG)
    assert not returned_early.is_set()


@rule("CL-6")
def test_a_listener_closes_its_consumer_that_another_thread_is_closing(broker: Embedded) -> None:
    session = broker.connect().create_session()
    send_texts(session, QUEUE, "m")
    consumer = session.create_consumer(QUEUE)
    gate, closed = Gate(), threading.Event()

    def listener(message: Message) -> None:
        gate()
        consumer.close()
        closed.set()

    consumer.message_listener = listener
    gate.wait_entered()
    closing = run_thread(consumer.close)
    eventually(lambda: session._core.incoming._quiet.gates)
    gate.open.set()
    assert closed.wait(LONG)
    closing.result(LONG)


def test_a_listener_commits_while_its_callback_stops_the_connection(broker: Embedded) -> None:
    connection = broker.connect()
    session = connection.create_session(transacted=True)
    producer = session.create_producer(Queue("replies"))
    committed = threading.Event()

    def stop(message: Message, error: Any) -> None:
        connection.stop()

    def listener(message: Message) -> None:
        producer.send("reply", completion_listener=stop)
        session.commit()
        committed.set()

    session.create_consumer(QUEUE).message_listener = listener
    send_texts(connection.create_session(), QUEUE, "request")
    assert committed.wait(LONG)
    run_thread(connection.stop).result(LONG)


def test_an_executor_whose_thread_cannot_start_calls_back_later(
    broker: Embedded, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = broker.connect(close_timeout=0.1).create_session()
    producer = session.create_producer(QUEUE)
    completions = Completions()

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        producer.send("first", completion_listener=completions)
    producer.send("second", completion_listener=completions)
    assert [event[0] for event in completions.wait(2)] == ["completed", "completed"]


def test_close_wakes_an_executor_whose_thread_could_not_start(
    broker: Embedded, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = broker.connect(close_timeout=0.1).create_session()
    completions = Completions()

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        session.create_producer(QUEUE).send("only", completion_listener=completions)
    run_thread(session.close).result(LONG)
    assert [event[0] for event in completions.events] == ["completed"]


def test_a_consumer_that_is_being_created_when_the_connection_closes_is_refused_at_once(
    backend: ScriptedBackend, connect: Connect
) -> None:
    """It waited for a new link until ``send_timeout``, a minute after the connection was closed."""
    gate, connection = Gate(), connect(close_timeout=0.1)
    session = connection.create_session()
    backend.script.before["subscribe"] = gate
    creating = run_thread(lambda: session.create_consumer(QUEUE))
    gate.wait_entered()
    connection.close()
    gate.open.set()
    with pytest.raises(IllegalStateException, match="the session is closed"):
        creating.result(LONG)


def _close_meanwhile(monkeypatch: pytest.MonkeyPatch, session: Session, step: str) -> None:
    """Have another thread close the session when its next call has checked that it is open."""
    core = session._core
    check = getattr(core, step)

    def check_then_close(*arguments: Any) -> Any:
        result = check(*arguments)
        monkeypatch.undo()
        run_thread(session.close).result(LONG)
        return result

    monkeypatch.setattr(core, step, check_then_close)


def test_a_commit_that_its_session_s_close_overtakes_has_rolled_back(
    broker: Embedded, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = broker.connect()
    session = connection.create_session(transacted=True)
    send_texts(session, QUEUE, "rolled back")
    _close_meanwhile(monkeypatch, session, "_check_transacted")
    with pytest.raises(TransactionRolledBackException, match="the session was closed"):
        session.commit()
    assert list(connection.create_session().create_browser(QUEUE)) == []


@pytest.mark.parametrize("mode", [CLIENT_ACKNOWLEDGE, INDIVIDUAL_ACKNOWLEDGE])
def test_an_acknowledge_that_its_session_s_close_overtakes_is_refused(
    broker: Embedded, monkeypatch: pytest.MonkeyPatch, mode: int
) -> None:
    connection = broker.connect()
    send_texts(connection.create_session(), QUEUE, "again")
    session = connection.create_session(session_mode=mode)
    message = session.create_consumer(QUEUE).receive(timeout=LONG)
    assert message is not None
    _close_meanwhile(monkeypatch, session, "begin")
    with pytest.raises(IllegalStateException, match="the session was closed before"):
        message.acknowledge()
    again = connection.create_session().create_consumer(QUEUE).receive(timeout=LONG)
    assert again is not None
    assert again.jms_redelivered
