"""Sends confirmed in groups: lost links and channels, brokers without transactions, mistakes, interrupts and ends."""

import threading
from concurrent.futures import Future

import pytest

from jmsbridge import (
    ResourceAllocationException,
    Session,
    UnsupportedFeature,
)
from jmsbridge.spi import (
    ChannelLost,
    Native,
    NotSupported,
    TransactionRolledBack,
)
from jmsbridge.testing.marks import rule
from jmsbridge.testing.scripted import Call, ScriptedBackend
from jmsbridge.testing.suite.support import LONG, Completions, eventually, run_thread, send_texts
from tests.core.conftest import Connect
from tests.core.interrupts.test_interrupted_calls import interrupted_when
from tests.core.sending.support import QUEUE, bodies, first_held, outcomes, send

# ---- lost links and channels


@rule("AS-4")
def test_a_commit_that_was_not_sent_is_repeated_singly_on_the_next_link(
    backend: ScriptedBackend, connect_grouped: Connect
) -> None:
    """What was sent is rolled back with its link for certain."""
    session, listener = connect_grouped().create_session(), Completions()
    producer = first_held(backend, session, listener)
    send(producer, listener, *"ab")

    def cut(_: Call) -> None:
        del backend.script.before["commit"]
        backend.link.cut()

    backend.script.before["commit"] = cut
    backend.script.answer_inline("commit")
    backend.release("commit")
    assert outcomes(listener, 3) == ["first", "a", "b"]
    assert bodies(backend) == ["first", "a", "b"]
    send(producer, listener, "next")
    assert outcomes(listener, 4)[-1] == "next"
    assert [channel.transacted for channel in backend.link.channels] == [False, True]


def test_a_link_that_is_lost_while_a_group_is_repeated(backend: ScriptedBackend, connect_grouped: Connect) -> None:
    """What was written is in doubt; what was not is sent over the next link, and nothing twice."""
    session, listener = connect_grouped().create_session(), Completions()
    producer = first_held(backend, session, listener)
    send(producer, listener, *"abc")
    backend.release("commit")
    backend.script.wait_held("commit")
    backend.hold("send")

    def cut(call: Call) -> None:
        if call.detail.body == "b":
            del backend.script.before["send"]
            backend.link.cut(applied=1)
            backend.script.answer_inline("send")

    backend.script.before["send"] = cut
    backend.script.release("commit", error=TransactionRolledBack("no"))
    assert outcomes(listener, 4) == ["first", "a?", "b", "c"]
    assert bodies(backend) == ["first", "a", "b", "c"]


def test_the_channel_of_the_groups_is_lost_alone(backend: ScriptedBackend, connect_grouped: Connect) -> None:
    """Its session keeps its own channel and its consumers."""
    session, listener = connect_grouped().create_session(), Completions()
    session.create_consumer(QUEUE)
    producer = first_held(backend, session, listener)
    backend.link.channels[1].lose(ChannelLost("the broker closed it"))
    assert outcomes(listener, 1) == ["first?"]
    backend.script.answer_inline("commit")
    send(producer, listener, "next")
    assert outcomes(listener, 2) == ["first?", "next"]
    assert [channel.transacted for channel in backend.link.channels] == [False, True, True]
    assert (backend.script.count("subscribe"), len(backend.links)) == (1, 1)


def test_a_connection_that_is_lost_for_good_fails_what_waits(
    backend: ScriptedBackend, connect_grouped: Connect
) -> None:
    session, listener = connect_grouped(reconnect_attempts=0).create_session(), Completions()
    producer = first_held(backend, session, listener)
    send(producer, listener, *"ab")
    backend.link.cut()
    assert outcomes(listener, 3) == ["first?", "a!", "b!"]
    assert "was not sent" in str(listener.events[1][2])


# ---- brokers without transactions


def test_without_transactions_each_send_is_confirmed_by_itself(
    backend: ScriptedBackend, connect_grouped: Connect
) -> None:
    backend.lower(Native.TRANSACTIONS | Native.SEND_TRANSACTIONS)
    connection = connect_grouped()
    session, listener = connection.create_session(), Completions()
    send(session.create_producer(QUEUE), listener, *"abc")
    assert outcomes(listener, 3) == ["a", "b", "c"]
    assert backend.script.count("commit") == 0
    assert not any(channel.transacted for channel in backend.link.channels)
    capability = connection.capabilities["send_groups"]
    assert (capability.outcome, "by itself" in capability.price) == ("emulated", True)


def test_groups_can_be_required(backend: ScriptedBackend, connect_grouped: Connect) -> None:
    """With the feature refused, a broker without transactions is refused loudly."""
    backend.lower(Native.TRANSACTIONS | Native.SEND_TRANSACTIONS)
    connection = connect_grouped(emulation={"send_groups": "refuse"})
    with pytest.raises(UnsupportedFeature, match="confirmation of sends in groups"):
        connection.create_session()


def test_the_next_link_has_no_transactions(backend: ScriptedBackend, connect_grouped: Connect) -> None:
    session, listener = connect_grouped().create_session(), Completions()
    producer = first_held(backend, session, listener)
    send(producer, listener, "a")
    backend.lower(Native.TRANSACTIONS | Native.SEND_TRANSACTIONS)
    backend.link.cut()
    backend.script.before["channel"] = _no_transactions
    assert outcomes(listener, 2) == ["first?", "a"]
    send(producer, listener, "b")
    assert outcomes(listener, 3) == ["first?", "a", "b"]
    assert not any(channel.transacted for channel in backend.link.channels)


def _no_transactions(call: Call) -> None:
    if call.detail:
        raise NotSupported("no transactions here")


def test_a_second_channel_that_cannot_be_had(backend: ScriptedBackend, connect_grouped: Connect) -> None:
    session, listener = connect_grouped().create_session(), Completions()
    backend.script.before["channel"] = _no_transactions
    send(session.create_producer(QUEUE), listener, *"ab")
    assert outcomes(listener, 2) == ["a", "b"]
    assert backend.script.count("commit") == 0


# ---- mistakes, interrupts, ends


def test_a_backend_that_raises(backend: ScriptedBackend, connect_grouped: Connect) -> None:
    """Nobody knows what the broker has; the session goes on."""
    session, listener = connect_grouped().create_session(), Completions()
    producer = session.create_producer(QUEUE)

    def fail(_: Call) -> None:
        del backend.script.before["commit"]
        raise ZeroDivisionError

    backend.script.before["commit"] = fail
    send(producer, listener, "a")
    assert outcomes(listener, 1) == ["a?"]
    send(producer, listener, "b")
    assert outcomes(listener, 2) == ["a?", "b"]


def test_a_synchronous_send_interrupted_while_it_waits_for_the_groups(
    backend: ScriptedBackend, connect_grouped: Connect
) -> None:
    session, listener = connect_grouped().create_session(), Completions()
    producer = first_held(backend, session, listener)
    waiting = session._core.outgoing._grouped
    assert waiting is not None
    with interrupted_when(lambda: len(waiting._changed.gates) > 1, KeyboardInterrupt):
        producer.send("interrupted")
    backend.script.answer_inline("commit")
    backend.release("commit")
    producer.send("next")
    assert bodies(backend) == ["first", "next"]
    assert outcomes(listener, 1) == ["first"]


@rule("CL-8")
def test_close_gives_up_in_order(backend: ScriptedBackend, connect_grouped: Connect) -> None:
    """The group that is being committed is in doubt; what waited behind it was certainly not sent."""
    session, listener = connect_grouped(close_timeout=0.2).create_session(), Completions()
    producer = first_held(backend, session, listener)
    send(producer, listener, *"ab")
    session.close()
    assert outcomes(listener, 3) == ["first?", "a!", "b!"]
    assert all(isinstance(event[2], ResourceAllocationException) for event in listener.events[1:])
    assert backend.script.verbs().count("close-channel") == 2
    backend.release("commit")
    assert backend.script.count("send") == 1


def test_a_producer_that_is_closed_gives_up_its_sends_only(backend: ScriptedBackend, connect_grouped: Connect) -> None:
    """A group that is given up and then rolled back is not sent again; a later message of the session is sent."""
    session, listener = connect_grouped(close_timeout=0.2).create_session(), Completions()
    producer = first_held(backend, session, listener)
    send(producer, listener, "a")
    producer.close()
    assert outcomes(listener, 2) == ["first?", "a!"]
    backend.script.answer_inline("commit")
    backend.script.release("commit", error=TransactionRolledBack("no"))
    send(session.create_producer(QUEUE), listener, "later")
    assert outcomes(listener, 3)[-1] == "later"
    assert bodies(backend) == ["later"]


def test_close_while_a_group_is_repeated(backend: ScriptedBackend, connect_grouped: Connect) -> None:
    """What the backend has not written is cancelled there."""
    session, listener = connect_grouped(close_timeout=0.2).create_session(), Completions()
    producer = first_held(backend, session, listener)
    send(producer, listener, *"ab")
    backend.release("commit")
    backend.script.wait_held("commit")
    backend.script.keep("send")
    backend.script.release("commit", error=TransactionRolledBack("no"))
    backend.script.wait_held("send", 2)
    session.close()
    assert outcomes(listener, 3) == ["first", "a!", "b!"]
    assert (bodies(backend), backend.script.held("send")) == (["first"], [])


def test_transacted_sessions_have_no_groups(backend: ScriptedBackend, connect_grouped: Connect) -> None:
    session, listener = connect_grouped().create_session(transacted=True), Completions()
    send(session.create_producer(QUEUE), listener, "a")
    assert outcomes(listener, 1) == ["a"]
    assert bodies(backend) == []
    session.commit()
    assert bodies(backend) == ["a"]
    assert len(backend.link.channels) == 1


def test_many_answers_at_random(backend: ScriptedBackend, connect_grouped: Connect) -> None:
    """Commits that succeed, are refused or are lost: no message completes that the broker does not have."""
    session, listener = connect_grouped().create_session(), Completions()
    producer = session.create_producer(QUEUE)
    turn = 0

    def answer(_: Call) -> None:
        nonlocal turn
        turn += 1
        if turn % 4 == 1:
            raise TransactionRolledBack("no")
        if turn % 4 == 3:
            backend.link.cut()

    backend.script.before["commit"] = answer
    texts = [str(number) for number in range(300)]
    for text in texts:
        send(producer, listener, text)
        if int(text) % 10 == 0:
            listener.wait(max(0, int(text) - 20))
    marks = outcomes(listener, 300)
    assert [mark.rstrip("!?") for mark in marks] == texts
    done = [mark for mark in marks if mark in texts]
    assert bodies(backend) == done
    assert turn > 4


# ---- closing while the link is being replaced


def _closing(session: Session) -> Future[None]:
    """Close it on another thread; returns once that waits for sends."""
    closing = run_thread(session.close)
    eventually(lambda: session._core.outgoing.ledger.is_awaited)
    return closing


@rule("CL-8")
def test_close_waits_for_the_next_link(backend: ScriptedBackend, connect_grouped: Connect) -> None:
    """What waits for a link is sent over the next one; consumers are not subscribed there."""
    session, listener = connect_grouped(close_timeout=LONG).create_session(), Completions()
    session.create_consumer(QUEUE)
    producer = first_held(backend, session, listener)
    send(producer, listener, *"ab")
    backend.script.answer_inline("commit")
    backend.refuse(1_000_000)
    backend.link.cut()
    listener.wait(1)
    closing = _closing(session)
    backend.refuse(0)
    assert outcomes(listener, 3) == ["first?", "a", "b"]
    closing.result(LONG)
    assert bodies(backend) == ["a", "b"]
    assert backend.script.count("subscribe") == 1
    assert backend.script.verbs(2).count("channel") == backend.script.verbs(2).count("close-channel") == 2


@rule("CL-8")
def test_close_while_there_is_no_link(backend: ScriptedBackend, connect_grouped: Connect) -> None:
    """After the time-out, what waited for a link was certainly not sent, and no thread goes on waiting."""
    session, listener = connect_grouped(close_timeout=0.2).create_session(), Completions()
    producer = first_held(backend, session, listener)
    send(producer, listener, *"ab")
    backend.refuse(1_000_000)
    backend.link.cut()
    session.close()
    assert outcomes(listener, 3) == ["first?", "a!", "b!"]
    assert all(isinstance(event[2], ResourceAllocationException) for event in listener.events[1:])
    eventually(lambda: f"jmsbridge-{session._core.name}-group" not in {one.name for one in threading.enumerate()})


def test_a_closed_session_is_not_recovered(backend: ScriptedBackend, connect_grouped: Connect) -> None:
    connection = connect_grouped()
    session, other = connection.create_session(), connection.create_session()
    session.close()
    backend.link.cut()
    send_texts(other, QUEUE, "after")
    assert backend.script.verbs(2).count("channel") == 1
