"""A signal handler raises in the middle of a call: the state that remains, and what the session's next call does."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest

import jmsbridge
from jmsbridge import (
    AUTO_ACKNOWLEDGE,
    CLIENT_ACKNOWLEDGE,
    DUPS_OK_ACKNOWLEDGE,
    NO_ACKNOWLEDGE,
    SESSION_TRANSACTED,
    Connection,
    IllegalStateException,
    MessageConsumer,
    Queue,
    TransactionRolledBackException,
)
from jmsbridge.spi import Address, Arrival, Native, Outcome, TransactionRolledBack
from jmsbridge.testing.scripted import Call, ScriptedBackend, text_envelope
from jmsbridge.testing.suite.support import LONG, eventually, run_thread, text_of
from tests.core.support import Embedded

Connect = Callable[..., Connection]
QUEUE = Queue("orders")


class Alarm(Exception):
    """An exception that a handler of the application raises, other than KeyboardInterrupt."""


@pytest.fixture(params=[KeyboardInterrupt, Alarm])
def raised(request: pytest.FixtureRequest) -> type[BaseException]:
    """Either kind of exception; neither must be taken for an error of the broker."""
    kind: type[BaseException] = request.param
    return kind


def interrupt_next(backend: ScriptedBackend, verb: str, raised: type[BaseException]) -> None:
    """The next call of this verb is interrupted before it has any effect."""

    def interrupt(_: Call) -> None:
        del backend.script.before[verb]
        raise raised

    backend.script.before[verb] = interrupt


@contextmanager
def interrupted_when(
    is_so: Callable[[], object], raised: type[BaseException], then: Callable[[], object] = lambda: None
) -> Iterator[None]:
    """A real signal comes while the main thread is in the block, once ``is_so()``; its handler raises.

    ``then`` runs after that.
    """

    def handle(number: int, frame: FrameType | None) -> None:
        handled.set()
        raise raised

    def send() -> None:
        eventually(is_so)
        signal.pthread_kill(main, signal.SIGALRM)
        handled.wait(LONG)
        then()

    main, handled = threading.get_ident(), threading.Event()
    before = signal.signal(signal.SIGALRM, handle)
    sender = threading.Thread(target=send)
    sender.start()
    try:
        with pytest.raises(raised):
            yield
    finally:
        sender.join(LONG)
        signal.signal(signal.SIGALRM, before)


def texts(consumer: MessageConsumer) -> list[str]:
    """The texts of all messages that can be received."""
    found = []
    while (message := consumer.receive_no_wait()) is not None:
        found.append(text_of(message))
    return found


def deliver(backend: ScriptedBackend, *bodies: str) -> list[Any]:
    """Deliver messages to the last subscription; return their tokens."""
    return list(backend.subscription.deliver(*(text_envelope(Address("orders"), body) for body in bodies)))


# ---- receiving


@pytest.mark.parametrize("mode", [AUTO_ACKNOWLEDGE, CLIENT_ACKNOWLEDGE, SESSION_TRANSACTED])
def test_a_receive_interrupted_while_it_waits_leaves_nothing(
    backend: ScriptedBackend, connect: Connect, raised: type[BaseException], mode: int
) -> None:
    session = connect().create_session(session_mode=mode)
    consumer = session.create_consumer(QUEUE)
    waiting = consumer._receiver.inbox.waiting
    with interrupted_when(lambda: waiting.gates, raised):
        consumer.receive()
    assert not waiting.gates
    deliver(backend, "a", "b")
    assert texts(consumer) == ["a", "b"]


def test_a_message_that_was_being_acknowledged_is_received_and_the_next_call_raises(
    backend: ScriptedBackend, connect: Connect, raised: type[BaseException]
) -> None:
    """Whether the broker settled the message is unknown: it is settled again, and the application has the message."""
    session = connect().create_session()
    consumer = session.create_consumer(QUEUE)
    first, second = deliver(backend, "a", "b")
    interrupt_next(backend, "settle", raised)
    assert text_of(consumer.receive(timeout=LONG)) == "a"
    with pytest.raises(raised):
        consumer.receive(timeout=LONG)
    assert texts(consumer) == ["b"]
    session.close()
    assert backend.settled == [(first, Outcome.ACCEPTED), (second, Outcome.ACCEPTED)]


def test_a_full_batch_that_was_being_acknowledged_is_acknowledged_once_more(
    backend: ScriptedBackend, connect: Connect, raised: type[BaseException]
) -> None:
    session = connect().create_session(session_mode=DUPS_OK_ACKNOWLEDGE, dups_ok_messages=2, dups_ok_interval=0)
    consumer = session.create_consumer(QUEUE)
    tokens = deliver(backend, "a", "b", "c")
    interrupt_next(backend, "settle", raised)
    assert [text_of(consumer.receive(timeout=LONG)) for _ in "ab"] == ["a", "b"]
    with pytest.raises(raised):
        consumer.receive(timeout=LONG)
    assert texts(consumer) == ["c"]
    session.close()
    assert [token for token, _ in backend.settled] == tokens


def test_a_message_that_was_not_returned_is_next_and_unmarked(
    backend: ScriptedBackend, connect: Connect, raised: type[BaseException]
) -> None:
    """The handler raises while credit is granted, so the credit must be counted anew."""
    session = connect().create_session(session_mode=CLIENT_ACKNOWLEDGE, prefetch=2)
    consumer = session.create_consumer(QUEUE)
    deliver(backend, "a", "b")
    interrupt_next(backend, "grant", raised)
    message = consumer.receive(timeout=LONG)
    assert text_of(message) == "a"
    with pytest.raises(raised):
        consumer.receive(timeout=LONG)
    again = consumer.receive(timeout=LONG)
    assert again is not None
    assert (text_of(again), again.jms_redelivered) == ("b", False)
    assert "drain" in backend.script.verbs()
    session.recover()
    assert texts(consumer) == ["a", "b"]


def test_a_handler_that_raises_while_a_message_is_read_does_not_make_it_unreadable(
    backend: ScriptedBackend, connect: Connect, raised: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    session = connect().create_session()
    consumer = session.create_consumer(QUEUE)
    deliver(backend, "a")
    incoming = session._core.incoming
    make = incoming._make_message

    def interrupted(delivery: Any) -> Any:
        monkeypatch.undo()
        raise raised

    monkeypatch.setattr(incoming, "_make_message", interrupted)
    with pytest.raises(raised):
        consumer.receive(timeout=LONG)
    assert incoming._make_message == make
    message = consumer.receive(timeout=LONG)
    assert message is not None
    assert (text_of(message), message.jms_redelivered) == ("a", False)
    assert [outcome for _, outcome in backend.settled] == [Outcome.ACCEPTED]


def test_closing_a_session_after_an_interrupted_receive_releases_the_message(
    backend: ScriptedBackend, connect: Connect, raised: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    session = connect().create_session()
    consumer = session.create_consumer(QUEUE)
    (token,) = deliver(backend, "a")

    def interrupted(delivery: Any) -> Any:
        monkeypatch.undo()
        raise raised

    monkeypatch.setattr(session._core.incoming, "_make_message", interrupted)
    with pytest.raises(raised):
        consumer.receive(timeout=LONG)
    session.close()
    assert backend.settled == [(token, Outcome.RELEASED)]


def test_an_interrupted_acknowledge_is_finished_by_the_next_call(
    backend: ScriptedBackend, connect: Connect, raised: type[BaseException]
) -> None:
    session = connect().create_session(session_mode=CLIENT_ACKNOWLEDGE)
    consumer = session.create_consumer(QUEUE)
    tokens = deliver(backend, "a", "b")
    message = [consumer.receive(timeout=LONG) for _ in "ab"][-1]
    interrupt_next(backend, "settle", raised)
    with pytest.raises(raised):
        assert message is not None
        message.acknowledge()
    session.recover()
    assert texts(consumer) == []
    assert [token for token, _ in backend.settled] == tokens


def test_an_interrupted_recovery_of_a_call_is_finished_before_the_next_one(
    backend: ScriptedBackend, connect: Connect, monkeypatch: pytest.MonkeyPatch, raised: type[BaseException]
) -> None:
    """If it went on during the next receive, it would release the message that this receive returns."""
    session = connect().create_session(session_mode=CLIENT_ACKNOWLEDGE)
    consumer, calls, incoming = session.create_consumer(QUEUE), session._core.calls, session._core.incoming
    entered, go_on, mended = threading.Event(), threading.Event(), list[None]()
    mend, make_message = calls._mend, incoming._make_message

    def counted() -> None:
        mend()
        mended.append(None)

    def slow(_: Call) -> None:
        backend.script.before.pop("settle", None)
        entered.set()
        go_on.wait(LONG)

    def late(delivery: Any) -> Any:
        eventually(lambda: len(mended) == 2)
        return make_message(delivery)

    deliver(backend, "a")
    message = consumer.receive(timeout=LONG)
    assert message is not None
    interrupt_next(backend, "settle", raised)
    with pytest.raises(raised):
        message.acknowledge()
    monkeypatch.setattr(calls, "_mend", counted)
    backend.script.before["settle"] = slow
    with interrupted_when(entered.is_set, raised):
        consumer.receive_no_wait()
    deliver(backend, "b")
    monkeypatch.setattr(incoming, "_make_message", late)
    threading.Timer(0.1, go_on.set).start()
    assert texts(consumer) == ["b"]


# ---- sending


def test_an_interrupted_send_has_no_callback(
    backend: ScriptedBackend, connect: Connect, raised: type[BaseException]
) -> None:
    session = connect().create_session()
    producer, called = session.create_producer(QUEUE), list[tuple[str, Any]]()
    message = session.create_text_message("interrupted")

    def listener(sent: Any, error: Any) -> None:
        called.append((sent.text, error))

    interrupt_next(backend, "send", raised)
    with pytest.raises(raised):
        producer.send(message, completion_listener=listener)
    producer.send("next", completion_listener=listener)
    producer.close()
    assert called == [("next", None)]
    assert text_of(message) == "interrupted"


def test_a_transaction_with_an_interrupted_send_can_only_be_rolled_back(
    backend: ScriptedBackend, connect: Connect, raised: type[BaseException]
) -> None:
    """It is unknown whether the broker has the message."""
    session = connect().create_session(session_mode=SESSION_TRANSACTED)
    producer = session.create_producer(QUEUE)
    producer.send("a")
    interrupt_next(backend, "send", raised)
    with pytest.raises(raised):
        producer.send("b")
    with pytest.raises(TransactionRolledBackException):
        session.commit()
    producer.send("c")
    session.commit()
    assert [envelope.body for envelope in backend.accepted] == ["c"]


def test_a_session_whose_send_was_interrupted_closes_without_waiting_for_it(
    backend: ScriptedBackend, connect: Connect, raised: type[BaseException]
) -> None:
    session = connect(close_timeout=60.0).create_session()
    producer = session.create_producer(QUEUE)
    producer.delivery_mode = jmsbridge.DeliveryMode.NON_PERSISTENT
    interrupt_next(backend, "send", raised)
    with pytest.raises(raised):
        producer.send("interrupted")
    session.close()
    assert not session._core.outgoing.failed


def test_a_send_interrupted_after_it_was_received_without_acknowledgement_is_received_once(
    broker: Embedded, raised: type[BaseException]
) -> None:
    """The broker in memory delivers in the sender's thread, and repeats a delivery that was interrupted."""
    session = broker.connect().create_session(session_mode=NO_ACKNOWLEDGE)
    consumer = session.create_consumer(QUEUE)
    subscription: Any = consumer._receiver.inbox.subscription
    put, received = subscription.put, run_thread(lambda: consumer.receive(timeout=LONG))

    def interrupted(arrival: Arrival) -> None:
        put(arrival)
        assert text_of(received.result(LONG)) == "once"
        raise raised

    subscription.put = interrupted
    producer = broker.connect().create_session().create_producer(QUEUE)
    with pytest.raises(raised):
        producer.send("once")
    subscription.put = put
    producer.send("next")
    assert texts(consumer) == ["next"]


# ---- transactions, closing, opening


@pytest.mark.parametrize("emulated", [False, True])
@pytest.mark.filterwarnings("ignore::jmsbridge.EmulationWarning")
def test_an_interrupted_commit_goes_on_and_the_next_call_waits_for_it(
    backend: ScriptedBackend, connect: Connect, raised: type[BaseException], emulated: bool
) -> None:
    if emulated:
        backend.lower(Native.TRANSACTIONS | Native.SEND_TRANSACTIONS)
    session = connect(emulation="allow").create_session(session_mode=SESSION_TRANSACTED)
    consumer = session.create_consumer(QUEUE)
    (token,) = deliver(backend, "in")
    assert consumer.receive(timeout=LONG) is not None
    session.create_producer(QUEUE).send("out")
    verb = "settle" if emulated else "commit"
    backend.hold(verb)
    with interrupted_when(lambda: backend.script.held(verb), raised):
        session.commit()
    backend.script.answer_inline(verb)
    answering = run_thread(lambda: backend.script.release(verb))
    session.commit()
    answering.result(LONG)
    assert [envelope.body for envelope in backend.accepted] == ["out"]
    assert backend.settled == [(token, Outcome.ACCEPTED)]
    assert texts(consumer) == []


def test_the_next_call_says_that_an_interrupted_commit_was_rolled_back(
    backend: ScriptedBackend, connect: Connect, raised: type[BaseException]
) -> None:
    session = connect(redelivery_delay=0.0).create_session(session_mode=SESSION_TRANSACTED)
    consumer = session.create_consumer(QUEUE)
    deliver(backend, "in")
    assert consumer.receive(timeout=LONG) is not None
    session.create_producer(QUEUE).send("out")
    backend.hold("commit")
    with interrupted_when(lambda: backend.script.held("commit"), raised):
        session.commit()
    backend.script.release("commit", error=TransactionRolledBack("no"))
    backend.script.answer_inline("commit")
    with pytest.raises(TransactionRolledBackException):
        consumer.receive_no_wait()
    assert texts(consumer) == ["in"]
    session.commit()
    assert backend.accepted == []


def test_an_interrupted_close_closes_everything_and_raises_then(
    backend: ScriptedBackend, connect: Connect, raised: type[BaseException]
) -> None:
    connection = connect(close_timeout=60.0)
    session = connection.create_session()
    producer, called = session.create_producer(QUEUE), list[str]()
    backend.hold("send")
    producer.send("a", completion_listener=lambda message, error: called.append(text_of(message)))

    ledger = session._core.outgoing.ledger
    with interrupted_when(lambda: ledger.is_awaited, raised, lambda: backend.script.release("send")):
        connection.close()
    assert called == ["a"]
    assert backend.script.verbs()[-1] == "close-link"
    with pytest.raises(IllegalStateException):
        connection.create_session()


def test_an_interrupted_connect_leaves_no_link(
    backend: ScriptedBackend, connect: Connect, raised: type[BaseException]
) -> None:
    go = threading.Event()
    opening = threading.Event()

    def slow(_: Call) -> None:
        opening.set()
        assert go.wait(LONG)

    backend.script.before["open"] = slow
    with interrupted_when(opening.is_set, raised):
        connect()
    go.set()
    eventually(lambda: "close-link" in backend.script.verbs())


def test_an_interrupted_create_consumer_leaves_no_subscription(
    backend: ScriptedBackend, connect: Connect, raised: type[BaseException]
) -> None:
    session = connect().create_session()
    go, subscribing = threading.Event(), threading.Event()

    def slow(_: Call) -> None:
        subscribing.set()
        assert go.wait(LONG)

    backend.script.before["subscribe"] = slow
    with interrupted_when(subscribing.is_set, raised):
        session.create_consumer(QUEUE)
    go.set()
    eventually(lambda: "close-subscription" in backend.script.verbs())
    assert not session._core.incoming.receivers


def test_a_consumer_whose_creation_was_interrupted_is_closed_also_when_its_session_was_closed_meanwhile(
    backend: ScriptedBackend, connect: Connect, raised: type[BaseException]
) -> None:
    session = connect().create_session()
    go, subscribing = threading.Event(), threading.Event()

    def slow(_: Call) -> None:
        subscribing.set()
        assert go.wait(LONG)

    backend.script.before["subscribe"] = slow
    with interrupted_when(subscribing.is_set, raised):
        session.create_consumer(QUEUE)
    session.close()
    go.set()
    eventually(lambda: "close-subscription" in backend.script.verbs())
