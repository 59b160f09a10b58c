"""Sends that the broker refuses, does not answer, answers in another order or twice, or gives no credit for."""

import random
import socket
import struct
import threading
from collections.abc import Callable
from typing import Any, cast

import pytest

from jmsbridge.spi import (
    AccessDenied,
    Address,
    AddressRefused,
    BackendError,
    Cancels,
    ChannelLost,
    LinkLost,
    SendCancelled,
    SendRefused,
)
from jmsbridge.testing.suite.contract.support import Answer, envelope, send, subscribe
from jmsbridge.testing.suite.support import eventually
from tests.amqp.faults.support import CLASSIC, QUEUE, Opened, sent_async
from tests.amqp.peer.records import PATIENCE, Sent
from tests.amqp.peer.script import Condition, Outcome, accept

Open = Callable[..., Opened]

NO_RELAY = {"properties": {**CLASSIC}, "offered": ()}


def test_what_is_accepted_is_there_once_in_order(opened: Opened) -> None:
    answers = sent_async(opened.link.channel(False), *(f"{number}" for number in range(300)))
    assert [answer.outcome() for answer in answers] == [None] * 300
    assert [sent.data for sent in opened.records.sent] == opened.records.accepted
    assert len(set(opened.records.accepted)) == 300


@pytest.mark.parametrize(
    ("condition", "error"),
    [
        ("amqp:unauthorized-access", AccessDenied),
        ("amqp:not-found", AddressRefused),
        ("amqp:precondition-failed", AddressRefused),
        ("amqp:resource-limit-exceeded", SendRefused),
        ("amqp:not-allowed", SendRefused),
        ("failed", SendRefused),
    ],
)
def test_rejected(opened: Opened, condition: str, error: type[BackendError]) -> None:
    opened.script.outcome = lambda sent: Outcome("rejected", Condition(condition, "address is full"))
    (answer,) = sent_async(opened.link.channel(False), "1")
    refused = answer.outcome()
    assert type(refused) is error
    assert not refused.in_doubt
    assert "address is full" in str(refused)
    assert "q" in str(refused)
    assert "Artemis" in str(refused)


@pytest.mark.parametrize("outcome", [Outcome("released"), Outcome("modified"), Outcome("rejected")])
def test_not_taken(opened: Opened, outcome: Outcome) -> None:
    opened.script.outcome = lambda sent: outcome
    (answer,) = sent_async(opened.link.channel(False), "1")
    refused = answer.outcome()
    assert isinstance(refused, SendRefused)
    assert not refused.in_doubt


def test_settled_without_an_outcome_is_in_doubt(opened: Opened) -> None:
    opened.script.outcome = lambda sent: Outcome("none")
    (answer,) = sent_async(opened.link.channel(False), "1")
    doubt = answer.outcome()
    assert doubt is not None
    assert doubt.in_doubt


def test_received_is_no_outcome(opened: Opened) -> None:
    opened.script.outcome = lambda sent: Outcome("received", settled=False)
    (answer,) = sent_async(opened.link.channel(False), "1")
    (sent,) = opened.records.wait_sent(1)
    assert not answer.is_answered(0.3)
    sent.answer(accept)
    assert answer.outcome() is None


def test_accepted_without_settlement_is_an_answer(opened: Opened) -> None:
    opened.script.outcome = lambda sent: Outcome("accepted", settled=False)
    answers = sent_async(opened.link.channel(False), "1", "2")
    assert [answer.outcome() for answer in answers] == [None, None]


def test_answers_in_any_order_belong_to_their_messages(opened: Opened) -> None:
    opened.script.outcome = lambda sent: "omit"
    answers = sent_async(opened.link.channel(False), *map(str, range(40)))
    sent = opened.records.wait_sent(40)
    order = list(range(40))
    random.Random(7).shuffle(order)
    refused = set(order[::3])
    for number in order:
        sent[number].answer(Outcome("rejected") if number in refused else accept)
    failed = {number for number, answer in enumerate(answers) if answer.outcome() is not None}
    assert failed == refused
    assert len(opened.records.accepted) == 40 - len(refused)


def test_a_second_answer_is_ignored(opened: Opened) -> None:
    opened.script.outcome = lambda sent: Outcome("accepted", settled=False)
    channel = opened.link.channel(False)
    (answer,) = sent_async(channel, "1")
    answer.wait()
    opened.records.sent[0].answer(Outcome("rejected"))
    send(channel, envelope(QUEUE, "2"))
    assert answer.answers == [None]


def test_a_lost_answer_is_in_doubt(opened: Opened) -> None:
    opened.script.outcome = lambda sent: "omit"
    channel = opened.link.channel(False)
    answers = sent_async(channel, "1", "2")
    opened.records.wait_sent(2)[0].answer(accept)
    answers[0].wait()
    opened.peer.do(opened.peer.connection.cut)
    doubt = answers[1].outcome()
    assert isinstance(doubt, LinkLost)
    assert doubt.in_doubt
    opened.events.wait(lambda log: log.losses)
    (late,) = sent_async(channel, "3")
    lost = late.outcome()
    assert isinstance(lost, LinkLost)
    assert not lost.in_doubt


def test_accepted_but_the_answer_lost_is_never_reported_refused(opened: Opened) -> None:
    count = 0

    def outcome(sent: Sent) -> Any:
        nonlocal count
        count += 1
        if count == 20:
            opened.records.accepted.append(sent.data)
            return "die"
        return accept

    opened.script.outcome = outcome
    answers = sent_async(opened.link.channel(False), *map(str, range(200)))
    outcomes = [answer.outcome() for answer in answers]
    confirmed = sum(outcome is None for outcome in outcomes)
    doubtful = sum(outcome is not None and outcome.in_doubt for outcome in outcomes)
    assert confirmed <= len(opened.records.accepted) <= confirmed + doubtful


# -- credit


def withheld(open_link: Open, close_timeout: float = 2.0, **script: Any) -> Opened:
    """A link to a peer that gives no credit."""
    return open_link({"credit": 0, **script}, close_timeout=close_timeout)


@pytest.mark.parametrize("script", [{}, NO_RELAY], ids=["relay", "link per address"])
def test_without_credit_nothing_is_sent_and_everything_can_be_cancelled(
    open_link: Open, script: dict[str, Any]
) -> None:
    opened = withheld(open_link, **script)
    channel = opened.link.channel(False)
    answers = sent_async(channel, *map(str, range(20)))
    opened.records.wait_event("attach")
    assert isinstance(channel, Cancels)
    channel.cancel(answers[5:15])
    for answer in answers[5:15]:
        cancelled = answer.outcome(0.1)
        assert isinstance(cancelled, SendCancelled)
        assert not cancelled.in_doubt
        assert "credit" in str(cancelled)
    (link,) = opened.records.of("attach")
    opened.peer.do(lambda: link.grant(100))
    for answer in answers[:5] + answers[15:]:
        answer.wait()
    bodies = [bytes([data[-1]]) for data in opened.records.accepted]
    assert len(bodies) == 10


def test_what_is_written_cannot_be_cancelled(open_link: Open) -> None:
    opened = withheld(open_link)
    opened.script.outcome = lambda sent: "omit"
    channel = opened.link.channel(False)
    answers = sent_async(channel, *map(str, range(4)))
    link = opened.records.wait_event("attach")
    opened.peer.do(lambda: link.grant(2))
    sent = opened.records.wait_sent(2)
    assert isinstance(channel, Cancels)
    channel.cancel(answers)
    assert [answer.is_answered(0.05) for answer in answers] == [False, False, True, True]
    for each in sent:
        each.answer(accept)
    assert [answer.outcome() is None for answer in answers] == [True, True, False, False]
    assert len(opened.records.sent) == 2


def test_a_link_that_is_never_answered_holds_messages_that_can_be_cancelled(opened: Opened) -> None:
    opened.script.attach = lambda link: "ignore"
    channel = opened.link.channel(False)
    (answer,) = sent_async(channel, "1")
    opened.records.wait_event("attach")
    assert isinstance(channel, Cancels)
    channel.cancel([answer])
    assert isinstance(answer.outcome(0.1), SendCancelled)


def test_credit_by_ones(open_link: Open) -> None:
    opened = withheld(open_link)
    answers = sent_async(opened.link.channel(False), *map(str, range(10)))
    link = opened.records.wait_event("attach")
    for number, answer in enumerate(answers, 1):
        opened.peer.do(lambda: link.grant(1))
        answer.wait()
        assert len(opened.records.sent) == number


def test_credit_that_the_broker_takes_back_is_not_used(opened: Opened) -> None:
    channel = opened.link.channel(False)
    sent_async(channel, "1")[0].wait()
    link = opened.records.wait_event("attach")
    opened.script.credit = 0
    opened.peer.do(link.ask_credit_back)
    opened.records.wait(lambda: not link.proton.draining() or not link.proton.credit, "the credit is back")
    (answer,) = sent_async(channel, "2")
    assert not answer.is_answered(0.3)
    opened.peer.do(lambda: link.grant(5))
    answer.wait()


def test_without_credit_a_lost_connection_leaves_no_doubt(open_link: Open) -> None:
    opened = withheld(open_link)
    answers = sent_async(opened.link.channel(False), "1", "2")
    opened.records.wait_event("attach")
    opened.peer.do(opened.peer.connection.cut)
    for answer in answers:
        lost = answer.outcome()
        assert isinstance(lost, LinkLost)
        assert not lost.in_doubt


@pytest.mark.parametrize("reset", [False, True], ids=["closed", "reset"])
def test_a_connection_that_breaks_while_a_burst_is_written(open_link: Open, *, reset: bool) -> None:
    opened = withheld(open_link)
    answers = sent_async(opened.link.channel(False), *(f"{number:<1000}" for number in range(2000)))
    link = opened.records.wait_event("attach")

    def grant_and_cut() -> None:
        connection = opened.peer.connection
        assert connection.socket is not None
        if reset:
            connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        link.grant(2000)
        connection.cut()

    opened.peer.do(grant_and_cut)
    assert all(isinstance(answer.outcome(), LinkLost) for answer in answers)
    assert [len(answer.answers) for answer in answers] == [1] * 2000
    opened.events.wait(lambda log: log.losses)


def test_closing_a_channel_that_has_no_credit_ends(open_link: Open) -> None:
    opened = withheld(open_link, close_timeout=1.0)
    channel = opened.link.channel(False)
    (answer,) = sent_async(channel, "1")
    opened.records.wait_event("attach")
    channel.close()
    opened.link.close()
    refused = answer.outcome()
    assert refused is not None
    assert not refused.in_doubt
    assert opened.records.sent == []


# -- links and sessions that end


@pytest.mark.parametrize("script", [{}, NO_RELAY], ids=["relay", "link per address"])
@pytest.mark.parametrize("end", ["close", "detach"])
def test_a_sending_link_that_the_broker_ends(open_link: Open, script: dict[str, Any], end: str) -> None:
    opened = open_link(script)
    opened.script.outcome = lambda sent: "omit"
    channel = opened.link.channel(False)
    answers = sent_async(channel, "1", "2")
    sent = opened.records.wait_sent(2)
    sent[0].answer(accept)
    answers[0].wait()
    link = opened.records.wait_event("attach")
    opened.peer.do(lambda: getattr(link, end)(Condition("amqp:resource-deleted", "the queue is gone")))
    doubt = answers[1].outcome()
    assert doubt is not None
    assert doubt.in_doubt
    assert end == "detach" or "the queue is gone" in str(doubt)  # proton says no reason with a detach
    opened.script.outcome = lambda sent: accept
    send(channel, envelope(QUEUE, "3"))  # a new link
    assert opened.events.losses == []


def test_links_to_many_addresses_are_bounded(open_link: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jmsbridge_amqp.sending.senders._LINKS", 3)
    opened = open_link(NO_RELAY)
    channel = opened.link.channel(False)
    first = Answer()
    opened.script.outcome = lambda sent: "omit" if sent.address == "queue://a0" else accept
    channel.send(envelope(Address("a0"), "0"), first)
    for number in range(1, 10):
        send(channel, envelope(Address(f"a{number}"), str(number)))
    opened.records.wait_event("link close", 7)
    closed = set(opened.records.of("link close"))
    left = [link.address for link in opened.records.of("attach") if link.name not in closed]
    assert left == ["queue://a0", "queue://a8", "queue://a9"]  # the one with an unanswered message, and the last two
    opened.records.sent[0].answer(accept)
    first.wait()
    send(channel, envelope(Address("a1"), "again"))
    assert (opened.events.losses, opened.events.channels) == ([], [])


def test_a_sending_link_that_the_broker_ends_is_freed(opened: Opened) -> None:
    channel: Any = opened.link.channel(False)
    for number in range(5):
        send(channel, envelope(QUEUE, str(number)))
        answers = sent_async(channel, *["x" * 3000] * 20)
        link = opened.peer.wait_link(None, receives=False)
        opened.peer.do(lambda link=link: link.close(Condition("amqp:internal-error")))  # type: ignore[misc]
        for answer in answers:
            answer.outcome()
        opened.records.wait_event("link close", number + 1)
    send(channel, envelope(QUEUE, "last"))
    assert channel._session._gone == []
    assert len(channel._session._links) == 1


def test_a_close_that_waits_for_answers_ends_when_the_channel_is_lost(open_link: Open) -> None:
    opened = open_link(close_timeout=PATIENCE)
    opened.script.outcome = lambda sent: "omit"
    channel = opened.link.channel(False)
    subscribe(channel, QUEUE, 5)
    (answer,) = sent_async(channel, "1")
    opened.records.wait_sent(1)
    closing = threading.Thread(target=channel.close, daemon=True)
    closing.start()
    waiting = cast("Any", channel)._senders._relay
    eventually(lambda: waiting._when_idle)
    link = opened.peer.wait_link("q", receives=True)
    opened.peer.do(lambda: link.close(Condition("amqp:internal-error")))
    closing.join(PATIENCE / 2)
    assert not closing.is_alive()
    assert isinstance(answer.outcome(), ChannelLost)


def test_a_link_refused_at_once_after_its_attach(opened: Opened) -> None:
    opened.script.attach = lambda link: "detach at once"
    (answer,) = sent_async(opened.link.channel(False), "1")
    refused = answer.outcome()
    assert isinstance(refused, BackendError)


@pytest.mark.parametrize("answer", ["end session", "close connection"])
def test_an_attach_answered_by_more_than_a_refusal(opened: Opened, answer: Any) -> None:
    opened.script.attach = lambda link: answer
    channel = opened.link.channel(False)
    (send_answer,) = sent_async(channel, "1")
    refused = send_answer.outcome()
    assert isinstance(refused, BackendError)
    assert not refused.in_doubt
    if answer == "end session":
        opened.script.attach = lambda link: "attach"
        send(opened.link.channel(False), envelope(QUEUE, "2"))


def test_a_session_that_the_broker_ends(opened: Opened) -> None:
    opened.script.outcome = lambda sent: "omit"
    channel, other = opened.link.channel(False), opened.link.channel(False)
    answers = sent_async(channel, "1", "2")
    sent = opened.records.wait_sent(2)
    sent[0].answer(accept)
    answers[0].wait()
    link = opened.records.wait_event("attach")
    opened.peer.do(lambda: link.end_session(Condition("amqp:internal-error", "a bug there")))
    doubt = answers[1].outcome()
    assert isinstance(doubt, ChannelLost)
    assert doubt.in_doubt
    opened.events.wait(lambda log: log.channels)
    assert [each for each, _ in opened.events.channels] == [channel]
    assert "a bug there" in str(opened.events.channels[0][1])
    with pytest.raises(ChannelLost):
        channel.send(envelope(QUEUE), None)
    opened.script.outcome = lambda sent: accept
    send(other, envelope(QUEUE, "3"))
    assert opened.events.losses == []
    channel.close()


@pytest.mark.parametrize(
    ("condition", "error"),
    [
        ("amqp:unauthorized-access", AccessDenied),
        ("amqp:not-found", AddressRefused),
        ("amqp:illegal-state", AddressRefused),
        ("amqp:internal-error", AddressRefused),
        ("amqp:resource-limit-exceeded", BackendError),
        ("amqp:not-allowed", BackendError),
        ("amqp:link:detach-forced", BackendError),
    ],
)
def test_a_refused_attach(opened: Opened, condition: str, error: type[BackendError]) -> None:
    opened.script.attach = lambda link: Condition(condition, "so it is")
    channel = opened.link.channel(False)
    answers = sent_async(channel, "1", "2")
    for answer in answers:
        refused = answer.outcome()
        assert isinstance(refused, error)
        assert not refused.in_doubt
        assert "so it is" in str(refused)
    opened.script.attach = lambda link: "attach"
    send(channel, envelope(QUEUE, "3"))


def test_one_refused_address_harms_no_other(open_link: Open) -> None:
    opened = open_link(NO_RELAY)
    opened.script.attach = lambda link: Condition("amqp:not-found") if "bad" in (link.address or "") else "attach"
    channel = opened.link.channel(False)
    answers = [Answer() for _ in range(20)]
    for number, answer in enumerate(answers):
        channel.send(envelope(Address("bad" if number % 2 else "q"), str(number)), answer)
    outcomes = [answer.outcome() for answer in answers]
    assert outcomes[::2] == [None] * 10
    assert all(isinstance(outcome, AddressRefused) for outcome in outcomes[1::2])


def test_a_message_beyond_the_broker_s_limit_is_not_sent(open_link: Open) -> None:
    opened = open_link({"max_message_size": 1000})
    channel = opened.link.channel(False)
    small, large, again = sent_async(channel, "1", "x" * 2000, "2")
    assert small.outcome() is None
    refused = large.outcome()
    assert isinstance(refused, SendRefused)
    assert "1,000; send smaller messages, or raise its limit" in str(refused)
    assert again.outcome() is None


def test_sends_without_a_ticket_are_settled_by_the_sender(opened: Opened) -> None:
    channel = opened.link.channel(False)
    for number in range(10):
        channel.send(envelope(QUEUE, str(number)), None)
    assert [sent.settled for sent in opened.records.wait_sent(10)] == [True] * 10


def test_a_large_message_goes_through_a_small_window(open_link: Open) -> None:
    opened = open_link({"max_frame": 512, "credit": 1})
    bodies = ["x" * 300_000, "y" * 300_000]
    send(opened.link.channel(False), *(envelope(QUEUE, body) for body in bodies))
    assert [sent.data[-1:] for sent in opened.records.sent] == [b"x", b"y"]
