"""Commit and rollback when the link is lost before, during and after them, native and emulated."""

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from jmsbridge import (
    SESSION_TRANSACTED,
    Connection,
    EmulationWarning,
    InDoubt,
    InDoubtException,
    Queue,
    Session,
    TransactionRolledBackException,
)
from jmsbridge.core.transaction import SessionTransaction
from jmsbridge.spi import Address, Envelope, Native, Outcome, SendRefused, Ticket
from jmsbridge.testing.scripted import Call, ScriptedBackend, text_envelope
from jmsbridge.testing.suite.support import LONG, eventually, receive_texts, run_thread, send_texts, text_of

Connect = Callable[..., Connection]
QUEUE = Queue("orders")
ADDRESS = Address("orders")


def _bodies(backend: ScriptedBackend) -> list[str]:
    return [envelope.body for envelope in backend.accepted if envelope.address == ADDRESS]


def _cut(backend: ScriptedBackend, probe: Session, applied: int = 0) -> None:
    """Cut the link, and wait until a session made after the tested one works again."""
    backend.link.cut(applied=applied)
    send_texts(probe, Queue("probe"), "there?")


def test_tx_commit_after_a_loss_has_rolled_back(backend: ScriptedBackend, connect: Connect) -> None:
    connection = connect()
    session = connection.create_session(session_mode=SESSION_TRANSACTED)
    probe = connection.create_session()
    send_texts(session, QUEUE, "lost")
    _cut(backend, probe)
    with pytest.raises(TransactionRolledBackException):
        session.commit()
    send_texts(session, QUEUE, "kept")
    session.commit()
    assert _bodies(backend) == ["kept"]


def test_tx_with_sends_on_both_links_rolls_back_whole(backend: ScriptedBackend, connect: Connect) -> None:
    connection = connect()
    session = connection.create_session(session_mode=SESSION_TRANSACTED)
    probe = connection.create_session()
    send_texts(session, QUEUE, "before")
    _cut(backend, probe)
    send_texts(session, QUEUE, "after")
    with pytest.raises(TransactionRolledBackException):
        session.commit()
    session.commit()
    assert _bodies(backend) == []


def test_tx_of_receipts_rolls_back_too(backend: ScriptedBackend, connect: Connect) -> None:
    session = connect().create_session(session_mode=SESSION_TRANSACTED)
    consumer = session.create_consumer(QUEUE)
    backend.subscription.deliver(text_envelope(ADDRESS, "a"))
    assert receive_texts(consumer, 1) == ["a"]
    backend.link.cut()
    eventually(lambda: "grant" in backend.script.verbs(2))
    with pytest.raises(TransactionRolledBackException):
        session.commit()
    assert backend.settled == []


def test_tx_of_a_receipt_during_the_loss_rolls_back_too(
    backend: ScriptedBackend, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = connect().create_session(session_mode=SESSION_TRANSACTED)
    consumer = session.create_consumer(QUEUE)
    backend.subscription.deliver(text_envelope(ADDRESS, "a"))
    incoming = session._core.incoming
    interrupted, received = incoming.interrupted, list[str]()

    def meanwhile() -> None:
        received.extend(receive_texts(consumer, 1))
        interrupted()

    monkeypatch.setattr(incoming, "interrupted", meanwhile)
    backend.link.cut()
    eventually(lambda: "grant" in backend.script.verbs(2))
    assert received == ["a"]
    with pytest.raises(TransactionRolledBackException):
        session.commit()
    assert backend.settled == []


@pytest.mark.parametrize("applied", [0, 1])
def test_tx_commit_cut_in_flight_is_in_doubt(backend: ScriptedBackend, connect: Connect, applied: int) -> None:
    backend.hold("commit")
    connection = connect()
    session = connection.create_session(session_mode=SESSION_TRANSACTED)
    probe = connection.create_session()
    send_texts(session, QUEUE, "perhaps")
    committing = run_thread(session.commit)
    backend.script.wait_held("commit")
    backend.script.answer_inline("commit")
    _cut(backend, probe, applied)
    with pytest.raises(InDoubtException):
        committing.result(LONG)
    assert _bodies(backend) == ["perhaps"] * applied
    send_texts(session, QUEUE, "next")
    session.commit()
    assert _bodies(backend) == ["perhaps"] * applied + ["next"]


def test_tx_rollback_after_a_loss_is_silent(backend: ScriptedBackend, connect: Connect) -> None:
    connection = connect()
    session = connection.create_session(session_mode=SESSION_TRANSACTED)
    probe = connection.create_session()
    send_texts(session, QUEUE, "lost")
    _cut(backend, probe)
    session.rollback()
    send_texts(session, QUEUE, "kept")
    session.commit()
    assert _bodies(backend) == ["kept"]


def test_tx_refused_send_fails_the_commit(backend: ScriptedBackend, connect: Connect) -> None:
    session = connect().create_session(session_mode=SESSION_TRANSACTED)

    def refuse(call: Call) -> None:
        if call.detail.body == "b":
            raise SendRefused("no room")

    backend.script.before["send"] = refuse
    send_texts(session, QUEUE, "a", "b", "c")
    with pytest.raises(TransactionRolledBackException, match="no room"):
        session.commit()
    assert _bodies(backend) == []


def test_tx_settles_before_it_commits(backend: ScriptedBackend, connect: Connect) -> None:
    session = connect().create_session(session_mode=SESSION_TRANSACTED)
    consumer = session.create_consumer(QUEUE)
    tokens = backend.subscription.deliver(*(text_envelope(ADDRESS, text) for text in "abc"))
    receive_texts(consumer, 3)
    assert "settle" not in backend.script.verbs()
    session.commit()
    verbs = backend.script.verbs()
    assert verbs.index("settle") < verbs.index("commit")
    assert backend.settled == [(token, Outcome.ACCEPTED) for token in tokens]


def _emulated(backend: ScriptedBackend, connect: Connect) -> Connection:
    backend.lower(Native.TRANSACTIONS | Native.SEND_TRANSACTIONS)
    return connect()


def test_tx_emulated_holds_sends_and_warns(backend: ScriptedBackend, connect: Connect) -> None:
    connection = _emulated(backend, connect)
    with pytest.warns(EmulationWarning, match="transaction"):
        session = connection.create_session(session_mode=SESSION_TRANSACTED)
    consumer = session.create_consumer(QUEUE)
    backend.subscription.deliver(text_envelope(ADDRESS, "in"))
    receive_texts(consumer, 1)
    send_texts(session, QUEUE, "out-1", "out-2")
    assert backend.script.count("send") == 0
    session.commit()
    assert _bodies(backend) == ["out-1", "out-2"]
    verbs = [verb for verb in backend.script.verbs() if verb in ("send", "settle")]
    assert verbs == ["send", "send", "settle"]


def test_tx_emulated_rollback_sends_nothing(backend: ScriptedBackend, connect: Connect) -> None:
    connection = _emulated(backend, connect)
    with pytest.warns(EmulationWarning):
        session = connection.create_session(session_mode=SESSION_TRANSACTED)
    send_texts(session, QUEUE, "no")
    session.rollback()
    session.commit()
    assert backend.script.count("send") == 0


def test_tx_emulated_commit_that_fails_half_way_lists_what_happened(backend: ScriptedBackend, connect: Connect) -> None:
    connection = _emulated(backend, connect)
    with pytest.warns(EmulationWarning):
        session = connection.create_session(session_mode=SESSION_TRANSACTED)
    consumer = session.create_consumer(QUEUE)
    backend.subscription.deliver(text_envelope(ADDRESS, "in"))
    receive_texts(consumer, 1)
    send_texts(session, QUEUE, "sent", "refused", "unknown")
    backend.hold("send")
    committing = run_thread(session.commit)
    sent, refused, _ = backend.script.wait_held("send", 3)
    sent.succeed()
    refused.fail(SendRefused("no room"))
    backend.link.cut()
    with pytest.raises(InDoubt) as caught:
        committing.result(LONG)
    lists = (caught.value.sent, caught.value.refused, caught.value.unknown)
    assert [[text_of(message) for message in messages] for messages in lists] == [["sent"], ["refused"], ["unknown"]]
    assert backend.settled == []


def test_tx_emulated_wholly_refused_is_a_rollback(backend: ScriptedBackend, connect: Connect) -> None:
    connection = _emulated(backend, connect)
    with pytest.warns(EmulationWarning):
        session = connection.create_session(session_mode=SESSION_TRANSACTED)
    send_texts(session, QUEUE, "a")
    backend.hold("send")
    committing = run_thread(session.commit)
    backend.script.wait_held("send")[0].fail(SendRefused("no room"))
    with pytest.raises(TransactionRolledBackException):
        committing.result(LONG)
    assert _bodies(backend) == []


@pytest.mark.filterwarnings("ignore::jmsbridge.EmulationWarning")
@pytest.mark.parametrize("emulated", [True, False])
@pytest.mark.parametrize("restored", [False, True])
def test_tx_send_during_the_loss_of_its_link_rolls_back(
    backend: ScriptedBackend, connect: Connect, monkeypatch: pytest.MonkeyPatch, restored: bool, emulated: bool
) -> None:
    """The send has passed all checks, and joins a transaction that has ended or is ending."""
    if emulated:
        backend.lower(Native.TRANSACTIONS | Native.SEND_TRANSACTIONS)
    session = connect(emulation="allow").create_session(session_mode=SESSION_TRANSACTED)
    outgoing = session._core.outgoing
    transactions, reconnect = session._core.transactions, threading.Event()
    assert transactions is not None
    assert transactions._strategy is not None
    send = transactions._strategy.send

    def wait(_: Call) -> None:
        reconnect.wait(LONG)

    backend.script.before["channel"] = wait

    def meanwhile(transaction: SessionTransaction, envelope: Envelope, ticket: Ticket) -> None:
        backend.link.cut()
        eventually(lambda: "channel" in backend.script.verbs(2))  # the session already knows of the loss
        if restored:
            reconnect.set()
            outgoing.channel.wait_open()
        send(transaction, envelope, ticket)

    monkeypatch.setattr(transactions._strategy, "send", meanwhile)
    send_texts(session, QUEUE, "lost")
    reconnect.set()
    outgoing.channel.wait_open()
    with pytest.raises(TransactionRolledBackException):
        session.commit()
    send_texts(session, QUEUE, "kept")
    session.commit()
    assert _bodies(backend) == ["kept"]


@pytest.mark.filterwarnings("ignore::jmsbridge.EmulationWarning")
def test_tx_session_created_during_the_loss_begins_on_the_next_link(
    backend: ScriptedBackend, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend.lower(Native.TRANSACTIONS | Native.SEND_TRANSACTIONS)
    connection = connect(emulation="allow")
    hub = connection._core
    join, joining, joined = hub.join, threading.Event(), list[bool]()

    def meanwhile(core: Any, epoch: int) -> bool:
        if joined:
            return join(core, epoch)
        backend.refuse(10**6)
        backend.link.cut()
        eventually(lambda: not hub.supervisor._ready)
        joined.append(join(core, epoch))
        joining.set()
        return joined[0]

    monkeypatch.setattr(hub, "join", meanwhile)
    creating = run_thread(lambda: connection.create_session(session_mode=SESSION_TRANSACTED))
    assert joining.wait(LONG)
    assert joined == [False]
    backend.refuse(0)
    session = creating.result(LONG)
    send_texts(session, QUEUE, "one", "two")
    session.commit()
    assert _bodies(backend) == ["one", "two"]


@pytest.mark.filterwarnings("ignore::jmsbridge.EmulationWarning")
def test_tx_commit_waits_once_for_all_its_sends(backend: ScriptedBackend, connect: Connect) -> None:
    backend.lower(Native.TRANSACTIONS | Native.SEND_TRANSACTIONS)
    session = connect(emulation="allow", send_timeout=1.0).create_session(session_mode=SESSION_TRANSACTED)
    backend.hold("send")
    send_texts(session, QUEUE, *map(str, range(10)))
    begun = time.monotonic()
    with pytest.raises(InDoubtException) as caught:
        session.commit()
    assert time.monotonic() < begun + 5
    assert len(caught.value.unknown) == 10
