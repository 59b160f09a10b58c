"""A broker whose transactions have only sends: commit makes the sends effective, then acknowledges."""

from collections.abc import Callable
from typing import Any

import pytest

from jmsbridge import (
    SESSION_TRANSACTED,
    Connection,
    EmulationWarning,
    InDoubtException,
    MessageConsumer,
    Queue,
    Session,
    TransactionRolledBackException,
    UnsupportedFeature,
)
from jmsbridge.spi import Address, LinkLost, Native, Outcome, TransactionRolledBack
from jmsbridge.testing.marks import rule
from jmsbridge.testing.scripted import ScriptedBackend, text_envelope
from jmsbridge.testing.suite.support import (
    LONG,
    Completions,
    eventually,
    receive_texts,
    run_thread,
    send_texts,
    text_of,
)

pytestmark = pytest.mark.filterwarnings("ignore::jmsbridge.EmulationWarning")

Connect = Callable[..., Connection]
QUEUE = Queue("orders")
ADDRESS = Address("orders")


@pytest.fixture(autouse=True)
def ordered(backend: ScriptedBackend) -> None:
    """Its links have no TRANSACTIONS, but SEND_TRANSACTIONS."""
    backend.lower(Native.TRANSACTIONS)


def _bodies(backend: ScriptedBackend) -> list[str]:
    return [envelope.body for envelope in backend.accepted]


def _received(
    backend: ScriptedBackend, connect: Connect, *sends: str, **options: Any
) -> tuple[Session, MessageConsumer, int]:
    """A transaction that received a message and sent some; the token of what it received."""
    session = connect(**options).create_session(SESSION_TRANSACTED)
    consumer = session.create_consumer(QUEUE)
    (token,) = backend.subscription.deliver(text_envelope(ADDRESS, "in"))
    assert receive_texts(consumer, 1) == ["in"]
    send_texts(session, QUEUE, *sends)
    return session, consumer, token


def _again(consumer: MessageConsumer) -> tuple[str, bool]:
    message = consumer.receive(timeout=LONG)
    assert message is not None
    return text_of(message), message.jms_redelivered


@rule("TX-2", "AC-5")
def test_it_acknowledges_only_after_the_answer_to_the_commit(backend: ScriptedBackend, connect: Connect) -> None:
    session, _, token = _received(backend, connect, "out-1", "out-2")
    assert _bodies(backend) == []
    backend.hold("commit")
    committing = run_thread(session.commit)
    (commit,) = backend.script.wait_held("commit")
    assert (_bodies(backend), backend.script.count("settle")) == ([], 0)
    commit.succeed()
    committing.result(LONG)
    assert _bodies(backend) == ["out-1", "out-2"]
    assert backend.settled == [(token, Outcome.ACCEPTED)]


@rule("TX-2")
def test_closing_waits_for_a_commit_of_another_thread(backend: ScriptedBackend, connect: Connect) -> None:
    """Once its sends are committed, what it consumed is acknowledged and does not come again."""
    session, _, token = _received(backend, connect, "out")
    backend.hold("commit")
    committing = run_thread(session.commit)
    (commit,) = backend.script.wait_held("commit")
    closing = run_thread(session.close)
    eventually(lambda: closing.done() or session._core._committed.gates)
    commit.succeed()
    committing.result(LONG)
    closing.result(LONG)
    assert _bodies(backend) == ["out"]
    assert backend.settled == [(token, Outcome.ACCEPTED)]
    verbs = backend.script.verbs()
    assert verbs.index("settle") < verbs.index("close-subscription")


def test_closing_waits_for_a_commit_no_longer_than_the_close_timeout(
    backend: ScriptedBackend, connect: Connect
) -> None:
    session, _, _ = _received(backend, connect, "unknown", close_timeout=0.1)
    backend.hold("commit")
    committing = run_thread(session.commit)
    (commit,) = backend.script.wait_held("commit")
    run_thread(session.close).result(LONG)
    commit.fail(LinkLost("the answer never came", in_doubt=True))
    assert isinstance(committing.exception(LONG), InDoubtException)


@rule("TX-3")
def test_a_refused_commit_sends_nothing_and_the_client_redelivers(backend: ScriptedBackend, connect: Connect) -> None:
    session, consumer, token = _received(backend, connect, "never")
    backend.hold("commit")
    committing = run_thread(session.commit)
    backend.script.wait_held("commit")[0].fail(TransactionRolledBack("no room"))
    with pytest.raises(TransactionRolledBackException, match="no room"):
        committing.result(LONG)
    assert (_bodies(backend), backend.settled) == ([], [])
    assert _again(consumer) == ("in", True)
    backend.script.answer_inline("commit")
    session.commit()
    assert (_bodies(backend), backend.settled) == ([], [(token, Outcome.ACCEPTED)])


def test_a_commit_in_doubt_lists_its_sends_and_acknowledges_nothing(backend: ScriptedBackend, connect: Connect) -> None:
    """The broker has done it, but the answer is lost: what was received comes again, which is a duplicate."""
    session, _, _ = _received(backend, connect, "out-1", "out-2")
    backend.hold("commit")
    committing = run_thread(session.commit)
    backend.script.wait_held("commit")
    backend.link.cut(applied=1)
    with pytest.raises(InDoubtException, match="delivered again") as caught:
        committing.result(LONG)
    assert [text_of(message) for message in caught.value.unknown] == ["out-1", "out-2"]
    assert (caught.value.sent, caught.value.refused) == ((), ())
    assert (_bodies(backend), backend.settled) == (["out-1", "out-2"], [])


def test_a_commit_without_an_answer_is_in_doubt_and_the_client_redelivers(
    backend: ScriptedBackend, connect: Connect
) -> None:
    session, consumer, _ = _received(backend, connect, "out", send_timeout=0.05)
    backend.hold("commit")
    with pytest.raises(InDoubtException) as caught:
        session.commit()
    assert [text_of(message) for message in caught.value.unknown] == ["out"]
    assert backend.script.count("rollback") == 1
    assert _again(consumer) == ("in", True)
    assert backend.settled == []


def test_an_acknowledgement_that_fails_after_the_commit_is_in_doubt(backend: ScriptedBackend, connect: Connect) -> None:
    session, _, _ = _received(backend, connect, "out")
    backend.hold("settle")
    committing = run_thread(session.commit)
    backend.script.wait_held("settle")
    backend.link.cut()
    with pytest.raises(InDoubtException, match="messages are sent") as caught:
        committing.result(LONG)
    assert [text_of(message) for message in caught.value.sent] == ["out"]
    assert _bodies(backend) == ["out"]


def test_without_sends_it_only_acknowledges(backend: ScriptedBackend, connect: Connect) -> None:
    session, _, token = _received(backend, connect)
    session.commit()
    assert (backend.script.count("commit"), backend.settled) == (0, [(token, Outcome.ACCEPTED)])


def test_nothing_was_acknowledged_is_a_rollback(backend: ScriptedBackend, connect: Connect) -> None:
    session, _, _ = _received(backend, connect)
    backend.hold("settle")
    committing = run_thread(session.commit)
    backend.script.wait_held("settle")[0].fail(LinkLost("not written"))
    with pytest.raises(TransactionRolledBackException, match="not written"):
        committing.result(LONG)
    assert backend.settled == []


@rule("TX-3", "AC-8")
def test_rollback_drops_the_sends_at_the_broker(backend: ScriptedBackend, connect: Connect) -> None:
    session, consumer, token = _received(backend, connect, "never")
    session.rollback()
    assert _again(consumer) == ("in", True)
    send_texts(session, QUEUE, "kept")
    session.commit()
    assert (_bodies(backend), backend.settled) == (["kept"], [(token, Outcome.ACCEPTED)])


def test_the_price_is_told_and_can_be_refused(backend: ScriptedBackend, connect: Connect) -> None:
    connection = connect()
    told = connection.capabilities
    outcomes = [told[name].outcome for name in ("transactions", "send_transactions", "send_groups")]
    assert outcomes == ["emulated", "native", "native"]
    with pytest.warns(EmulationWarning, match="duplicates, never loss"):
        connection.create_session(SESSION_TRANSACTED)
    with pytest.raises(UnsupportedFeature, match="local transaction"):
        connect(emulation={"transactions": "refuse"}).create_session(SESSION_TRANSACTED)
    assert connect(emulation={"send_transactions": "refuse"}).create_session(SESSION_TRANSACTED).transacted


def test_sends_held_back_can_be_refused(backend: ScriptedBackend, connect: Connect) -> None:
    backend.lower(Native.TRANSACTIONS | Native.SEND_TRANSACTIONS)
    with pytest.raises(UnsupportedFeature, match="transaction of sends"):
        connect(emulation={"send_transactions": "refuse"}).create_session(SESSION_TRANSACTED)


@rule("AS-1")
def test_it_confirms_sends_in_groups(backend: ScriptedBackend, connect: Connect) -> None:
    session, listener = connect(send_confirmation="group").create_session(), Completions()
    producer = session.create_producer(QUEUE)
    for text in "abc":
        producer.send(text, completion_listener=listener)
    listener.wait(3)
    assert [event[0] for event in listener.events] == ["completed"] * 3
    assert (_bodies(backend), backend.script.count("commit") >= 1) == (["a", "b", "c"], True)
