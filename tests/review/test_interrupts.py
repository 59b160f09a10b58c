"""Ctrl-C while receiving, acknowledging, committing and closing: nothing is lost, nothing hangs."""

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from jmsbridge import (
    CLIENT_ACKNOWLEDGE,
    SESSION_TRANSACTED,
    Connection,
    IllegalStateException,
    Queue,
    Session,
)
from jmsbridge.spi import Address, Native, Outcome, TransactionRolledBack
from jmsbridge.testing.scripted import ScriptedBackend, text_envelope
from jmsbridge.testing.suite.support import LONG, eventually, run_thread, send_texts
from tests.review.interrupting import each_point, needs_plain_locks
from tests.review.support import Embedded, Gate, interrupt

pytestmark = needs_plain_locks

Connect = Callable[..., Connection]
QUEUE = Queue("orders")


def _drain(consumer: Any) -> list[str]:
    texts = []
    while (message := consumer.receive_no_wait()) is not None:
        texts.append(message.text)
    return texts


@pytest.mark.parametrize("mode", [CLIENT_ACKNOWLEDGE, SESSION_TRANSACTED])
@pytest.mark.parametrize("prefetch", [0, 1, 100])
@pytest.mark.parametrize("timeout", [None, 0.0])
def test_an_interrupted_receive_loses_nothing(
    broker: Embedded, mode: int, prefetch: int, timeout: float | None
) -> None:
    connection = broker.connect(redelivery_delay=0.0, max_redeliveries=1000)
    session = connection.create_session(session_mode=mode)
    other = connection.create_session()
    consumer: Any = session.create_consumer(QUEUE, prefetch=prefetch)
    sent: list[str] = []
    got: list[str] = []

    def receive() -> None:
        message = consumer.receive(timeout=timeout)
        assert message is not None
        got.append(message.text)

    def give() -> None:
        sent.append(f"m{len(sent)}")
        send_texts(other, QUEUE, sent[-1])

    give()
    points = 0
    for _ in each_point(receive):
        points += 1
        give()
    assert points > 20
    session.rollback() if mode == SESSION_TRANSACTED else session.recover()
    again = _drain(consumer)
    assert sorted(again) == sorted(sent), set(sent) ^ set(again)


def test_an_interrupted_automatic_receive_loses_nothing(broker: Embedded) -> None:
    connection = broker.connect()
    session = connection.create_session()
    other = connection.create_session()
    consumer: Any = session.create_consumer(QUEUE)
    got: Counter[str] = Counter()
    sent: list[str] = []

    def receive() -> None:
        got.update([consumer.receive(timeout=LONG).text])

    sent.append("m0")
    send_texts(other, QUEUE, "m0")
    for _ in each_point(receive):  # what was settled and not returned comes from the session itself
        sent.append(f"m{len(sent)}")
        send_texts(other, QUEUE, sent[-1])
    got.update(_drain(consumer))
    session.close()
    got.update(_drain(other.create_consumer(QUEUE)))
    assert [text for text in sent if not got[text]] == []


@pytest.mark.parametrize("mode", [CLIENT_ACKNOWLEDGE, SESSION_TRANSACTED])
def test_an_interrupted_session_close_gives_everything_back(broker: Embedded, mode: int) -> None:
    connection = broker.connect()
    other = connection.create_session()
    keeper = other.create_consumer(Queue("elsewhere"))
    made: list[Session] = []

    def prepare() -> None:
        session = connection.create_session(session_mode=mode)
        consumer: Any = session.create_consumer(QUEUE)
        send_texts(other, QUEUE, "seen", "unseen")
        assert consumer.receive(timeout=LONG).text == "seen"
        made.append(session)

    def close() -> None:
        made[-1].close()

    prepare()
    points = 0
    for interrupted in each_point(close):
        points += 1
        if interrupted:
            made[-1].close()  # whatever was left to do
        with pytest.raises(IllegalStateException):
            made[-1].create_message()
        with other.create_consumer(QUEUE) as taker:
            assert _drain(taker) == ["seen", "unseen"]
        prepare()
    assert points > 20
    assert keeper.receive_no_wait() is None


def test_an_interrupted_connection_close_closes_everything(broker: Embedded) -> None:
    connection = broker.connect()
    slow, idle = connection.create_session(), connection.create_session()
    gate = Gate()
    send_texts(slow, QUEUE, "m")
    slow.create_consumer(QUEUE).message_listener = gate
    gate.wait_entered()
    waiter = idle.create_consumer(Queue("empty"))
    receiving = run_thread(waiter.receive)
    eventually(waiter._receiver.inbox.is_parked)
    outcome: list[BaseException] = []

    def close() -> None:
        try:
            connection.close()
        except BaseException as error:  # what is tested
            outcome.append(error)

    closing = threading.Thread(target=close, daemon=True)
    closing.start()
    eventually(lambda: slow._engine.incoming._watchers)
    interrupt(closing)
    closing.join(LONG)
    assert [type(error) for error in outcome] == [KeyboardInterrupt]
    assert receiving.result(LONG) is None
    for session in (slow, idle):
        with pytest.raises(IllegalStateException):
            session.create_message()
    with pytest.raises(IllegalStateException):
        connection.create_session()
    gate.open.set()
    run_thread(connection.close).result(LONG)


def test_an_interrupted_wait_for_a_message_leaves_the_session_usable(broker: Embedded) -> None:
    session = broker.connect().create_session()
    consumer: Any = session.create_consumer(QUEUE)
    outcome: list[str] = []

    def receive() -> None:
        try:
            while consumer.receive(timeout=0.02) is None:  # asynchronous exceptions come between bytecodes
                pass
        except KeyboardInterrupt:
            outcome.append("interrupted")
        outcome.append(consumer.receive(timeout=LONG).text)

    receiving = threading.Thread(target=receive, daemon=True)
    receiving.start()
    eventually(consumer._receiver.inbox.is_parked)
    interrupt(receiving)
    eventually(lambda: outcome == ["interrupted"])
    send_texts(broker.connect().create_session(), QUEUE, "m")
    receiving.join(LONG)
    assert outcome == ["interrupted", "m"]


@pytest.mark.filterwarnings("ignore::jmsbridge.EmulationWarning")
@pytest.mark.parametrize("rolls_back", [True, False])
def test_an_interrupted_commit_loses_nothing(backend: ScriptedBackend, connect: Connect, rolls_back: bool) -> None:
    """Where the client holds the transaction together: what was consumed comes again, or what came of it was sent."""
    backend.lower(Native.TRANSACTIONS)
    session = connect(emulation="allow", redelivery_delay=0.0, max_redeliveries=1000).create_session(transacted=True)
    consumer, producer = session.create_consumer(QUEUE), session.create_producer(Queue("to"))
    tokens: list[int] = []

    def prepare() -> None:
        tokens.extend(backend.subscription.deliver(text_envelope(Address("orders"), f"in{len(tokens)}")))
        assert consumer.receive(timeout=LONG) is not None
        producer.send(f"out{len(tokens)}")

    prepare()
    points = 0
    for interrupted in each_point(session.commit):
        points += 1
        again: list[str] = []
        if interrupted:
            if rolls_back:
                session.rollback()
            again = _drain(consumer)
            session.commit()
        accepted = {token for token, outcome in backend.settled if outcome is Outcome.ACCEPTED}
        assert accepted == set(tokens)
        assert len(again) <= 1
        assert again or f"out{len(tokens)}" in [envelope.body for envelope in backend.accepted]
        prepare()
    assert points > 20


@pytest.mark.filterwarnings("ignore::jmsbridge.EmulationWarning")
@pytest.mark.parametrize("emulated", [True, False])
def test_an_interrupt_while_a_commit_is_undone_replays_once(
    backend: ScriptedBackend, connect: Connect, monkeypatch: pytest.MonkeyPatch, emulated: bool
) -> None:
    if emulated:
        backend.lower(Native.TRANSACTIONS)
    session = connect(emulation="allow", redelivery_delay=0.0).create_session(transacted=True)
    consumer: Any = session.create_consumer(QUEUE)
    backend.subscription.deliver(*(text_envelope(Address("orders"), text) for text in "ab"))
    assert [consumer.receive(timeout=LONG).text for _ in range(2)] == ["a", "b"]
    transaction, _ = session._engine.outgoing.transaction()
    assert transaction is not None
    rollback = transaction.rollback

    def refuse(*_: object) -> None:
        raise TransactionRolledBack("no")

    def interrupted(timeout: float) -> None:
        monkeypatch.undo()
        rollback(timeout)
        raise KeyboardInterrupt

    monkeypatch.setattr(transaction, "commit", refuse)
    monkeypatch.setattr(transaction, "rollback", interrupted)
    with pytest.raises(KeyboardInterrupt):
        session.commit()
    assert _drain(consumer) == ["a", "b"]
    session.commit()
    assert len(backend.settled) == 2


@pytest.mark.parametrize(("mode", "act"), [(SESSION_TRANSACTED, "rollback"), (CLIENT_ACKNOWLEDGE, "recover")])
def test_an_interrupted_rollback_is_whole_or_has_not_begun(
    backend: ScriptedBackend, connect: Connect, mode: int, act: str
) -> None:
    session = connect(redelivery_delay=0.0, max_redeliveries=10_000).create_session(session_mode=mode)
    consumer: Any = session.create_consumer(QUEUE)
    texts = ["a", "b", "c"]
    backend.subscription.deliver(*(text_envelope(Address("orders"), text) for text in texts))
    assert [consumer.receive(timeout=LONG).text for _ in texts] == texts
    points = 0
    for interrupted in each_point(getattr(session, act)):
        points += 1
        again = _drain(consumer)
        if interrupted and not again:
            getattr(session, act)()
            again = _drain(consumer)
        assert again == texts
    assert points > 20
    assert not backend.settled
    session.close()
    assert {outcome for _, outcome in backend.settled} == {Outcome.FAILED}


@pytest.mark.filterwarnings("ignore::jmsbridge.EmulationWarning")
@pytest.mark.parametrize("emulated", [True, False])
def test_what_was_sent_shares_the_fate_of_what_was_consumed_when_a_rollback_is_interrupted(
    backend: ScriptedBackend, connect: Connect, emulated: bool
) -> None:
    if emulated:
        backend.lower(Native.TRANSACTIONS)
    session = connect(emulation="allow", redelivery_delay=0.0).create_session(transacted=True)
    consumer, producer = session.create_consumer(QUEUE), session.create_producer(Queue("to"))
    number = 0

    def prepare() -> None:
        nonlocal number
        number += 1
        backend.subscription.deliver(text_envelope(Address("orders"), f"in{number}"))
        assert consumer.receive(timeout=LONG) is not None
        producer.send(f"out{number}")

    prepare()
    for _ in each_point(session.rollback):
        again = _drain(consumer)
        session.commit()
        sent = f"out{number}" in [envelope.body for envelope in backend.accepted]
        assert (again, sent) in [([f"in{number}"], False), ([], True)]
        prepare()
    assert number > 20


def test_what_an_interrupted_acknowledgement_leaves_goes_with_the_next(
    backend: ScriptedBackend, connect: Connect
) -> None:
    session = connect().create_session(session_mode=CLIENT_ACKNOWLEDGE)
    consumer: Any = session.create_consumer(QUEUE)
    tokens: list[int] = []

    def receive() -> None:
        tokens.extend(backend.subscription.deliver(text_envelope(Address("orders"), f"in{len(tokens)}")))
        assert consumer.receive(timeout=LONG) is not None

    receive()
    for interrupted in each_point(session.acknowledge):
        if interrupted:
            session.acknowledge()
        assert {token for token, outcome in backend.settled if outcome is Outcome.ACCEPTED} == set(tokens)
        receive()
