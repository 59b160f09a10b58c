"""What may happen while a channel, a consumer or a transaction comes to its end."""

import threading
import time
from collections.abc import Callable
from typing import Any, cast

import proton
import pytest

from jmsbridge.spi import Address, BackendError, ChannelLost, LinkLost, Outcome
from jmsbridge.testing.suite.contract.support import Answer, envelope, send, settle, subscribe
from jmsbridge.transport.network.link_life import Done
from tests.amqp.faults.support import QUEUE, Opened, sent_async
from tests.amqp.peer import frames
from tests.amqp.peer.link import PeerLink
from tests.amqp.peer.messages import text
from tests.amqp.peer.records import PATIENCE
from tests.amqp.peer.script import Condition

Open = Callable[..., Opened]


def test_a_message_on_its_way_when_its_channel_is_closed_does_no_harm(opened: Opened) -> None:
    channel = opened.link.channel(False)
    _, box = subscribe(channel, QUEUE, 5)
    opened.records.wait_event("flow")
    opened.script.answers_detach = False
    closing = threading.Thread(target=channel.close, daemon=True)
    closing.start()
    opened.records.wait_event("link close")
    link = opened.peer.wait_link("q", receives=True)

    def deliver_and_answer() -> None:
        link.deliver(text("1"))
        link.close()

    opened.peer.do(deliver_and_answer)
    closing.join(PATIENCE)
    assert not closing.is_alive()
    send(opened.link.channel(False), envelope(QUEUE))
    assert (opened.events.losses, opened.events.channels, box.arrivals) == ([], [], [])


@pytest.mark.usefixtures("impatient")
def test_a_lost_channel_whose_session_does_not_end_ends_the_link(opened: Opened) -> None:
    channel = opened.link.channel(False)
    send(channel, envelope(Address("another")))
    subscribe(channel, QUEUE, 5)
    opened.script.answers_end = False
    link = opened.peer.wait_link("q", receives=True)
    opened.peer.do(lambda: link.close(Condition("amqp:internal-error")))
    opened.events.wait(lambda log: log.losses)
    assert opened.events.channels == []


def test_a_channel_that_only_consumes_has_no_session_of_its_own(opened: Opened) -> None:
    channel = opened.link.channel(False)
    subscribe(channel, QUEUE, 5)
    channel.close()
    opened.link.channel(False).close()
    assert len(opened.records.of("begin")) == 1


def test_a_session_may_end_before_the_broker_has_begun_it(opened: Opened) -> None:
    from jmsbridge_amqp.connection.link_group import LinkGroup

    link: Any = opened.link

    def begin_and_end(done: Done) -> None:
        LinkGroup(link._driver, lambda failure: None).end(lambda: done(None, None))

    link._life.wait(begin_and_end, "beginning and ending a session")
    send(link.channel(False), envelope(QUEUE))
    assert opened.events.losses == []


def test_a_link_may_be_closed_while_its_session_waits_to_begin(opened: Opened) -> None:
    from jmsbridge_amqp.connection.link_group import LinkGroup
    from jmsbridge_amqp.transactions.coordinator import Coordinator

    link: Any = opened.link

    def begin_and_end(done: Done) -> None:
        link._driver.may_begin = time.monotonic() + 0.1
        session = LinkGroup(link._driver, lambda failure: None)
        Coordinator(link._driver, session, lambda failure: None).attach(lambda failure: None)
        session.detach_and_end(lambda: done(None, None))

    link._life.wait(begin_and_end, "ending a session that waits", patience=PATIENCE)
    send(link.channel(False), envelope(QUEUE))
    assert opened.events.losses == []


@pytest.mark.usefixtures("impatient")
def test_a_roll_back_that_is_never_answered_after_a_commit_without_credit_ends(open_link: Open) -> None:
    opened = open_link({"credit": 0, "discharge": lambda txn, fail: "omit"})
    channel = opened.link.channel(True)
    sent_async(channel, "1")
    answer = Answer()
    channel.commit(answer)
    lost = answer.outcome(PATIENCE)
    assert isinstance(lost, LinkLost)
    assert not lost.in_doubt  # what was asked for was the roll-back
    assert opened.records.accepted == []


@pytest.mark.usefixtures("impatient")
def test_sends_whose_transaction_never_begins_are_answered(opened: Opened) -> None:
    opened.script.declare = lambda: "omit"
    channel = opened.link.channel(True)
    sends = sent_async(channel, "1", "2")
    answer = Answer()
    channel.commit(answer)
    assert isinstance(answer.outcome(PATIENCE), BackendError)
    refused = [each.outcome(PATIENCE) for each in sends]
    assert [error is not None and not error.in_doubt for error in refused] == [True, True]


def test_a_channel_lost_during_a_commit_returns_its_messages(opened: Opened) -> None:
    channel = opened.link.channel(True)
    subscription, box = subscribe(channel, QUEUE, 5)
    opened.peer.put("q", text("1"))
    box.wait(1)
    settle(subscription, box.tokens, Outcome.ACCEPTED)
    first = Answer()
    channel.commit(first)
    first.wait()
    opened.script.outcome = lambda sent: "omit"
    sent_async(channel, "2")
    answer = Answer()
    channel.commit(answer)
    opened.records.wait_sent(1)
    relay = opened.peer.wait_link(None, receives=False)
    opened.peer.do(lambda: relay.end_session(Condition("amqp:internal-error")))
    lost = answer.outcome(PATIENCE)
    assert isinstance(lost, ChannelLost)
    assert not lost.in_doubt
    opened.events.wait(lambda log: log.channels)
    assert opened.records.wait_event("link close") == opened.peer.wait_link("q", receives=True).name


def test_many_sends_behind_a_commit_go_on_after_it(open_link: Open) -> None:
    opened = open_link({"credit": 1000})
    channel = opened.link.channel(True)
    answering: Any = opened.peer.connection._answering
    discharge = answering._discharge
    held: list[tuple[PeerLink, Any, bytes, bool]] = []
    answering._discharge = lambda *request: held.append(request)
    sent_async(channel, "first")
    first = Answer()
    channel.commit(first)
    opened.records.wait_event("declare", 2)  # the next transaction is there before the commit is answered
    sent_async(channel, *["x" * 2000] * 300)
    second = Answer()
    channel.commit(second)

    def answer() -> None:
        answering._discharge = discharge
        discharge(*held.pop())
        opened.peer.connection.flush()

    opened.peer.do(answer)
    first.wait()
    assert second.outcome(PATIENCE) is None
    assert len(opened.records.accepted) == 301


def test_a_detach_with_an_error_is_explained(opened: Opened) -> None:
    """A broker may detach a link instead of closing it, with the reason; the peer's own library never does."""
    channel = opened.link.channel(False)
    subscription, _ = subscribe(channel, QUEUE, 5)  # in the first session, which is channel 0 of AMQP
    opened.peer.wait_link("q", receives=True)
    opened.script.answers_detach = False
    error = proton.Described(proton.ulong(0x1D), [proton.symbol("amqp:resource-deleted"), "the queue is gone"])
    detach = frames.described(0x16, proton.uint(0), False, error)
    opened.peer.do(lambda: opened.peer.connection.raw(frames.frame(detach, channel=0)))
    opened.events.wait(lambda log: log.subscriptions)
    assert opened.events.subscriptions[0][0] is subscription
    assert "the queue is gone" in str(opened.events.subscriptions[0][1])
    send(channel, envelope(QUEUE))
    assert (opened.events.losses, opened.events.channels) == ([], [])


def test_a_detach_without_an_error_ends_the_channel(opened: Opened) -> None:
    channel = opened.link.channel(False)
    subscription, _ = subscribe(channel, QUEUE, 5)
    link = opened.peer.wait_link("q", receives=True)
    opened.peer.do(link.detach)
    opened.events.wait(lambda log: log.channels)
    assert "gave no reason" in str(opened.events.channels[0][1])
    answer = Answer()
    subscription.drain(answer)
    assert isinstance(answer.outcome(PATIENCE), ChannelLost)
    send(opened.link.channel(False), envelope(QUEUE))
    assert opened.events.losses == []


def test_a_drain_answered_while_its_consumer_is_closed_does_no_harm(open_link: Open) -> None:
    opened = open_link({"drains": False, "answers_detach": False})
    channel = opened.link.channel(False)
    subscription, _ = subscribe(channel, QUEUE, 5)
    answer = Answer()
    subscription.drain(answer)
    link: PeerLink = opened.records.wait_event("drain")
    closing = threading.Thread(target=subscription.close, daemon=True)
    closing.start()
    assert isinstance(answer.outcome(PATIENCE), ChannelLost)
    opened.records.wait_event("link close")

    def answer_both() -> None:
        link.answer_drain()
        link.close()

    opened.peer.do(answer_both)
    closing.join(PATIENCE)
    send(channel, envelope(QUEUE))
    assert opened.events.losses == []


def test_a_verb_put_as_the_link_of_a_lost_channel_ends_is_answered(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    channel = opened.link.channel(False)
    subscription, _ = subscribe(channel, QUEUE, 5)
    link = opened.peer.wait_link("q", receives=True)
    opened.peer.do(lambda: link.close(Condition("amqp:internal-error")))
    opened.events.wait(lambda log: log.channels)
    thread = cast("Any", opened.link)._life.thread
    post = thread.post

    def post_late(task: Callable[[], None]) -> None:
        """As if the caller was held up after it had seen that the link lives."""
        if not thread.is_current():
            opened.peer.do(opened.peer.connection.cut)
            thread.join(PATIENCE)
        post(task)

    monkeypatch.setattr(thread, "post", post_late)
    answer = Answer()
    subscription.drain(answer)
    assert isinstance(answer.outcome(2.0), ChannelLost)
    assert len(answer.answers) == 1


def test_a_write_that_ends_the_link_among_many_sends(opened: Opened, caplog: pytest.LogCaptureFixture) -> None:
    channel = opened.link.channel(False)
    send(channel, envelope(QUEUE))
    began, goes_on = threading.Event(), threading.Event()

    def hold_up() -> None:
        began.set()
        goes_on.wait(PATIENCE)

    cast("Any", opened.link)._life.thread.post(hold_up)
    began.wait(PATIENCE)
    answers = sent_async(channel, *["x" * 30_000] * 40)
    opened.peer.do(opened.peer.connection.cut)
    goes_on.set()
    for answer in answers:
        assert isinstance(answer.outcome(PATIENCE), LinkLost)
        assert len(answer.answers) == 1
    opened.events.wait(lambda log: log.losses)
    assert caplog.text == ""
