"""Message listeners: they get waiting messages when they are due, and none after ``stop``."""

import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from jmsbridge import (
    CLIENT_ACKNOWLEDGE,
    DUPS_OK_ACKNOWLEDGE,
    Connection,
    IllegalStateException,
    JMSException,
    Message,
    Queue,
)
from jmsbridge.spi import Address, Outcome
from jmsbridge.testing.marks import rule
from jmsbridge.testing.scripted import ScriptedBackend, text_envelope
from jmsbridge.testing.suite.support import LONG, eventually, receive_texts, run_thread, send_texts, text_of
from tests.core.support import Embedded, Gate

Connect = Callable[..., Connection]
QUEUE = Queue("orders")


@rule("TH-4", "AC-6")
def test_a_listener_that_is_set_while_a_redelivery_is_pending_gets_it(broker: Embedded) -> None:
    session = broker.connect(redelivery_delay=0.2).create_session(session_mode=CLIENT_ACKNOWLEDGE)
    send_texts(session, QUEUE, "m")
    consumer = session.create_consumer(QUEUE)
    for _ in range(3):  # the third delivery is delayed
        assert receive_texts(consumer, 1) == ["m"]
        session.recover()
    heard = threading.Event()
    consumer.message_listener = lambda message: heard.set()
    assert heard.wait(LONG)


@pytest.fixture
def switching() -> Iterator[None]:
    """Make the interpreter switch threads all the time."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@rule("CN-4", "TH-1")
@pytest.mark.usefixtures("switching")
def test_nothing_is_delivered_after_stop_however_late_start_is(broker: Embedded) -> None:
    """``start`` and ``stop`` at the same time in two threads: after ``stop`` has returned, no message is delivered."""
    connection = broker.stopped()
    session = connection.create_session()
    late: list[Message] = []
    stopped = threading.Event()
    consumer = session.create_consumer(QUEUE)
    consumer.message_listener = lambda message: late.append(message) if stopped.is_set() else None
    sender = connection.create_session()
    for number in range(300):
        send_texts(sender, QUEUE, str(number))
        starting = run_thread(connection.start)
        starting.result(LONG) if number % 2 else None
        connection.stop()
        starting.result(LONG)
        connection.stop()
        stopped.set()
        send_texts(sender, QUEUE, f"late {number}")
        stopped.clear()
    assert late == []


@rule("TH-3")
def test_a_listener_is_refused_while_another_thread_receives(broker: Embedded) -> None:
    session = broker.connect().create_session()
    consumer = session.create_consumer(QUEUE)
    receiving = run_thread(consumer.receive)
    eventually(lambda: consumer._receiver.inbox.waiting.gates)
    with pytest.raises(IllegalStateException, match="another thread is receiving"):
        consumer.message_listener = print
    send_texts(session, QUEUE, "m")
    assert text_of(receiving.result(LONG)) == "m"


def test_a_timed_batch_is_acknowledged_while_the_listener_is_busy(backend: ScriptedBackend, connect: Connect) -> None:
    session = connect().create_session(session_mode=DUPS_OK_ACKNOWLEDGE, dups_ok_messages=1000, dups_ok_interval=0.05)
    gate = Gate()

    def listener(message: Message) -> None:
        if message.get_body(str) == "second":
            gate()

    session.create_consumer(QUEUE).message_listener = listener
    (first, _) = backend.subscription.deliver(*(text_envelope(Address("orders"), text) for text in ("first", "second")))
    gate.wait_entered()
    eventually(lambda: backend.settled == [(first, Outcome.ACCEPTED)])
    gate.open.set()


@pytest.mark.parametrize("count", [2, 50])
def test_consumers_with_messages_take_turns(backend: ScriptedBackend, connect: Connect, count: int) -> None:
    connection = connect(start=False)
    session = connection.create_session()
    heard: list[Any] = []
    for number in range(count):
        name = f"q{number}"
        session.create_consumer(Queue(name)).message_listener = lambda message, name=name: heard.append(name)
        backend.subscription.deliver(*(text_envelope(Address(name), text) for text in "abc"))
    connection.start()
    eventually(lambda: len(heard) == 3 * count)
    assert sorted(heard[:count]) == sorted(set(heard))


class SlowLine(deque[Any]):
    """A list of waiting consumers in which ``append`` pauses after its effect while ``slow`` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.slow = False
        self.joined, self.go_on = threading.Event(), threading.Event()

    def append(self, receiver: Any, /) -> None:
        super().append(receiver)
        if self.slow and threading.current_thread() is threading.main_thread():
            self.joined.set()
            assert self.go_on.wait(LONG)


@rule("TH-4")
def test_a_listener_served_during_an_arrival_is_served_again(backend: ScriptedBackend, connect: Connect) -> None:
    """The thread that delivers a message pauses between queueing the consumer and recording that."""
    session = connect().create_session(session_mode=CLIENT_ACKNOWLEDGE)
    heard: list[str] = []
    gate = Gate()

    def listener(message: Message) -> None:
        heard.append(text_of(message))
        if heard == ["first"]:
            gate()

    listening = session._core.incoming.listening
    line = listening._line = SlowLine()
    session.create_consumer(QUEUE).message_listener = listener
    backend.subscription.deliver(text_envelope(Address("orders"), "first"))
    gate.wait_entered()
    line.slow = True

    def serve() -> None:
        assert line.joined.wait(LONG)
        gate.open.set()
        eventually(lambda: heard == ["first", "second"] and not line and listening._current is None)
        line.go_on.set()

    serving = run_thread(serve)
    backend.subscription.deliver(text_envelope(Address("orders"), "second"))
    serving.result(LONG)
    line.slow = False
    backend.subscription.deliver(text_envelope(Address("orders"), "third"))
    eventually(lambda: heard == ["first", "second", "third"])


@rule("CN-4")
def test_stop_waits_for_a_receive_that_has_taken_its_message(broker: Embedded, monkeypatch: pytest.MonkeyPatch) -> None:
    connection = broker.connect()
    session = connection.create_session()
    send_texts(session, QUEUE, "m")
    consumer = session.create_consumer(QUEUE)
    gate, make = Gate(), session._core.incoming.message_of

    def wait_then_make(delivery: Any) -> Any:
        gate()
        return make(delivery)

    monkeypatch.setattr(session._core.incoming, "message_of", wait_then_make)
    receiving = run_thread(lambda: receive_texts(consumer, 1))
    gate.wait_entered()
    stopping = run_thread(connection.stop)
    eventually(lambda: stopping.done() or session._core.incoming._quiet.gates)
    assert not stopping.done()
    gate.open.set()
    assert receiving.result(LONG) == ["m"]
    stopping.result(LONG)


@rule("CN-8")
def test_the_exception_listener_has_its_own_thread_and_one_call_at_a_time(broker: Embedded) -> None:
    connection = broker.connect()
    gate = Gate()
    told: list[str] = []

    def listener(error: JMSException) -> None:
        gate()
        told.append(str(error))

    connection.exception_listener = listener
    connection._core.report(JMSException("first"))  # returns, so it is another thread that waits in the listener
    gate.wait_entered()
    connection._core.report(JMSException("second"))
    gate.open.set()
    eventually(lambda: len(told) == 2)
    assert told == ["first", "second"]
