"""A send that times out before the backend has written it is cancelled, and certainly not sent."""

from collections.abc import Callable
from typing import Any

import pytest

from jmsbridge import (
    Connection,
    DeliveryMode,
    EmulationWarning,
    InDoubtException,
    JMSException,
    MessageProducer,
    Queue,
    ResourceAllocationException,
    Session,
    TransactionRolledBackException,
)
from jmsbridge.spi import Native, SendRefused
from jmsbridge.testing.scripted import Call, ScriptedBackend
from jmsbridge.testing.suite.support import LONG, Completions, eventually, run_thread, send_texts

Connect = Callable[..., Connection]
QUEUE = Queue("orders")


@pytest.mark.parametrize("handled", [False, True])
def test_a_synchronous_send_was_not_sent(backend: ScriptedBackend, connect: Connect, handled: bool) -> None:
    """The error names the message and says that it was not sent; the broker never gets it."""
    session = connect(send_timeout=0.05).create_session()
    if handled:
        session.send_acknowledgement_handler = lambda message: None
    backend.script.keep("send")
    message = session.create_text_message("never")
    with pytest.raises(ResourceAllocationException, match="was not sent within") as caught:
        session.create_producer(QUEUE).send(message)
    assert message.jms_message_id is not None
    assert message.jms_message_id in str(caught.value)
    assert caught.value.error_code == "SendCancelled"
    assert backend.script.held("send") == []
    assert backend.accepted == []


def test_a_written_send_is_in_doubt(backend: ScriptedBackend, connect: Connect) -> None:
    session = connect(send_timeout=0.05).create_session()
    backend.hold("send")
    with pytest.raises(InDoubtException):
        send_texts(session, QUEUE, "unknown")


def _before_cancel(backend: ScriptedBackend, action: Callable[[], object]) -> None:
    def hook(call: Call) -> None:
        action()

    backend.script.before["cancel"] = hook


def test_an_answer_during_the_cancellation_counts(backend: ScriptedBackend, connect: Connect) -> None:
    session = connect(send_timeout=0.05).create_session()
    backend.hold("send")
    _before_cancel(backend, lambda: backend.release("send"))
    send_texts(session, QUEUE, "just in time")
    assert [envelope.body for envelope in backend.accepted] == ["just in time"]


def test_a_refusal_during_the_cancellation_counts(backend: ScriptedBackend, connect: Connect) -> None:
    session = connect(send_timeout=0.05).create_session()
    backend.hold("send")
    _before_cancel(backend, lambda: backend.script.release("send", error=SendRefused("the queue is full")))
    with pytest.raises(ResourceAllocationException, match="the queue is full"):
        send_texts(session, QUEUE, "refused")


def test_asynchronous_sends_at_close(backend: ScriptedBackend, connect: Connect) -> None:
    """In send order: the first was written and is in doubt, the others were not sent."""
    session = connect(close_timeout=0.1).create_session()
    producer, completions = session.create_producer(QUEUE), Completions()
    sent = [session.create_text_message(str(number)) for number in range(4)]
    backend.hold("send")
    producer.send(sent[0], completion_listener=completions)
    backend.script.keep("send")
    for message in sent[1:]:
        producer.send(message, completion_listener=completions)
    session.close()
    assert completions.messages == sent
    kinds = [type(event[2]) for event in completions.events]
    assert kinds == [InDoubtException, *[ResourceAllocationException] * 3]
    assert backend.script.count("cancel") == 1


def test_cancelling_a_background_send(backend: ScriptedBackend, connect: Connect) -> None:
    heard: list[JMSException] = []
    connection = connect(close_timeout=0.1)
    connection.exception_listener = heard.append
    session = connection.create_session()
    backend.script.keep("send")
    message = session.create_text_message("never")
    session.create_producer(QUEUE).send(message, delivery_mode=DeliveryMode.NON_PERSISTENT)
    session.close()
    eventually(lambda: heard)
    assert isinstance(heard[0], InDoubtException)
    assert list(heard[0].refused) == [message]
    assert list(heard[0].unknown) == []


@pytest.mark.parametrize("handled", [False, True])
def test_cancelling_a_group(backend: ScriptedBackend, connect: Connect, handled: bool) -> None:
    session = connect(send_timeout=0.1, group_ack_threshold=2).create_session()
    if handled:
        session.send_acknowledgement_handler = lambda message: None
    producer = session.create_producer(QUEUE)
    backend.hold("send")
    producer.send(session.create_text_message("unknown"), delivery_mode=DeliveryMode.PERSISTENT_GROUPACK)
    backend.script.keep("send")
    with pytest.raises(InDoubtException) as caught:
        producer.send(session.create_text_message("never"), delivery_mode=DeliveryMode.PERSISTENT_GROUPACK)
    assert [message.get_body(str) for message in caught.value.unknown] == ["unknown"]
    assert [message.get_body(str) for message in caught.value.refused] == ["never"]


def test_an_emulated_commit_that_wrote_nothing_has_rolled_back(backend: ScriptedBackend, connect: Connect) -> None:
    backend.lower(Native.TRANSACTIONS | Native.SEND_TRANSACTIONS)
    with pytest.warns(EmulationWarning):
        session = connect(send_timeout=0.1).create_session(transacted=True)
    send_texts(session, QUEUE, "a", "b")
    backend.script.keep("send")
    with pytest.raises(TransactionRolledBackException):
        session.commit()
    backend.script.answer_inline("send")
    session.commit()
    assert backend.accepted == []


def test_a_transaction_with_a_cancelled_send_rolls_back(backend: ScriptedBackend, connect: Connect) -> None:
    session = connect(send_timeout=0.1).create_session(transacted=True)
    backend.script.keep("send")
    send_texts(session, QUEUE, "never")
    with pytest.raises(TransactionRolledBackException):
        session.commit()
    assert backend.accepted == []


def test_a_link_lost_during_the_cancellation_answers(backend: ScriptedBackend, connect: Connect) -> None:
    session = connect(send_timeout=0.05).create_session()
    backend.script.keep("send")
    _before_cancel(backend, backend.link.cut)
    sending = run_thread(lambda: send_texts(session, QUEUE, "unknown"))
    with pytest.raises(InDoubtException):
        sending.result(LONG)


# ---- where the client delays messages, because the broker cannot


def _delayed(session: Session, text: str, delay: float, **options: Any) -> MessageProducer:
    producer = session.create_producer(QUEUE)
    producer.delivery_delay = delay
    producer.send(session.create_text_message(text), **options)
    return producer


def test_a_delayed_send_whose_producer_is_closed_is_never_sent(backend: ScriptedBackend, connect: Connect) -> None:
    backend.lower(Native.DELAY)
    session = connect(emulation="allow", close_timeout=0.05).create_session()
    completions = Completions()
    producer = _delayed(session, "never", 0.5, completion_listener=completions)
    producer.close()
    [(_, _, error)] = completions.wait(1)
    assert isinstance(error, ResourceAllocationException)
    assert "never sent" in str(error)
    assert session._core.outgoing._delays._held == []
    session.close()
    assert backend.accepted == []


@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize("is_async", [False, True])
def test_a_delayed_send_without_an_answer_at_close(
    backend: ScriptedBackend, connect: Connect, is_async: bool, written: bool
) -> None:
    """One that the backend has not written is cancelled there; the outcome of the other is unknown."""
    backend.lower(Native.DELAY)
    heard: list[JMSException] = []
    connection = connect(emulation="allow", close_timeout=0.3)
    connection.exception_listener = heard.append
    session = connection.create_session()
    completions = Completions()
    backend.hold("send") if written else backend.script.keep("send")
    _delayed(session, "late", 0.01, **({"completion_listener": completions} if is_async else {}))
    backend.script.wait_held("send")
    session.close()
    if is_async:
        [(_, _, error)] = completions.wait(1)
        assert isinstance(error, InDoubtException if written else ResourceAllocationException)
    else:
        eventually(lambda: heard)
        failure = heard[0]
        assert isinstance(failure, InDoubtException)
        assert (len(failure.unknown), len(failure.refused)) == ((1, 0) if written else (0, 1))
    assert len(backend.script.held("send")) == written
