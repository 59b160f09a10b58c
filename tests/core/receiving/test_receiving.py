"""Receiving from a broker that delivers with delay, unlike the embedded broker."""

import threading
from collections.abc import Callable

import pytest

from jmsbridge import (
    DUPS_OK_ACKNOWLEDGE,
    Connection,
    InDoubtException,
    JMSException,
    Message,
    MessageConsumer,
    Queue,
    TextMessage,
)
from jmsbridge.core.receiving import receiver
from jmsbridge.core.receiving.delivery import Delivery, NoDelivery
from jmsbridge.core.receiving.inbox import Inbox
from jmsbridge.spi import AccessDenied, Native
from jmsbridge.testing.marks import pitfall, rule
from jmsbridge.testing.scripted import Call, ScriptedBackend, text_envelope
from jmsbridge.testing.suite.support import LONG, eventually, receive_texts, run_thread

Connect = Callable[..., Connection]
QUEUE = Queue("orders")


@rule("CN-7")
@pitfall(9)
@pytest.mark.parametrize("prefetch", [0, 1, 250])
def test_receive_no_wait_returns_a_message_that_a_drain_brings(
    backend: ScriptedBackend, connect: Connect, prefetch: int
) -> None:
    """The message is on its way when receive_no_wait is called; the answer to a drain says that all have arrived."""
    consumer = connect().create_session().create_consumer(QUEUE, prefetch=prefetch)
    [subscription] = backend.links[-1].subscriptions
    sent: list[int] = []

    def bring(_: object) -> None:
        if not sent:
            sent.extend(subscription.deliver(text_envelope(QUEUE.address, "on its way")))

    backend.script.before["drain"] = bring
    message = consumer.receive_no_wait()
    assert isinstance(message, TextMessage)
    assert message.text == "on its way"
    assert consumer.receive_no_wait() is None
    assert [token for token, _ in backend.settled] == sent


@rule("CN-7")
@pitfall(9)
def test_receive_no_wait_waits_briefly_without_drain(backend: ScriptedBackend, connect: Connect) -> None:
    """Without drain the broker gets a short time to deliver."""
    backend.lower(Native.DRAIN)
    consumer = connect().create_session().create_consumer(QUEUE, prefetch=0)
    [subscription] = backend.links[-1].subscriptions

    def late() -> None:
        subscription.deliver(text_envelope(QUEUE.address, "late"))

    def bring(_: object) -> None:
        backend.script.post(late)

    backend.script.before["grant"] = bring
    message = consumer.receive_no_wait()
    assert isinstance(message, TextMessage)
    assert message.text == "late"


def test_a_drain_without_an_answer_is_not_in_doubt(
    backend: ScriptedBackend, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It changes nothing: what comes later is for the next receive."""
    monkeypatch.setattr(receiver, "_PATIENCE", 0.1)
    consumer = connect().create_session().create_consumer(QUEUE)
    backend.hold("drain")
    with pytest.raises(JMSException, match="no answer to a drain") as caught:
        consumer.receive_no_wait()
    assert not isinstance(caught.value, InDoubtException)
    [subscription] = backend.links[-1].subscriptions
    subscription.deliver(text_envelope(QUEUE.address, "late"))
    assert receive_texts(consumer, 1) == ["late"]


@rule("AC-2")
@rule("AC-13")
@pytest.mark.parametrize(
    ("prefetch", "messages", "batch"),
    [(250, 100, 31), (250, 5, 5), (80, 100, 10), (8, 100, 1), (1, 100, 1), (0, 100, 1)],
)
def test_dups_ok_leaves_room_in_the_window_of_the_consumer(
    connect: Connect, backend: ScriptedBackend, prefetch: int, messages: int, batch: int
) -> None:
    """A broker that counts unsettled messages would send less, or stop: a small prefetch makes small batches."""
    session = connect(dups_ok_messages=messages, dups_ok_interval=0).create_session(
        acknowledge_mode=DUPS_OK_ACKNOWLEDGE
    )
    consumer = session.create_consumer(QUEUE, prefetch=prefetch)
    [subscription] = backend.link.subscriptions
    for number in range(batch):
        assert backend.settled == []
        subscription.deliver(text_envelope(QUEUE.address, str(number)))
        assert consumer.receive(timeout=5.0) is not None
    assert len(backend.settled) == batch


def test_a_start_just_before_a_receive_waits_asks_for_a_message(
    backend: ScriptedBackend, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without prefetch: the receive has seen that the connection is stopped, and does not wait yet."""
    connection = connect(start=False)
    consumer = connection.create_session().create_consumer(QUEUE, prefetch=0)
    backend.subscription.deliver(text_envelope(QUEUE.address, "there"))
    wait_next = Inbox.wait_next

    def start_first(inbox: Inbox, deadline: float | None) -> Delivery | NoDelivery:
        monkeypatch.undo()
        connection.start()
        return wait_next(inbox, deadline)

    monkeypatch.setattr(Inbox, "wait_next", start_first)
    message = run_thread(consumer.receive).result(LONG)
    assert isinstance(message, TextMessage)
    assert message.text == "there"


def test_a_start_without_a_link_asks_on_the_next_one(backend: ScriptedBackend, connect: Connect) -> None:
    """Without a prefetch: the receive waits on an inbox that has no subscription yet."""
    connection = connect()
    consumer = connection.create_session().create_consumer(QUEUE, prefetch=0)
    connection.stop()
    reconnect = threading.Event()

    def wait(_: Call) -> None:
        reconnect.wait(LONG)

    backend.script.before["channel"] = wait
    backend.link.cut()
    eventually(lambda: "channel" in backend.script.verbs(2))
    connection.start()
    receiving = run_thread(consumer.receive)
    eventually(lambda: bool(consumer._receiver.inbox.waiting))
    reconnect.set()
    eventually(lambda: "grant" in backend.script.verbs(2))
    backend.subscription.deliver(text_envelope(QUEUE.address, "there"))
    message = receiving.result(LONG)
    assert isinstance(message, TextMessage)
    assert message.text == "there"


def test_a_message_that_cannot_be_dead_lettered_is_reported(backend: ScriptedBackend, connect: Connect) -> None:
    heard: list[JMSException] = []
    connection = connect(max_redeliveries=0)
    connection.exception_listener = heard.append
    session = connection.create_session(transacted=True)
    consumer = session.create_consumer(QUEUE)
    backend.subscription.deliver(text_envelope(QUEUE.address, "bad"))
    assert consumer.receive(timeout=LONG) is not None
    backend.hold("settle")
    rolling_back = run_thread(session.rollback)
    backend.script.wait_held("settle")
    backend.script.release("settle", error=AccessDenied("may not write to 'jms.dlq'"))
    rolling_back.result(LONG)
    eventually(lambda: len(heard) == 1)
    assert "cannot be moved to its queue and is delivered again: may not write" in str(heard[0])


@rule("CN-6")
@pytest.mark.parametrize("what", ["consumer", "session", "connection"])
def test_an_iteration_ends_when_another_thread_closes_between_two_messages(
    backend: ScriptedBackend, connect: Connect, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = connect()
    session = connection.create_session()
    consumer = session.create_consumer(QUEUE)
    [subscription] = backend.links[-1].subscriptions
    subscription.deliver(text_envelope(QUEUE.address, "first"), text_envelope(QUEUE.address, "second"))
    receive = MessageConsumer.receive
    close = {"consumer": consumer.close, "session": session.close, "connection": connection.close}[what]
    texts: list[str | None] = []

    def late(consumer: MessageConsumer) -> Message | None:
        if texts:
            run_thread(close).result(LONG)
        return receive(consumer)

    monkeypatch.setattr(MessageConsumer, "receive", late)
    for message in consumer:
        assert isinstance(message, TextMessage)
        texts.append(message.text)
    assert texts == ["first"]
