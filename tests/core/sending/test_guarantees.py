"""Send guarantees: windows, group acknowledgement, background sends."""

import threading
from collections.abc import Callable

import pytest

from jmsbridge import Connection, DeliveryMode, InDoubt, JMSException, Message, MessageProducer, Queue, Session
from jmsbridge.spi import SendRefused
from jmsbridge.testing.scripted import ScriptedBackend
from jmsbridge.testing.suite.support import LONG, SHORT, Completions, eventually, run_thread, send_texts

Connect = Callable[..., Connection]
QUEUE = Queue("orders")


def test_window_stops_the_sender(backend: ScriptedBackend, connect: Connect) -> None:
    backend.hold("send")
    session = connect(send_window=10).create_session()
    producer = session.create_producer(QUEUE)
    completions = Completions()
    for number in range(10):
        producer.send(session.create_text_message(str(number)), completion_listener=completions)
    eleventh = run_thread(lambda: producer.send(session.create_text_message("10"), completion_listener=completions))
    with pytest.raises(TimeoutError):
        eleventh.result(SHORT)
    assert backend.script.count("send") == 10
    backend.release("send")
    eleventh.result(LONG)
    backend.script.wait_held("send")
    backend.release("send")
    completions.wait(11)


def test_window_that_stays_full_fails_the_send(backend: ScriptedBackend, connect: Connect) -> None:
    """The send raises after ``send_timeout``, and has no callback."""
    backend.hold("send")
    session = connect(send_window=2, send_timeout=0.1).create_session()
    producer = session.create_producer(QUEUE)
    completions, late = Completions(), Completions()
    for text in "ab":
        producer.send(session.create_text_message(text), completion_listener=completions)
    message = session.create_text_message("c")
    with pytest.raises(JMSException, match="window"):
        producer.send(message, completion_listener=late)
    backend.release("send")
    completions.wait(2)
    session.close()
    assert late.events == []
    assert message.text == "c"
    assert backend.script.count("send") == 2


def test_window_in_bytes(backend: ScriptedBackend, connect: Connect) -> None:
    backend.hold("send")
    session = connect(confirmation_window_size=1000).create_session()
    producer = session.create_producer(QUEUE)
    completions = Completions()
    producer.send(session.create_text_message("x" * 800), completion_listener=completions)
    second = run_thread(lambda: producer.send(session.create_text_message("y" * 800), completion_listener=completions))
    with pytest.raises(TimeoutError):
        second.result(SHORT)
    backend.release("send")
    second.result(LONG)
    backend.release("send")
    completions.wait(2)


def _group_producer(session: Session) -> MessageProducer:
    producer = session.create_producer(QUEUE)
    producer.delivery_mode = DeliveryMode.PERSISTENT_GROUPACK
    return producer


def _send(session: Session, producer: MessageProducer, count: int) -> list[Message]:
    messages: list[Message] = [session.create_text_message(str(number)) for number in range(count)]
    for message in messages:
        producer.send(message)
    return messages


def _ids(messages: object) -> list[str | None]:
    assert isinstance(messages, list | tuple)
    return [message.jms_message_id for message in messages]


def test_groupack_knows_exactly_the_unanswered_sends(backend: ScriptedBackend, connect: Connect) -> None:
    backend.hold("send")
    session = connect(group_ack_threshold=100).create_session()
    producer = _group_producer(session)
    sent = _send(session, producer, 10)
    assert _ids(producer.unacknowledged) == _ids(sent)
    held = backend.script.held("send")
    for index in (0, 1, 4, 7):
        held[index].succeed()
    doubtful = [message for index, message in enumerate(sent) if index not in (0, 1, 4, 7)]
    assert _ids(producer.unacknowledged) == _ids(doubtful)
    backend.release("send")
    assert producer.unacknowledged == ()


def test_groupack_after_a_failure_is_exact(backend: ScriptedBackend, connect: Connect) -> None:
    """After the loss of the link: the unanswered sends in send order, whether or not the broker had them."""
    backend.hold("send")
    session = connect(group_ack_threshold=100).create_session()
    producer = _group_producer(session)
    sent = _send(session, producer, 10)
    backend.script.release("send", 4)
    backend.script.answer_inline("send")
    backend.link.cut(applied=2)
    assert _ids(producer.unacknowledged) == _ids(sent[4:])
    assert [envelope.body for envelope in backend.accepted] == ["0", "1", "2", "3", "4", "5"]
    with pytest.raises(InDoubt) as caught:
        producer.send(session.create_text_message("next"))
    assert _ids(caught.value.unknown) == _ids(sent[4:])


def test_groupack_lists_refused_and_open_in_send_order(backend: ScriptedBackend, connect: Connect) -> None:
    backend.hold("send")
    session = connect(group_ack_threshold=100).create_session()
    producer = _group_producer(session)
    sent = _send(session, producer, 6)
    held = backend.script.held("send")
    held[4].fail(SendRefused("no"))
    held[2].fail(SendRefused("no"))
    held[0].succeed()
    assert _ids(producer.unacknowledged) == _ids(sent[1:])
    backend.release("send")
    assert _ids(producer.unacknowledged) == _ids([sent[2], sent[4]])
    with pytest.raises(InDoubt) as caught:
        producer.close()
    assert _ids(caught.value.refused) == _ids([sent[2], sent[4]])


def test_groupack_waits_once_per_group(backend: ScriptedBackend, connect: Connect) -> None:
    backend.hold("send")
    session = connect(group_ack_threshold=5).create_session()
    producer = _group_producer(session)
    _send(session, producer, 4)
    fifth = run_thread(lambda: producer.send(session.create_text_message("5")))
    backend.script.wait_held("send", 5)
    backend.release("send", 4)
    with pytest.raises(TimeoutError):
        fifth.result(SHORT)
    backend.release("send")
    fifth.result(LONG)
    assert producer.unacknowledged == ()


def test_groupack_is_confirmed_by_close(backend: ScriptedBackend, connect: Connect) -> None:
    backend.hold("send")
    session = connect(group_ack_threshold=100).create_session()
    producer = _group_producer(session)
    _send(session, producer, 3)
    closing = run_thread(producer.close)
    with pytest.raises(TimeoutError):
        closing.result(SHORT)
    backend.release("send")
    closing.result(LONG)
    assert len(backend.accepted) == 3


def test_background_send_that_fails_is_reported(backend: ScriptedBackend, connect: Connect) -> None:
    """block_on_durable_send = False: the exception listener gets the message, and session.failed_sends keeps it."""
    heard: list[Exception] = []
    backend.hold("send")
    connection = connect(block_on_durable_send=False)
    connection.exception_listener = heard.append
    session = connection.create_session()
    (message,) = send_texts(session, QUEUE, "sent in the background")
    backend.script.release("send", error=SendRefused("full"))
    eventually(lambda: heard)
    assert isinstance(heard[0], InDoubt)
    assert heard[0].refused == (message,)
    assert list(session.failed_sends) == heard


def test_send_acknowledgement_handler_gets_messages_in_order(backend: ScriptedBackend, connect: Connect) -> None:
    backend.hold("send")
    session = connect(block_on_durable_send=False).create_session()
    got: list[Message] = []
    done = threading.Event()

    def handler(message: Message) -> None:
        got.append(message)
        if len(got) == 10:
            done.set()

    session.send_acknowledgement_handler = handler
    sent = send_texts(session, QUEUE, *map(str, range(10)))
    backend.release("send", order=reversed)
    assert done.wait(LONG)
    assert got == sent


def test_send_without_answer_ends_in_doubt(backend: ScriptedBackend, connect: Connect) -> None:
    backend.hold("send")
    session = connect(send_timeout=0.1).create_session()
    producer = session.create_producer(QUEUE)
    message = session.create_text_message("silence")
    with pytest.raises(InDoubt) as caught:
        producer.send(message)
    assert caught.value.unknown == (message,)


def test_send_refused_raises_with_its_cause(backend: ScriptedBackend, connect: Connect) -> None:
    session = connect().create_session()

    def refuse(call: object) -> None:
        raise SendRefused("no room")

    backend.script.before["send"] = refuse
    producer = session.create_producer(QUEUE)
    message = session.create_text_message("x")
    with pytest.raises(JMSException, match="no room") as caught:
        producer.send(message)
    assert isinstance(caught.value.__cause__, SendRefused)
    message.text = "still mine"
    assert backend.accepted == []
