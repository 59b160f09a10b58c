"""Contract: the effect of each outcome of ``settle``, and what happens to messages that are never settled."""

import pytest

from jmsbridge.spi.backend import Channel, Subscription
from jmsbridge.spi.envelope import Outcome
from jmsbridge.spi.native import Native
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.marks import level, promise, requires
from jmsbridge.testing.suite.contract.support import (
    Answer,
    drain,
    fetch,
    hold,
    peek,
    release_surplus,
    send_texts_to,
    settle,
    subscribe,
)


@level("contract")
@promise(5, Outcome.ACCEPTED)
def test_contract_settle_accepted_is_gone(harness: Harness) -> None:
    address = harness.address()
    link = harness.open_link()
    send_texts_to(link, address, "a", "b", "c")
    assert fetch(link, address, 2) == ["a", "b"]
    assert peek(link, address) == ["c"]


@level("contract")
@promise(1)
def test_contract_settle_without_tokens_is_answered(harness: Harness) -> None:
    """``settle`` without tokens answers its ticket exactly once, too."""
    channel = harness.open_link().channel(False)
    subscription, _ = subscribe(channel, harness.address(), 1)
    for outcome in (Outcome.ACCEPTED, Outcome.RELEASED, Outcome.FAILED):
        settle(subscription, [], outcome)
    subscription.close()
    channel.close()


@level("contract")
@promise(1)
@requires(Native.REJECT)
def test_contract_settle_rejected_without_tokens_is_answered(harness: Harness) -> None:
    channel = harness.open_link().channel(False)
    subscription, _ = subscribe(channel, harness.address(), 1)
    settle(subscription, [], Outcome.REJECTED)
    subscription.close()
    channel.close()


@level("contract")
@promise(Subscription.settle)
def test_contract_settle_without_ticket(harness: Harness) -> None:
    address = harness.address()
    link = harness.open_link()
    send_texts_to(link, address, "a", "b")
    channel = link.channel(False)
    subscription, box = subscribe(channel, address, 1)
    box.wait(1)
    subscription.settle(box.tokens[:1], Outcome.ACCEPTED)
    drain(subscription)
    release_surplus(subscription, box, 1)
    subscription.close()
    channel.close()
    assert fetch(link, address, 1) == ["b"]
    assert peek(link, address) == []


@level("contract")
@promise(1)
def test_contract_settle_answers_once(harness: Harness) -> None:
    address = harness.address()
    link = harness.open_link()
    send_texts_to(link, address, *"abcdefgh")
    subscription, box = subscribe(link.channel(False), address, 8)
    box.wait(8)
    answers = [Answer() for _ in range(8)]
    for token, answer in zip(box.tokens, answers, strict=True):
        subscription.settle([token], Outcome.ACCEPTED, answer)
    assert [answer.outcome() for answer in answers] == [None] * 8
    drain(subscription)
    subscription.close()
    link.close()
    assert [len(answer.answers) for answer in answers] == [1] * 8


@level("contract")
@requires(Native.SETTLE_CONFIRM)
def test_contract_settle_is_confirmed(harness: Harness) -> None:
    address = harness.address()
    send_texts_to(harness.open_link(), address, "a", "b")
    subscription, box = subscribe(harness.open_link().channel(False), address, 2)
    box.wait(2)
    settle(subscription, box.tokens[:1], Outcome.ACCEPTED)
    harness.cut()
    assert fetch(harness.open_link(), address, 1) == ["b"]
    assert peek(harness.open_link(), address) == []


@level("contract")
@promise(Outcome.RELEASED)
@requires(Native.RELEASE)
def test_contract_settle_released_is_unmarked(harness: Harness) -> None:
    address = harness.address()
    link = harness.open_link()
    send_texts_to(link, address, "a", "b", "c")
    channel = link.channel(False)
    subscription, box = hold(channel, address, 2)
    settle(subscription, box.tokens, Outcome.RELEASED)
    subscription.close()
    _, again = subscribe(channel, address, 3)
    seen = [(arrival.envelope.body, arrival.redelivered, arrival.delivery_count) for arrival in again.wait(3)]
    assert seen == [("a", False, 1), ("b", False, 1), ("c", False, 1)]


@level("contract")
@promise(Outcome.FAILED)
@requires(Native.FAIL)
def test_contract_settle_failed_is_delivered_again(harness: Harness) -> None:
    address = harness.address()
    link = harness.open_link()
    send_texts_to(link, address, "a")
    subscription, box = subscribe(link.channel(False), address, 1)
    first = box.wait(1)[0]
    settle(subscription, [first.token], Outcome.FAILED)
    subscription.grant(1)
    second = box.wait(2)[1]
    assert (second.envelope.body, second.redelivered) == ("a", True)
    assert second.delivery_count >= 2


@level("contract")
@promise(Outcome.FAILED)
@requires(Native.FAIL)
def test_contract_settle_failed_goes_to_others_at_once(harness: Harness) -> None:
    """Another consumer gets the message, marked, while the first one is open and holds a second message."""
    address = harness.address()
    link = harness.open_link()
    send_texts_to(link, address, "a", "b")
    channel = link.channel(False)
    subscription, box = hold(channel, address, 2)
    _, other = subscribe(harness.open_link().channel(False), address, 1)
    settle(subscription, box.tokens[:1], Outcome.FAILED)
    arrival = other.wait(1)[0]
    assert (arrival.envelope.body, arrival.redelivered) == ("a", True)
    settle(subscription, box.tokens[1:], Outcome.ACCEPTED)
    subscription.close()


@level("contract")
@promise(Outcome.FAILED, Outcome.RELEASED, Outcome.REQUEUED)
@requires(Native.RETURN)
@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.RELEASED, Outcome.REQUEUED])
def test_contract_settle_returned_goes_to_others(harness: Harness, outcome: Outcome) -> None:
    """Another consumer gets the message while the first one is open and holds a second message."""
    address = harness.address()
    link = harness.open_link()
    send_texts_to(link, address, "a", "b")
    subscription, box = hold(link.channel(False), address, 2)
    _, other = subscribe(harness.open_link().channel(False), address, 1)
    settle(subscription, box.tokens[:1], outcome)
    assert other.wait(1)[0].envelope.body == "a"
    settle(subscription, box.tokens[1:], Outcome.ACCEPTED)
    subscription.close()


@level("contract")
@requires(Native.FAIL)
def test_contract_settle_fail_is_return(harness: Harness) -> None:
    """Who claims FAIL claims RETURN as well, or the facade would not emulate selectors on queues."""
    assert Native.RETURN in harness.open_link().native


@level("contract")
@promise(Outcome.FAILED, Outcome.RELEASED, Outcome.REQUEUED)
@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.RELEASED, Outcome.REQUEUED])
def test_contract_settle_returned_comes_back_after_close(harness: Harness, outcome: Outcome) -> None:
    """Without RETURN, too, what was returned is there again in its place once the subscription is closed."""
    address = harness.address()
    link = harness.open_link()
    send_texts_to(link, address, "a", "b", "c")
    channel = link.channel(False)
    subscription, box = hold(channel, address, 2)
    settle(subscription, box.tokens[:1], outcome)
    settle(subscription, box.tokens[1:], Outcome.ACCEPTED)
    subscription.close()
    assert fetch(harness.open_link(), address, 2) == ["a", "c"]


@level("contract")
@requires(Native.UNLIMITED_REQUEUE)
def test_contract_settle_failed_is_never_dropped(harness: Harness) -> None:
    """Thirty failures: more than any broker's default delivery limit."""
    address = harness.address()
    link = harness.open_link()
    send_texts_to(link, address, "a")
    channel = link.channel(False)
    for _ in range(30):
        subscription, box = subscribe(channel, address, 1)
        box.wait(1)
        drain(subscription)
        settle(subscription, box.tokens, Outcome.FAILED)
        subscription.close()
    assert fetch(harness.open_link(), address, 1) == ["a"]


@level("contract")
@promise(Subscription.settle)
@requires(Native.DELIVERY_COUNT | Native.FAIL)
def test_contract_settle_failures_are_counted(harness: Harness) -> None:
    address = harness.address()
    link = harness.open_link()
    send_texts_to(link, address, "a")
    channel = link.channel(False)
    subscription, box = subscribe(channel, address, 1)
    settle(subscription, [box.wait(1)[0].token], Outcome.FAILED)
    subscription.grant(1)
    assert box.wait(2)[1].delivery_count == 2
    settle(subscription, [box.arrivals[1].token], Outcome.FAILED, failures=3)
    drain(subscription)
    subscription.close()
    _, elsewhere = subscribe(harness.open_link().channel(False), address, 1)
    assert elsewhere.wait(1)[0].delivery_count == 5


@level("contract")
@promise(Outcome.REJECTED)
@requires(Native.REJECT)
def test_contract_settle_rejected_does_not_return(harness: Harness) -> None:
    address = harness.address()
    link = harness.open_link()
    send_texts_to(link, address, "a", "b")
    channel = link.channel(False)
    subscription, box = subscribe(channel, address, 1)
    settle(subscription, [box.wait(1)[0].token], Outcome.REJECTED)
    drain(subscription)
    subscription.close()
    channel.close()
    assert peek(link, address) == ["b"]


@level("contract")
@promise(5)
@requires(Native.RELEASE)
def test_contract_settle_several_is_one_step(harness: Harness) -> None:
    """Messages returned by one ``settle`` keep their order and come before those never delivered."""
    address = harness.address()
    link = harness.open_link()
    send_texts_to(link, address, *"abcdef")
    channel = link.channel(False)
    subscription, box = hold(channel, address, 4)
    settle(subscription, box.tokens[1:], Outcome.RELEASED)
    settle(subscription, box.tokens[:1], Outcome.ACCEPTED)
    subscription.close()
    assert fetch(link, address, 5) == list("bcdef")


@level("contract")
@promise(5)
@requires(Native.RELEASE)
def test_contract_settle_several_reach_a_waiting_consumer_in_order(harness: Harness) -> None:
    """A waiting consumer gets messages returned by one ``settle`` in their order."""
    address = harness.address()
    link = harness.open_link()
    send_texts_to(link, address, *"abcd")
    subscription, box = hold(link.channel(False), address, 4)
    _, other = subscribe(link.channel(False), address, 4)
    settle(subscription, box.tokens, Outcome.RELEASED)
    subscription.close()
    assert [arrival.envelope.body for arrival in other.wait(4)] == list("abcd")


@level("contract")
@promise(Outcome.ACCEPTED)
def test_contract_settle_out_of_the_middle(harness: Harness) -> None:
    address = harness.address()
    link = harness.open_link()
    send_texts_to(link, address, "a", "b", "c")
    channel = link.channel(False)
    subscription, box = subscribe(channel, address, 3)
    box.wait(3)
    settle(subscription, box.tokens[1:2], Outcome.ACCEPTED)
    drain(subscription)
    channel.close()
    assert sorted(fetch(link, address, 2)) == ["a", "c"]
    assert peek(link, address) == []


@level("contract")
@promise(Channel.close)
def test_contract_settle_channel_close_requeues(harness: Harness) -> None:
    address = harness.address()
    link = harness.open_link()
    send_texts_to(link, address, "a")
    channel = link.channel(False)
    hold(channel, address, 1)
    channel.close()
    assert fetch(link, address, 1) == ["a"]


@level("contract")
@promise(Channel.close)
@requires(Native.FAIL)
def test_contract_settle_channel_close_marks(harness: Harness) -> None:
    address = harness.address()
    link = harness.open_link()
    send_texts_to(link, address, "a")
    channel = link.channel(False)
    hold(channel, address, 1)
    channel.close()
    _, again = subscribe(link.channel(False), address, 1)
    arrival = again.wait(1)[0]
    assert (arrival.envelope.body, arrival.redelivered) == ("a", True)


@level("contract")
@promise(11)
def test_contract_settle_link_loss_requeues(harness: Harness) -> None:
    address = harness.address()
    send_texts_to(harness.open_link(), address, "a", "b")
    _, box = subscribe(harness.open_link().channel(False), address, 2)
    box.wait(2)
    harness.cut()
    assert fetch(harness.open_link(), address, 2) == ["a", "b"]
