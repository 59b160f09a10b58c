"""Transactions whose declaration or discharge is refused, not answered, or answered by the end of something."""

from collections.abc import Callable
from typing import Any

import pytest

from jmsbridge.spi import (
    BackendError,
    ChannelLost,
    LinkLost,
    NotSupported,
    Outcome,
    SendRefused,
    TransactionRolledBack,
)
from jmsbridge.testing.suite.contract.support import Answer, envelope, send, subscribe
from tests.amqp.faults.support import QUEUE, Opened, sent_async
from tests.amqp.peer.link import PeerLink
from tests.amqp.peer.messages import text
from tests.amqp.peer.script import Condition, accept
from tests.amqp.peer.script import Outcome as Said

Open = Callable[..., Opened]

TRANSACTIONAL_ACCEPTED = 0x24


def commit(channel: Any) -> BackendError | None:
    """The answer to a commit."""
    answer = Answer()
    channel.commit(answer)
    return answer.outcome(20)


def rollback(channel: Any) -> None:
    """Roll back, which must work."""
    answer = Answer()
    channel.rollback(answer)
    answer.wait(20)


def test_what_is_committed_is_there_and_what_is_rolled_back_is_not(opened: Opened) -> None:
    channel = opened.link.channel(True)
    sent_async(channel, "1", "2")
    assert opened.records.accepted == []
    assert commit(channel) is None
    assert len(opened.records.accepted) == 2
    sent_async(channel, "3")
    rollback(channel)
    sent_async(channel, "4")
    assert commit(channel) is None
    assert [data[-1:] for data in opened.records.accepted] == [b"1", b"2", b"4"]
    assert len({sent.txn for sent in opened.records.sent}) == 3


def test_outcomes_in_a_transaction_are_read_without_proton_s_objects(
    opened: Opened, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They would take a fifth of the CPU of each message."""
    from jmsbridge_amqp.connection import states

    slowly, read = list[Any](), states.outcome_in

    def note(data: Any) -> int:
        slowly.append(data)
        return read(data)

    monkeypatch.setattr(states, "outcome_in", note)
    channel = opened.link.channel(True)
    sent_async(channel, "1", "2")
    assert commit(channel) is None
    assert len(slowly) == (0 if request.node.callspec.params["calls"] == "fast" else 2)


def test_a_refused_coordinator(opened: Opened) -> None:
    opened.script.attach = lambda link: Condition("amqp:not-implemented") if link.coordinator else "attach"
    with pytest.raises(NotSupported, match="transactions"):
        opened.link.channel(True)
    send(opened.link.channel(False), envelope(QUEUE))


def test_a_coordinator_refused_by_the_end_of_its_session(opened: Opened) -> None:
    opened.script.attach = lambda link: "end session" if link.coordinator else "attach"
    with pytest.raises(NotSupported, match="transactions"):
        opened.link.channel(True)
    send(opened.link.channel(False), envelope(QUEUE))


@pytest.mark.parametrize(
    "name", ["amqp:transaction:rollback", "amqp:transaction:timeout", "amqp:transaction:unknown-id", "failed"]
)
def test_a_refused_discharge_is_rolled_back(opened: Opened, name: str) -> None:
    opened.script.discharge = lambda txn, fail: accept if fail else Said("rejected", Condition(name, "no room"))
    channel = opened.link.channel(True)
    sent_async(channel, "1")
    refused = commit(channel)
    assert type(refused) is TransactionRolledBack
    assert not refused.in_doubt
    assert "no room" in str(refused)
    assert opened.records.accepted == []
    opened.script.discharge = lambda txn, fail: accept
    sent_async(channel, "2")
    assert commit(channel) is None
    assert [data[-1:] for data in opened.records.accepted] == [b"2"]


def test_a_refused_discharge_gives_consumed_messages_back(opened: Opened) -> None:
    opened.script.discharge = lambda txn, fail: Said("rejected", Condition("amqp:transaction:rollback"))
    channel = opened.link.channel(True)
    subscription, box = subscribe(channel, QUEUE, 5)
    opened.peer.put("q", text("1"))
    box.wait(1)
    subscription.settle(box.tokens, Outcome.ACCEPTED)
    refused = commit(channel)
    assert refused is not None
    assert not refused.in_doubt
    if isinstance(refused, ChannelLost):  # the broker delivers it again, to another channel
        opened.events.wait(lambda log: log.channels)
    else:
        answer = Answer()
        subscription.settle(box.tokens, Outcome.RELEASED, answer)
        answer.wait()


@pytest.mark.parametrize("ending", ["die", "detach", "end session"])
def test_a_discharge_that_was_written_and_not_answered_is_in_doubt(opened: Opened, ending: Any) -> None:
    channel = opened.link.channel(True)
    sent_async(channel, "1")
    opened.script.discharge = lambda txn, fail: ending
    doubt = commit(channel)
    assert isinstance(doubt, LinkLost)
    assert doubt.in_doubt
    assert len(opened.records.accepted) == 1


def test_a_discharge_that_is_settled_without_an_outcome_is_in_doubt(opened: Opened) -> None:
    channel = opened.link.channel(True)
    sent_async(channel, "1")
    opened.script.discharge = lambda txn, fail: Said("none")
    doubt = commit(channel)
    assert isinstance(doubt, ChannelLost)
    assert doubt.in_doubt
    opened.events.wait(lambda log: log.channels)


@pytest.mark.usefixtures("impatient")
def test_a_discharge_that_is_never_answered_is_in_doubt(opened: Opened) -> None:
    channel = opened.link.channel(True)
    sent_async(channel, "1")
    opened.script.discharge = lambda txn, fail: "omit"
    doubt = commit(channel)
    assert isinstance(doubt, LinkLost)
    assert doubt.in_doubt


def test_a_commit_waits_as_long_as_outcomes_come(opened: Opened, impatient: float) -> None:
    opened.script.outcome = lambda sent: "omit"
    channel = opened.link.channel(True)
    sent_async(channel, *"12345")
    sent = opened.records.wait_sent(5)
    answer = Answer()
    channel.commit(answer)
    for each in sent:
        assert not answer.is_answered(0.6 * impatient)
        each.answer(accept)
    assert answer.outcome() is None
    assert len(opened.records.accepted) == 5


def test_the_discharge_of_many_messages_may_take_longer(
    opened: Opened, impatient: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jmsbridge_amqp.transactions.transaction._EACH", impatient)
    channel = opened.link.channel(True)
    subscription, box = subscribe(channel, QUEUE, 5)
    opened.peer.put("q", text("1"), text("2"), text("3"))
    box.wait(3)
    subscription.settle(box.tokens, Outcome.ACCEPTED)
    sent_async(channel, "1")
    opened.script.discharge = lambda txn, fail: "omit"
    answer = Answer()
    channel.commit(answer)
    assert not answer.is_answered(3 * impatient)
    assert isinstance(answer.outcome(), LinkLost)


@pytest.mark.parametrize(
    "outcome", [Said("rejected", Condition("amqp:resource-limit-exceeded", "full")), Said("released"), Said("modified")]
)
def test_a_transaction_with_a_refused_send_is_rolled_back_whole(opened: Opened, outcome: Said) -> None:
    opened.script.outcome = lambda sent: outcome if sent.data[-1:] == b"2" else accept
    channel = opened.link.channel(True)
    sent_async(channel, "1", "2", "3")
    refused = commit(channel)
    assert type(refused) is TransactionRolledBack
    assert opened.records.accepted == []
    assert [fail for _, fail in opened.records.of("discharge")][:1] == [True]
    opened.script.outcome = lambda sent: accept
    sent_async(channel, "4")
    assert commit(channel) is None
    assert [data[-1:] for data in opened.records.accepted] == [b"4"]


def test_a_send_that_is_refused_after_the_commit_began_rolls_it_back(opened: Opened) -> None:
    opened.script.outcome = lambda sent: "omit"
    channel = opened.link.channel(True)
    sent_async(channel, "1", "2")
    sent = opened.records.wait_sent(2)
    answer = Answer()
    channel.commit(answer)
    sent[0].answer(accept)
    assert not answer.is_answered(0.2)
    sent[1].answer(Said("rejected"))
    assert isinstance(answer.outcome(), TransactionRolledBack)
    assert opened.records.accepted == []


def test_a_refused_declaration_rolls_back(opened: Opened) -> None:
    opened.script.declare = lambda: Condition("amqp:resource-limit-exceeded", "too many")
    channel = opened.link.channel(True)
    sent_async(channel, "1")
    refused = commit(channel)
    assert isinstance(refused, (TransactionRolledBack, SendRefused))
    assert not refused.in_doubt
    assert "too many" in str(refused)
    opened.script.declare = lambda: "declare"
    sent_async(channel, "2")
    assert commit(channel) is None
    assert [data[-1:] for data in opened.records.accepted] == [b"2"]


@pytest.mark.usefixtures("impatient")
def test_a_declaration_that_is_never_answered_is_rolled_back(opened: Opened) -> None:
    opened.script.declare = lambda: "omit"
    channel = opened.link.channel(True)
    sent_async(channel, "1")
    refused = commit(channel)
    assert isinstance(refused, BackendError)
    assert not refused.in_doubt
    assert opened.records.sent == []


@pytest.mark.usefixtures("impatient")
def test_a_rollback_with_a_declaration_that_is_never_answered_ends(opened: Opened) -> None:
    opened.script.declare = lambda: "omit"
    channel = opened.link.channel(True)
    sent_async(channel, "1")
    answer = Answer()
    channel.rollback(answer)
    answer.outcome(10)
    assert opened.records.sent == []


@pytest.mark.usefixtures("impatient")
def test_without_credit_for_its_messages_a_commit_rolls_back(open_link: Open) -> None:
    opened = open_link({"credit": 0})
    channel = opened.link.channel(True)
    sent_async(channel, "1")
    refused = commit(channel)
    assert isinstance(refused, TransactionRolledBack)
    assert "credit" in str(refused)
    assert opened.records.sent == []


@pytest.mark.usefixtures("impatient")
def test_without_credit_for_a_declaration_nothing_hangs(open_link: Open) -> None:
    opened = open_link({"coordinator_credit": 0})
    channel = opened.link.channel(True)
    sent_async(channel, "1")
    refused = commit(channel)
    assert isinstance(refused, BackendError)
    assert not refused.in_doubt


def test_one_credit_at_the_coordinator_is_enough(open_link: Open) -> None:
    opened = open_link({"coordinator_credit": 1})
    channel = opened.link.channel(True)
    for number in range(3):
        sent_async(channel, str(number))
        answer = Answer()
        channel.commit(answer)
        while not answer.is_answered(0.05):
            link = next(each for each in opened.records.of("attach") if each.coordinator)
            opened.peer.do(lambda link=link: link.proton.credit or link.grant(1))  # type: ignore[misc]
        answer.wait()
    assert len(opened.records.accepted) == 3


@pytest.mark.parametrize("state", ["before", "after"])
def test_a_connection_lost_around_the_commit(opened: Opened, state: str) -> None:
    channel = opened.link.channel(True)
    (sent,) = sent_async(channel, "1")
    opened.records.wait_sent(1)
    if state == "before":
        opened.peer.do(opened.peer.connection.cut)
        opened.events.wait(lambda log: log.losses)
        lost = commit(channel)
        assert isinstance(lost, LinkLost)
        assert not lost.in_doubt
    else:
        assert commit(channel) is None
        opened.peer.do(opened.peer.connection.cut)
        opened.events.wait(lambda log: log.losses)
        assert len(opened.records.accepted) == 1
    assert sent.answers == [None]


def test_a_coordinator_that_ends_between_transactions_ends_the_channel(opened: Opened) -> None:
    channel = opened.link.channel(True)
    sent_async(channel, "1")
    assert commit(channel) is None
    link: PeerLink = next(each for each in opened.records.of("attach") if each.coordinator)
    opened.peer.do(lambda: link.close(Condition("amqp:resource-limit-exceeded", "too long")))
    opened.events.wait(lambda log: log.channels)
    lost = commit(channel)
    assert isinstance(lost, ChannelLost)
    assert not lost.in_doubt
    again = opened.link.channel(True)
    sent_async(again, "2")
    assert commit(again) is None


def test_acceptances_are_told_in_the_transaction(opened: Opened) -> None:
    channel = opened.link.channel(True)
    subscription, box = subscribe(channel, QUEUE, 5)
    opened.peer.put("q", text("1"), text("2"))
    box.wait(2)
    subscription.settle(box.tokens, Outcome.ACCEPTED)
    assert opened.records.settled == []
    assert commit(channel) is None
    settled = opened.records.wait_settled(2)
    assert [each.state for each in settled] == [TRANSACTIONAL_ACCEPTED] * 2
    assert {each.txn for each in settled} == {opened.records.of("discharge")[0][0]}


def test_after_a_rollback_messages_can_be_returned(opened: Opened) -> None:
    channel = opened.link.channel(True)
    subscription, box = subscribe(channel, QUEUE, 5)
    opened.peer.put("q", text("1"))
    box.wait(1)
    subscription.settle(box.tokens, Outcome.ACCEPTED)
    rollback(channel)
    answer = Answer()
    subscription.settle(box.tokens, Outcome.RELEASED, answer)
    answer.wait()
    assert [each.state for each in opened.records.wait_settled(1)] == [0x26]
    assert opened.records.settled[0].txn is None


def test_no_transaction_begins_for_an_empty_commit(opened: Opened) -> None:
    channel = opened.link.channel(True)
    for _ in range(3):
        assert commit(channel) is None
        rollback(channel)
    assert opened.records.of("discharge") == []


def test_closing_rolls_back(opened: Opened) -> None:
    channel = opened.link.channel(True)
    sent_async(channel, "1")
    opened.records.wait_sent(1)
    channel.close()
    assert opened.records.accepted == []
