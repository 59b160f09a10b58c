"""Sends confirmed in groups, on a backend whose every answer the test decides."""

from typing import Any

import pytest

from jmsbridge import (
    DeliveryMode,
    ResourceAllocationException,
)
from jmsbridge.core.sending import grouped
from jmsbridge.spi import (
    AddressRefused,
    SendRefused,
    TransactionRolledBack,
)
from jmsbridge.testing.marks import rule
from jmsbridge.testing.scripted import Call, ScriptedBackend
from jmsbridge.testing.suite.support import LONG, Completions, run_thread, text_of
from tests.core.conftest import Connect
from tests.core.sending.support import bodies, first_held, outcomes, send

# ---- what a group is


@rule("AS-1")
def test_what_is_sent_during_a_commit_is_the_next_group(backend: ScriptedBackend, connect_grouped: Connect) -> None:
    session, listener = connect_grouped().create_session(), Completions()
    producer = first_held(backend, session, listener)
    send(producer, listener, *"abc")
    assert (bodies(backend), listener.events) == ([], [])
    backend.release("commit")
    backend.script.wait_call("commit", 2)
    assert outcomes(listener, 1) == ["first"]
    assert bodies(backend) == ["first"]
    backend.release("commit")
    assert outcomes(listener, 4) == ["first", "a", "b", "c"]
    assert bodies(backend) == ["first", "a", "b", "c"]
    assert backend.script.verbs()[-6:] == ["send", "commit", "send", "send", "send", "commit"]
    assert [channel.transacted for channel in backend.link.channels] == [False, True]


@pytest.mark.parametrize("limit", ["_MOST", "_MOST_BYTES"])
def test_a_group_is_bounded(
    backend: ScriptedBackend, connect_grouped: Connect, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(grouped, limit, 2)
    session, listener = connect_grouped().create_session(), Completions()
    producer = first_held(backend, session, listener)
    send(producer, listener, *"abcd", "long", "e")
    backend.script.answer_inline("commit")
    backend.release("commit")
    assert outcomes(listener, 7) == ["first", *"abcd", "long", "e"]
    groups = "".join(verb[0] for verb in backend.script.verbs() if verb in ("send", "commit"))
    assert groups == ("sc" + "ssc" * 3 if limit == "_MOST" else "sc" + "ssc" * 2 + "sc" * 2)


def test_a_duplicate_is_in_the_next_group(backend: ScriptedBackend, connect_grouped: Connect) -> None:
    """Brokers such as Artemis know the ids of a transaction only after its commit."""
    session, listener = connect_grouped().create_session(), Completions()
    producer = first_held(backend, session, listener)
    for text in "abab":
        producer.send(text, duplicate_id=text, completion_listener=listener)
    backend.script.answer_inline("commit")
    backend.release("commit")
    assert outcomes(listener, 5) == ["first", *"abab"]
    groups = "".join(verb[0] for verb in backend.script.verbs() if verb in ("send", "commit"))
    assert groups == "sc" + "ssc" * 2


def test_all_that_no_call_waits_for_is_in_a_group(backend: ScriptedBackend, connect_grouped: Connect) -> None:
    """Plain NON_PERSISTENT sends, a send-acknowledgement handler, PERSISTENT_GROUPACK."""
    acknowledged: list[str] = []
    connection = connect_grouped(block_on_durable_send=False)
    session, listener = connection.create_session(), Completions()
    session.group_ack_threshold = 100
    producer = first_held(backend, session, listener)
    producer.send("a", delivery_mode=DeliveryMode.NON_PERSISTENT)
    producer.send("b")
    producer.send("c", delivery_mode=DeliveryMode.PERSISTENT_GROUPACK)
    session.send_acknowledgement_handler = lambda message: acknowledged.append(text_of(message))
    producer.send("d")
    backend.release("commit")
    backend.script.wait_held("commit")
    assert ([text_of(message) for message in producer.unacknowledged], acknowledged) == (["c"], [])
    backend.script.answer_inline("commit")
    backend.release("commit")
    session.close()
    assert (bodies(backend), producer.unacknowledged, acknowledged) == (["first", *"abcd"], (), ["d"])
    assert backend.script.count("commit") == 2


# ---- order


@rule("OR-2")
@pytest.mark.parametrize("handled", [False, True])
def test_a_synchronous_send_comes_after_the_groups(
    backend: ScriptedBackend, connect_grouped: Connect, handled: bool
) -> None:
    session, listener = connect_grouped().create_session(), Completions()
    producer = first_held(backend, session, listener)
    send(producer, listener, "a")
    if handled:
        session.send_acknowledgement_handler = lambda message: None
    sending = run_thread(lambda: producer.send("synchronous"))
    backend.release("commit")
    backend.script.wait_held("commit")
    assert backend.script.count("send") == 2
    assert not sending.done()
    backend.release("commit")
    sending.result(LONG)
    assert bodies(backend) == ["first", "a", "synchronous"]


@rule("OR-2")
def test_a_synchronous_send_after_a_rolled_back_group_comes_after_its_messages(
    backend: ScriptedBackend, connect_grouped: Connect
) -> None:
    session, listener = connect_grouped().create_session(), Completions()
    producer = first_held(backend, session, listener)
    sending = run_thread(lambda: producer.send("synchronous"))
    backend.hold("send")
    backend.script.release("commit", error=TransactionRolledBack("no"))
    backend.script.wait_held("send")
    assert not sending.done()
    backend.script.answer_inline("send")
    backend.release("send")
    sending.result(LONG)
    assert bodies(backend) == ["first", "synchronous"]
    assert outcomes(listener, 1) == ["first"]


def test_a_synchronous_send_does_not_wait_for_ever(
    backend: ScriptedBackend, connect_grouped: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not sent, since it would overtake; a commit has no deadline while the broker asks senders to pause."""
    session, listener = connect_grouped(send_timeout=0.2, close_timeout=0.1).create_session(), Completions()
    producer = first_held(backend, session, listener)
    message = session.create_text_message("never")

    stamp = session._core.outgoing.stamp

    def stamped(*arguments: Any, **options: Any) -> Any:
        made = stamp(*arguments, **options)
        backend.link.throttle(True)
        return made

    monkeypatch.setattr(session._core.outgoing, "stamp", stamped)
    with pytest.raises(ResourceAllocationException, match="was not sent"):
        producer.send(message)
    backend.link.throttle(False)
    assert backend.script.count("send") == 1


# ---- a commit that is refused


@rule("AS-4")
def test_a_group_that_was_rolled_back_is_sent_again_singly(backend: ScriptedBackend, connect_grouped: Connect) -> None:
    """None of it was called back before; now each has its own answer, and the refused one fails alone."""
    session, listener = connect_grouped().create_session(), Completions()
    producer = first_held(backend, session, listener)
    send(producer, listener, *"abc")
    backend.release("commit")
    backend.script.wait_held("commit")

    def refuse(call: Call) -> None:
        if call.detail.body == "b":
            raise SendRefused("the queue is full")

    backend.script.before["send"] = refuse
    backend.script.release("commit", error=TransactionRolledBack("no"))
    assert outcomes(listener, 4) == ["first", "a", "b!", "c"]
    assert "full" in str(listener.events[2][2])
    assert bodies(backend) == ["first", "a", "c"]
    del backend.script.before["send"]
    backend.script.answer_inline("commit")
    send(producer, listener, "next")
    assert outcomes(listener, 5)[-1] == "next"
    assert backend.script.count("channel") == 2, "the channel can be used again"


def test_a_message_that_is_refused_before_the_commit_fails_alone(
    backend: ScriptedBackend, connect_grouped: Connect
) -> None:
    session, listener = connect_grouped().create_session(), Completions()
    producer = first_held(backend, session, listener)

    def refuse(call: Call) -> None:
        if call.detail.body == "b":
            raise AddressRefused("gone")

    backend.script.before["send"] = refuse
    send(producer, listener, *"abc")
    backend.script.answer_inline("commit")
    backend.release("commit")
    assert outcomes(listener, 4) == ["first", "a", "b!", "c"]
    assert bodies(backend) == ["first", "a", "c"]
    assert backend.script.count("commit") == 2


def test_a_commit_does_not_answer_for_a_send(backend: ScriptedBackend, connect_grouped: Connect) -> None:
    """The answers to the sends may come after that to the commit, and may be refusals."""
    session, listener = connect_grouped().create_session(), Completions()
    producer = first_held(backend, session, listener)
    backend.hold("send")
    send(producer, listener, *"ab")
    backend.script.answer_inline("commit")
    backend.release("commit")
    backend.script.wait_call("commit", 2)
    sends = backend.script.wait_held("send", 2)
    assert outcomes(listener, 1) == ["first"]
    sends[1].fail(SendRefused("no"))
    sends[0].succeed()
    assert outcomes(listener, 3) == ["first", "a", "b!"]


# ---- a commit that is in doubt


@rule("AS-4")
@pytest.mark.parametrize("applied", [0, 1])
def test_a_group_in_doubt_is_not_sent_again(backend: ScriptedBackend, connect_grouped: Connect, applied: int) -> None:
    """The link is lost during the commit, which the broker has done or not: each callback names its own message."""
    session, listener = connect_grouped().create_session(), Completions()
    producer = first_held(backend, session, listener)
    send(producer, listener, *"ab")
    backend.release("commit")
    backend.script.wait_held("commit")
    send(producer, listener, "next")
    backend.script.answer_inline("commit")
    backend.link.cut(applied=applied)
    assert outcomes(listener, 4) == ["first", "a?", "b?", "next"]
    assert [event[2].unknown for event in listener.events[1:3]] == [(event[1],) for event in listener.events[1:3]]
    assert bodies(backend) == ["first", *("ab" if applied else ""), "next"]


def test_a_refused_message_of_a_group_in_doubt_was_certainly_not_sent(
    backend: ScriptedBackend, connect_grouped: Connect
) -> None:
    session, listener = connect_grouped().create_session(), Completions()
    producer = first_held(backend, session, listener)
    send(producer, listener, *"ab")

    def refuse(call: Call) -> None:
        if call.detail.body == "b":
            raise SendRefused("no")

    backend.script.before["send"] = refuse
    backend.release("commit")
    backend.script.wait_held("commit")
    backend.link.cut()
    assert outcomes(listener, 3) == ["first", "a?", "b!"]


def test_no_answer_to_a_commit(backend: ScriptedBackend, connect_grouped: Connect) -> None:
    """Its messages are in doubt, and its channel is not used again, since a late commit would mix with the next."""
    session, listener = connect_grouped(send_timeout=0.2).create_session(), Completions()
    producer = first_held(backend, session, listener)
    assert outcomes(listener, 1) == ["first?"]
    backend.script.answer_inline("commit")
    send(producer, listener, "next")
    assert outcomes(listener, 2) == ["first?", "next"]
    assert [channel.transacted for channel in backend.link.channels] == [False, True, True]
    assert "close-channel" in backend.script.verbs()
    backend.release("commit")
    assert outcomes(listener, 2) == ["first?", "next"]


def test_while_the_broker_asks_senders_to_pause_a_commit_may_take_long(
    backend: ScriptedBackend, connect_grouped: Connect
) -> None:
    session, listener = connect_grouped(send_timeout=0.1).create_session(), Completions()
    producer = first_held(backend, session, listener)
    backend.link.throttle(True)
    waited = run_thread(lambda: producer.send("after", completion_listener=listener))
    assert isinstance(waited.exception(LONG), ResourceAllocationException)  # after ``send_timeout``
    assert listener.events == []
    backend.link.throttle(False)
    backend.release("commit")
    assert outcomes(listener, 1) == ["first"]
