"""Contract: a ticket's answer is true, also if the link is lost before or after the broker has done what was asked."""

import contextlib

import pytest

from jmsbridge.spi.backend import Channel
from jmsbridge.spi.envelope import Outcome
from jmsbridge.spi.errors import BackendError, LinkLost, TransactionRolledBack
from jmsbridge.spi.native import Native
from jmsbridge.testing.harness import Harness, LinkLog
from jmsbridge.testing.marks import level, promise, requires
from jmsbridge.testing.proxy import Direction
from jmsbridge.testing.suite.contract.support import (
    Answer,
    answered,
    drain,
    envelope,
    fetch,
    left,
    send,
    send_texts_to,
    settle,
    subscribe,
)
from jmsbridge.testing.suite.support import LONG, SHORT, eventually

TEXTS = [str(number) for number in range(8)]

frozen = pytest.mark.parametrize("direction", [Direction.OUT, Direction.IN])
"""Which direction is frozen: requests do not reach the broker, or the broker's answers do not come back."""


def _certainly_not_done(error: BackendError | None) -> bool:
    return error is not None and not error.in_doubt


@level("contract")
@promise(1)
@requires(Native.SEND_CONFIRM)
@frozen
def test_contract_answer_to_a_send_is_true(harness: Harness, direction: Direction) -> None:
    """A confirmed message is at the broker; one whose send failed and is not in doubt is not."""
    address = harness.address()
    channel = harness.open_link().channel(False)
    send(channel, envelope(address, "first"))
    harness.freeze(direction)
    answers = {text: Answer() for text in TEXTS}
    for text, answer in answers.items():
        channel.send(envelope(address, text), answer)
    if direction is Direction.IN:
        _, box = subscribe(harness.open_link().channel(False), address, len(TEXTS) + 1)
        box.wait(len(TEXTS) + 1)
    else:
        answered(answers.values(), SHORT)
    harness.cut()
    outcomes = {text: answer.outcome() for text, answer in answers.items()}
    there = left(harness.open_link(), address, [text for text, error in outcomes.items() if error is None])
    assert {type(error) for error in outcomes.values() if error is not None} <= {LinkLost}
    assert [text for text, error in outcomes.items() if error is None and text not in there] == []
    assert [text for text, error in outcomes.items() if _certainly_not_done(error) and text in there] == []


@level("contract")
@promise(1)
@requires(Native.SETTLE_CONFIRM)
@frozen
def test_contract_answer_to_a_settlement_is_true(harness: Harness, direction: Direction) -> None:
    """A confirmed acceptance survives the loss of the link; one that failed and is not in doubt had no effect."""
    address, probe = harness.address(), harness.address()
    send_texts_to(harness.open_link(), address, *TEXTS)
    channel = harness.open_link().channel(False)
    subscription, box = subscribe(channel, address, len(TEXTS))
    box.wait(len(TEXTS))
    harness.freeze(direction)
    answers = {text: Answer() for text in TEXTS}
    for token, answer in zip(box.tokens, answers.values(), strict=True):
        subscription.settle([token], Outcome.ACCEPTED, answer)
    if direction is Direction.IN:
        channel.send(envelope(probe, "settled"), None)
        assert fetch(harness.open_link(), probe, 1) == ["settled"]
    else:
        answered(answers.values(), SHORT)
    harness.cut()
    outcomes = {text: answer.outcome() for text, answer in answers.items()}
    expected = [text for text, error in outcomes.items() if _certainly_not_done(error)]
    there = left(harness.open_link(), address, expected)
    assert [text for text, error in outcomes.items() if error is None and text in there] == []
    assert [text for text in expected if text not in there] == []


class _Step:
    """A transaction that sends two messages, to two queues, and takes one, unless it has only sends."""

    def __init__(self, harness: Harness) -> None:
        self.source, self.one, self.two = (harness.address() for _ in range(3))
        self.harness = harness
        send_texts_to(harness.open_link(), self.source, "input")
        self.channel: Channel = harness.open_link().channel(True)
        subscription, box = subscribe(self.channel, self.source, 1, deferred=True)
        box.wait(1)
        drain(subscription)
        for address in (self.one, self.two):
            send(self.channel, envelope(address, "output"))
        self.takes = Native.TRANSACTIONS in subscription.native
        if self.takes:
            settle(subscription, box.tokens, Outcome.ACCEPTED)

    def assert_whole(self, answer: Answer) -> None:
        """After a cut the transaction has taken effect as a whole or not at all, as the ticket says unless in doubt."""
        error = answer.outcome()
        assert error is None or isinstance(error, LinkLost | TransactionRolledBack)
        link = self.harness.open_link()
        places = (self.source, self.one, self.two)
        # wait for a certain outcome; if it is in doubt, accept either one
        done = None if error is not None and error.in_doubt else error is None
        kept = [] if self.takes else ["input"]
        expected = {True: [kept, ["output"], ["output"]], False: [["input"], [], []]}
        if done is None:
            done = "output" in left(link, self.one, [])
        assert [left(link, place, texts) for place, texts in zip(places, expected[done], strict=True)] == expected[done]


@level("contract")
@promise(1, Native.TRANSACTIONS)
@requires(Native.SEND_TRANSACTIONS)
@frozen
def test_contract_answer_to_a_commit_is_true(harness: Harness, direction: Direction) -> None:
    step = _Step(harness)
    harness.freeze(direction)
    answer = Answer()
    step.channel.commit(answer)
    if direction is Direction.IN:
        onlooker = harness.open_link()
        _, box = subscribe(onlooker.channel(False), step.one, 1)
        with contextlib.suppress(AssertionError):  # a commit of several round trips does not get that far
            box.wait(1)
        onlooker.close()  # requeues the messages it took; after a cut the broker may need a while
    else:
        answered([answer], SHORT)
    harness.cut()
    step.assert_whole(answer)


@level("contract")
@promise(Native.TRANSACTIONS)
@requires(Native.SEND_TRANSACTIONS)
@pytest.mark.parametrize("wait", [0.0, 0.001, 0.003, 0.006, 0.009, 0.012])
def test_contract_commit_is_atomic_when_the_link_is_lost(harness: Harness, wait: float) -> None:
    """If the link is lost at any time after the commit was sent, it took effect as a whole or not at all."""
    step, answer = _Step(harness), Answer()
    step.channel.commit(answer)
    answered([answer], wait)
    harness.cut()
    step.assert_whole(answer)


@level("contract")
@promise(Native.TRANSACTIONS)
@requires(Native.SEND_TRANSACTIONS)
@pytest.mark.parametrize("place", ["one", "two"])
def test_contract_commit_is_atomic_once_visible(harness: Harness, place: str) -> None:
    """If the link is lost as soon as one message of a commit is visible, the rest took effect, too."""
    step, answer = _Step(harness), Answer()
    _, box = subscribe(harness.open_link().channel(False), getattr(step, place), 1)
    step.channel.commit(answer)
    box.wait(1)
    harness.cut()
    step.assert_whole(answer)


class _Early(LinkLog):
    """Records which tickets were not answered when ``lost`` was called."""

    def __init__(self, *answers: Answer) -> None:
        super().__init__()
        self.answers = answers
        self.unanswered: list[int] = []

    def lost(self, error: BackendError) -> None:
        """The link is lost."""
        self.unanswered = [number for number, answer in enumerate(self.answers) if not answer.answers]
        super().lost(error)


@level("contract")
@promise(1, 6)
def test_contract_answer_comes_before_the_loss(harness: Harness) -> None:
    """``lost`` is called after every open ticket was answered, each once."""
    address = harness.address()
    log = _Early(*(Answer() for _ in range(6)))
    link = harness.open_link(log)
    channel = link.channel(False)
    send_texts_to(link, address, "a", "b")
    subscription, box = subscribe(channel, address, 2)
    box.wait(2)
    harness.freeze(Direction.IN)
    for answer in log.answers[:3]:
        channel.send(envelope(address), answer)
    for token, answer in zip(box.tokens, log.answers[3:5], strict=True):
        subscription.settle([token], Outcome.ACCEPTED, answer)
    subscription.drain(log.answers[5])
    harness.cut()
    eventually(lambda: log.losses, LONG)
    assert log.unanswered == []
    assert [len(answer.answers) for answer in log.answers] == [1] * 6
