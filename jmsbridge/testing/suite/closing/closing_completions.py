"""Closing, committing and rolling back around asynchronous sends (section 7.3.4; rules CL-8 and CL-9)."""

import threading
from collections.abc import Callable
from concurrent.futures import wait

import pytest

from jmsbridge import (
    AUTO_ACKNOWLEDGE,
    SESSION_TRANSACTED,
    IllegalState,
    IllegalStateException,
    IllegalStateRuntimeException,
    Message,
    Queue,
    Session,
)
from jmsbridge.spi.native import Native
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.marks import pitfall, requires, rule
from jmsbridge.testing.suite.support import LONG, SHORT, Completions, assert_empty, receive_texts, run_thread

Action = Callable[[], object]
IN_TRANSACTION = [pytest.param(action, marks=requires(Native.TRANSACTIONS)) for action in ("commit", "rollback")]


class Setting:
    """A session or context, with the objects that a callback tries to close."""

    def __init__(self, harness: Harness, queue: Queue, api: str, mode: int) -> None:
        self.queue = queue
        if api == "context":
            context = harness.context(mode)
            self.session_commit: Action = context.commit
            self.actions: dict[str, Action] = {
                "close-context": context.close,
                "commit": context.commit,
                "rollback": context.rollback,
            }
            self.send: Callable[[str, Completions | None], object] = lambda text, completions: (
                context.create_producer().set_async(completions).send(queue, text)
            )
        else:
            connection = harness.connect()
            session = connection.create_session(session_mode=mode)
            producer = session.create_producer(queue)
            self.session_commit = session.commit
            self.actions = {
                "close-producer": producer.close,
                "close-session": session.close,
                "close-connection": connection.close,
                "commit": session.commit,
                "rollback": session.rollback,
            }
            self.send = lambda text, completions: (
                producer.send(text, completion_listener=completions) if completions else producer.send(text)
            )


def mode_for(action: str) -> int:
    """Commit and rollback need a transaction; closing is tested without one."""
    return SESSION_TRANSACTED if action in ("commit", "rollback") else AUTO_ACKNOWLEDGE


def waits_for_completions(harness: Harness, session: Session, queue: Queue, api: str, action: str) -> None:
    """Hold the first of three callbacks, start the action, and check that it waits until the third has returned."""
    setting = Setting(harness, queue, api, mode_for(action))
    inside, leave = threading.Event(), threading.Event()

    def hold(message: Message) -> None:
        inside.set()
        assert leave.wait(LONG)

    completions = Completions(on=hold)
    for text in "abc":
        setting.send(text, completions)
    assert inside.wait(LONG)
    acting = run_thread(setting.actions[action])
    assert not wait([acting], timeout=SHORT).done, f"{action} did not wait for the callbacks"
    assert len(completions.events) == 1
    leave.set()
    acting.result(LONG)
    assert [event[0] for event in completions.events] == ["completed"] * 3
    assert [message.get_body(str) for message in completions.messages] == ["a", "b", "c"]
    consumer = session.create_consumer(queue)
    if action != "rollback":
        assert receive_texts(consumer, 3) == ["a", "b", "c"]
    assert_empty(consumer)


@rule("CL-8")
@pytest.mark.parametrize("action", ["close-producer", "close-session", "close-connection", *IN_TRANSACTION])
def test_close_waits_for_completions(harness: Harness, session: Session, queue: Queue, action: str) -> None:
    """close, commit and rollback wait for pending asynchronous sends and their callbacks."""
    waits_for_completions(harness, session, queue, "session", action)


@rule("CL-8")
@pytest.mark.parametrize("action", ["close-context", *IN_TRANSACTION])
def test_close_waits_for_completions_of_a_context(
    harness: Harness, session: Session, queue: Queue, action: str
) -> None:
    """The same for a JMSContext."""
    waits_for_completions(harness, session, queue, "context", action)


def refused_in_callback(
    harness: Harness, session: Session, queue: Queue, api: str, action: str, expected: type[IllegalState]
) -> None:
    """The action in the callback raises IllegalState and has no effect; the same action outside succeeds."""
    setting = Setting(harness, queue, api, mode_for(action))
    errors: list[BaseException | None] = []
    returned = threading.Event()

    def act(message: Message) -> None:
        try:
            setting.actions[action]()
        except BaseException as error:
            errors.append(error)
        else:
            errors.append(None)
        returned.set()

    completions = Completions(on=act)
    setting.send("first", completions)
    completions.wait(1)
    assert returned.wait(LONG)
    assert [type(error) for error in errors] == [expected]
    setting.send("second", None)
    if action == "rollback":
        setting.session_commit()
    setting.actions[action]()
    assert [event[0] for event in completions.events] == ["completed"]
    consumer = session.create_consumer(queue)
    assert receive_texts(consumer, 2) == ["first", "second"]
    assert_empty(consumer)


@rule("CL-9")
@pitfall(13)
@pytest.mark.parametrize("action", ["close-producer", "close-session", "close-connection", *IN_TRANSACTION])
def test_close_from_a_completion_listener_is_refused(
    harness: Harness, session: Session, queue: Queue, action: str
) -> None:
    """A completion listener cannot close its own producer, session or connection, or end its transaction."""
    refused_in_callback(harness, session, queue, "session", action, IllegalStateException)


@rule("CL-9")
@pitfall(13)
@pytest.mark.parametrize("action", ["close-context", *IN_TRANSACTION])
def test_close_from_a_completion_listener_of_a_context_is_refused(
    harness: Harness, session: Session, queue: Queue, action: str
) -> None:
    """The same for a JMSContext, with the unchecked class."""
    refused_in_callback(harness, session, queue, "context", action, IllegalStateRuntimeException)


@rule("CL-9")
@pitfall(13)
def test_close_inside_a_completion_listener_does_not_bind_other_threads(
    harness: Harness, session: Session, queue: Queue
) -> None:
    """While a callback runs, another thread may close the session: it waits and is not refused."""
    setting = Setting(harness, queue, "session", AUTO_ACKNOWLEDGE)
    inside, leave = threading.Event(), threading.Event()
    refused: list[type[BaseException]] = []

    def hold(message: Message) -> None:
        inside.set()
        assert leave.wait(LONG)
        with pytest.raises(IllegalStateException) as raised:
            setting.actions["close-session"]()
        refused.append(raised.type)

    completions = Completions(on=hold)
    setting.send("text", completions)
    assert inside.wait(LONG)
    closing = run_thread(setting.actions["close-session"])
    assert not wait([closing], timeout=SHORT).done
    leave.set()
    closing.result(LONG)
    assert refused == [IllegalStateException]
    assert receive_texts(session.create_consumer(queue), 1) == ["text"]


@rule("CL-9")
def test_close_of_another_producer_from_a_completion_listener_succeeds(
    harness: Harness, session: Session, queue: Queue
) -> None:
    """A callback may close another session and its producer."""
    other = harness.connect().create_session()
    other_producer = other.create_producer(queue)
    outcome: list[str] = []

    def act(message: Message) -> None:
        other_producer.close()
        other.close()
        outcome.append("closed")

    completions = Completions(on=act)
    own = harness.connect().create_session()
    producer = own.create_producer(queue)
    producer.send("text", completion_listener=completions)
    producer.close()
    assert outcome == ["closed"]
    with pytest.raises(IllegalStateException):
        other.create_message()
