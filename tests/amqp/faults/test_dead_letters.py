"""Copies to a dead-letter queue that are accepted late, refused or not answered: the original is never lost."""

import pytest

from jmsbridge.spi import BackendError, Outcome, SendCancelled
from jmsbridge.testing.suite.contract.support import Answer, Box, subscribe
from tests.amqp.faults.support import QUEUE, Opened
from tests.amqp.peer.messages import text
from tests.amqp.peer.script import Condition, accept
from tests.amqp.peer.script import Outcome as Said

ACCEPTED = 0x24


def reject(opened: Opened) -> tuple[Box, Answer]:
    """Reject one message, whose copy goes to ``dead``."""
    subscription, box = subscribe(opened.link.channel(False), QUEUE, 5, dead_letters="dead")
    opened.peer.put("q", text("bad"))
    box.wait(1)
    answer = Answer()
    subscription.settle(box.tokens, Outcome.REJECTED, answer)
    return box, answer


def test_a_rejected_message_is_accepted_only_when_its_copy_is(opened: Opened) -> None:
    opened.script.outcome = lambda sent: "omit"
    _, answer = reject(opened)
    (copy,) = opened.records.wait_sent(1)
    assert not answer.is_answered(0.2)
    assert opened.records.settled == []
    copy.answer(accept)
    answer.wait()
    assert [settled.state for settled in opened.records.wait_settled(1)] == [ACCEPTED]


def test_a_rejected_message_whose_copy_is_refused_is_not_lost(opened: Opened) -> None:
    opened.script.outcome = lambda sent: Said("rejected", Condition("amqp:resource-limit-exceeded"))
    reject(opened)
    opened.records.wait_sent(1)
    opened.link.close()
    assert ACCEPTED not in [settled.state for settled in opened.records.settled]


@pytest.mark.usefixtures("impatient")
def test_a_copy_that_is_never_answered_is_an_error(opened: Opened) -> None:
    opened.script.outcome = lambda sent: "omit"
    box, answer = reject(opened)
    (copy,) = opened.records.wait_sent(1)
    error = answer.outcome()
    assert isinstance(error, BackendError)
    assert error.in_doubt
    assert "dead" in str(error)
    copy.answer(accept)  # too late
    opened.peer.put("q", text("next"))
    box.wait(2)
    assert opened.records.settled == []


@pytest.mark.usefixtures("impatient")
def test_a_copy_for_which_there_is_no_credit_is_an_error_and_not_sent_later(opened: Opened) -> None:
    opened.script.credit = 0
    box, answer = reject(opened)
    error = answer.outcome()
    assert isinstance(error, SendCancelled)
    relay = opened.peer.wait_link(None, receives=False)
    opened.peer.do(lambda: relay.grant(5))
    opened.peer.put("q", text("next"))
    box.wait(2)
    assert opened.records.sent == []
    assert opened.records.settled == []
