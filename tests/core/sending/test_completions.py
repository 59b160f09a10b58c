"""Completion callbacks with unfavourable timing (Jakarta Messaging 3.1 section 7.3)."""

import random
import threading
from collections.abc import Callable

import pytest

from jmsbridge import (
    SESSION_TRANSACTED,
    Connection,
    IllegalState,
    InDoubt,
    JMSException,
    JMSRuntimeException,
    Message,
    Queue,
)
from jmsbridge.spi import SendRefused
from jmsbridge.testing.marks import rule
from jmsbridge.testing.scripted import Call, ScriptedBackend
from jmsbridge.testing.suite.support import LONG, SHORT, Completions, eventually, run_thread

Connect = Callable[..., Connection]
QUEUE = Queue("orders")
OTHER = Queue("others")


@rule("AS-3")
@pytest.mark.parametrize("seed", range(5))
def test_completions_follow_send_order(backend: ScriptedBackend, connect: Connect, seed: int) -> None:
    """Over two producers and two destinations, in whatever order the answers come."""
    chance = random.Random(seed)
    backend.hold("send")
    session = connect().create_session()
    producers = [session.create_producer(QUEUE), session.create_producer(OTHER)]
    completions = Completions()
    sent: list[Message] = []
    for number in range(200):
        sent.append(session.create_text_message(str(number)))
        chance.choice(producers).send(sent[-1], completion_listener=completions)
    assert completions.events == []
    answered: set[int] = set()
    due = 0
    while held := backend.script.held("send"):
        question = chance.choice(held)
        question.succeed() if chance.random() < 0.8 else question.fail(SendRefused("no"))
        answered.add(int(question.detail.body))
        while due in answered:
            due += 1
        completions.wait(due)  # the executor has run, so that it has seen the gaps
    assert completions.messages == sent


@rule("AS-1", "AS-3")
def test_completions_wait_for_the_head(backend: ScriptedBackend, connect: Connect) -> None:
    backend.hold("send")
    session = connect().create_session()
    producer = session.create_producer(QUEUE)
    completions = Completions()
    for text in "abc":
        producer.send(session.create_text_message(text), completion_listener=completions)
    first, second, third = backend.script.held("send")
    third.succeed()
    second.succeed()
    with pytest.raises(AssertionError):
        completions.wait(1, SHORT)
    first.succeed()
    assert [event[0] for event in completions.wait(3)] == ["completed"] * 3


@pytest.mark.parametrize("policy", ["answer_inline", "answer_later"])
def test_completions_run_on_one_thread_of_their_own(backend: ScriptedBackend, connect: Connect, policy: str) -> None:
    getattr(backend.script, policy)("send")
    session = connect().create_session()
    producer = session.create_producer(QUEUE)
    completions = Completions()
    for number in range(50):
        producer.send(session.create_text_message(str(number)), completion_listener=completions)
    completions.wait(50)
    threads = set(completions.threads)
    assert threading.current_thread() not in threads
    assert len(threads) == 1
    assert not threads.pop().name.endswith("-io")


def test_completions_are_not_sent_one_at_a_time(backend: ScriptedBackend, connect: Connect) -> None:
    """The second message is on its way before the first is answered."""
    backend.hold("send")
    session = connect().create_session()
    producer = session.create_producer(QUEUE)
    for number in range(100):
        producer.send(session.create_text_message(str(number)), completion_listener=Completions())
    assert len(backend.script.held("send")) == 100


def test_completions_do_not_delay_a_synchronous_send(backend: ScriptedBackend, connect: Connect) -> None:
    """A synchronous send gets its own answer, and follows the earlier ones on the wire."""
    backend.hold("send")
    session = connect().create_session()
    producer = session.create_producer(QUEUE)
    completions = Completions()
    producer.send(session.create_text_message("async"), completion_listener=completions)
    waiting = run_thread(lambda: producer.send(session.create_text_message("sync")))
    asynchronous, synchronous = backend.script.wait_held("send", 2)
    assert (asynchronous.detail.body, synchronous.detail.body) == ("async", "sync")
    synchronous.succeed()
    waiting.result(LONG)
    assert completions.events == []
    asynchronous.succeed()
    completions.wait(1)


def test_completions_ignore_a_second_answer(backend: ScriptedBackend, connect: Connect) -> None:
    backend.hold("send")
    session = connect().create_session()
    producer = session.create_producer(QUEUE)
    completions = Completions()
    for text in "ab":
        producer.send(session.create_text_message(text), completion_listener=completions)
    first, second = backend.script.held("send")
    for question in (first, second):
        assert question.ticket is not None
        question.ticket.succeed()
        question.ticket.fail(SendRefused("too late"))
        question.ticket.succeed()
    assert [event[0] for event in completions.wait(2)] == ["completed"] * 2
    backend.script.release("send")
    session.close()
    assert len(completions.events) == 2


def test_completions_refuse_calls_that_would_wait_for_them(backend: ScriptedBackend, connect: Connect) -> None:
    """close, commit and rollback raise inside the callback; the application's thread is not affected meanwhile."""
    backend.hold("send")
    connection = connect()
    session = connection.create_session(session_mode=SESSION_TRANSACTED)
    producer = session.create_producer(QUEUE)
    calls = (producer.close, session.close, connection.close, session.commit, session.rollback)
    refused: list[str] = []
    inside, leave = threading.Event(), threading.Event()

    def on(message: Message) -> None:
        for call in calls:
            with pytest.raises(IllegalState):
                call()
            refused.append(call.__name__)
        connection.stop()
        inside.set()
        assert leave.wait(LONG)

    completions = Completions(on)
    producer.send(session.create_text_message("a"), completion_listener=completions)
    backend.release("send")
    assert inside.wait(LONG)
    assert refused == ["close", "close", "close", "commit", "rollback"]
    committing = run_thread(session.commit)
    assert not committing.done()
    leave.set()
    committing.result(LONG)
    assert [envelope.body for envelope in backend.accepted] == ["a"]


@pytest.mark.parametrize("closed", ["producer", "session", "connection"])
def test_completions_come_before_close_returns(backend: ScriptedBackend, connect: Connect, closed: str) -> None:
    backend.hold("send")
    connection = connect()
    session = connection.create_session()
    producer = session.create_producer(QUEUE)
    completions = Completions()
    sent = [session.create_text_message(str(number)) for number in range(20)]
    for message in sent:
        producer.send(message, completion_listener=completions)
    closes = {"producer": producer.close, "session": session.close, "connection": connection.close}
    closing = run_thread(closes[closed])
    backend.release("send", 19, order=reversed)
    with pytest.raises(TimeoutError):
        closing.result(SHORT)
    backend.release("send")
    closing.result(LONG)
    assert completions.messages == sent


def test_completions_that_never_come_fail_in_order_at_close(backend: ScriptedBackend, connect: Connect) -> None:
    backend.hold("send")
    session = connect(close_timeout=0.1).create_session()
    producer = session.create_producer(QUEUE)
    completions = Completions()
    sent = [session.create_text_message(str(number)) for number in range(5)]
    for message in sent:
        producer.send(message, completion_listener=completions)
    backend.script.held("send")[2].succeed()
    session.close()
    assert completions.messages == sent
    assert [event[0] for event in completions.events] == ["failed", "failed", "completed", "failed", "failed"]
    assert all(isinstance(event[2], InDoubt) for event in completions.events if event[0] == "failed")


@rule("AS-1", "AS-5")
def test_completions_guard_the_message_until_called(backend: ScriptedBackend, connect: Connect) -> None:
    backend.hold("send")
    session = connect().create_session()
    message = session.create_text_message("mine")
    completions = Completions()
    session.create_producer(QUEUE).send(message, completion_listener=completions)
    with pytest.raises(JMSException):
        message.set_string_property("p", "v")
    with pytest.raises(JMSException):
        _ = message.text
    backend.release("send")
    completions.wait(1)
    message.set_string_property("p", "v")
    assert message.text == "mine"


def test_completions_carry_errors_of_their_api(backend: ScriptedBackend, connect: Connect) -> None:
    from jmsbridge import context

    backend.hold("send")
    classic, simple = Completions(), Completions()
    session = connect().create_session()
    session.create_producer(QUEUE).send(session.create_text_message("a"), completion_listener=classic)
    with context("scripted:") as jms:
        jms.create_producer().set_async(simple).send(QUEUE, "b")
        backend.script.release("send", error=SendRefused("full"))
        assert isinstance(classic.wait(1)[0][2], JMSException)
        error = simple.wait(1)[0][2]
    assert isinstance(error, JMSRuntimeException)
    assert "full" in str(error)


def test_completions_survive_a_listener_that_raises(backend: ScriptedBackend, connect: Connect) -> None:
    session = connect().create_session()
    producer = session.create_producer(QUEUE)

    def on(message: Message) -> None:
        raise RuntimeError("an error of the application")

    completions = Completions(on)
    for text in "abc":
        producer.send(session.create_text_message(text), completion_listener=completions)
    assert [event[0] for event in completions.wait(3)] == ["completed"] * 3


def test_completions_may_send_more(backend: ScriptedBackend, connect: Connect) -> None:
    """A callback that sends does not wait for room in a full window."""
    session = connect(send_window=2).create_session()
    producer = session.create_producer(QUEUE)
    later = Completions()

    def on(message: Message) -> None:
        for number in range(5):
            producer.send(session.create_text_message(f"more-{number}"), completion_listener=later)

    producer.send(session.create_text_message("first"), completion_listener=Completions(on))
    later.wait(5)
    assert len(backend.accepted) == 6


def test_completions_of_a_transaction_end_before_its_commit(backend: ScriptedBackend, connect: Connect) -> None:
    backend.hold("send")
    session = connect().create_session(session_mode=SESSION_TRANSACTED)
    producer = session.create_producer(QUEUE)
    at_commit: list[int] = []
    completions = Completions()

    def on_commit(call: Call) -> None:
        at_commit.append(len(completions.events))

    backend.script.before["commit"] = on_commit
    for number in range(10):
        producer.send(session.create_text_message(str(number)), completion_listener=completions)
    committing = run_thread(session.commit)
    backend.release("send", 9)
    eventually(lambda: len(completions.events) == 9)
    assert at_commit == []
    backend.release("send")
    committing.result(LONG)
    assert at_commit == [10]
