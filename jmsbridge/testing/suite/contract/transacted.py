"""Contract: what a transacted channel promises."""

from jmsbridge.spi.backend import Channel
from jmsbridge.spi.envelope import Address, Outcome
from jmsbridge.spi.errors import ChannelLost
from jmsbridge.spi.native import Native
from jmsbridge.testing.harness import Harness, LinkLog
from jmsbridge.testing.marks import level, promise, requires
from jmsbridge.testing.suite.contract.support import (
    Answer,
    drain,
    envelope,
    fetch,
    hold,
    peek,
    send,
    send_texts_to,
    settle,
    subscribe,
)
from jmsbridge.testing.suite.support import eventually


def _commit(channel: Channel) -> None:
    answer = Answer()
    channel.commit(answer)
    answer.wait()


def _rollback(channel: Channel) -> None:
    answer = Answer()
    channel.rollback(answer)
    answer.wait()


@level("contract")
@requires(Native.SEND_TRANSACTIONS)
def test_contract_tx_commit_shows_sends_in_order(harness: Harness) -> None:
    one, two = harness.address(), harness.address()
    link = harness.open_link()
    channel = link.channel(True)
    send(channel, envelope(one, "a"), envelope(two, "b"), envelope(one, "c"))
    assert peek(link, one) == []
    _commit(channel)
    assert fetch(link, one, 2) == ["a", "c"]
    assert fetch(link, two, 1) == ["b"]


@level("contract")
@promise(Channel.rollback)
@requires(Native.SEND_TRANSACTIONS)
def test_contract_tx_rollback_drops_sends(harness: Harness) -> None:
    address = harness.address()
    link = harness.open_link()
    channel = link.channel(True)
    send(channel, envelope(address, "a"))
    _rollback(channel)
    _commit(channel)
    assert peek(link, address) == []


@level("contract")
@requires(Native.SEND_TRANSACTIONS)
def test_contract_tx_is_followed_by_the_next(harness: Harness) -> None:
    address = harness.address()
    link = harness.open_link()
    channel = link.channel(True)
    for text in "abc":
        send(channel, envelope(address, text))
        _commit(channel)
        send(channel, envelope(address, "no"))
        _rollback(channel)
    assert peek(link, address) == ["a", "b", "c"]


@level("contract")
@requires(Native.TRANSACTIONS)
def test_contract_tx_has_transactions_of_sends(harness: Harness) -> None:
    """Who claims TRANSACTIONS claims SEND_TRANSACTIONS as well, or the facade would hold the sends back."""
    assert Native.SEND_TRANSACTIONS in harness.open_link().native


@level("contract")
@promise(Channel.rollback, Channel.close)
@requires(Native.SEND_TRANSACTIONS)
def test_contract_tx_accepted_joins_only_with_transactions(harness: Harness) -> None:
    """With SEND_TRANSACTIONS alone ACCEPTED takes effect at once, so that neither rollback nor close undoes it."""
    address, replies = harness.address(), harness.address()
    link = harness.open_link()
    send_texts_to(link, address, "a")
    channel = link.channel(True)
    subscription, box = hold(channel, address, 1, deferred=True)
    send(channel, envelope(replies, "re: a"))
    settle(subscription, box.tokens, Outcome.ACCEPTED)
    _rollback(channel)
    channel.close()
    assert peek(link, replies) == []
    if Native.TRANSACTIONS in link.native:
        assert fetch(link, address, 1) == ["a"]
    else:
        assert peek(link, address) == []


@level("contract")
@promise(Channel.close)
@requires(Native.SEND_TRANSACTIONS)
def test_contract_tx_close_drops_sends(harness: Harness) -> None:
    address = harness.address()
    link = harness.open_link()
    channel = link.channel(True)
    send(channel, envelope(address, "a"))
    channel.close()
    assert peek(link, address) == []


@level("contract")
@requires(Native.SEND_TRANSACTIONS)
def test_contract_tx_link_loss_drops_sends(harness: Harness) -> None:
    address = harness.address()
    send(harness.open_link().channel(True), envelope(address, "a"))
    harness.cut()
    assert peek(harness.open_link(), address) == []


@level("contract")
@requires(Native.TRANSACTIONS)
def test_contract_tx_accepted_joins(harness: Harness) -> None:
    address, replies = harness.address(), harness.address()
    link = harness.open_link()
    send_texts_to(link, address, "a", "b")
    channel = link.channel(True)
    subscription, box = hold(channel, address, 2, deferred=True)
    send(channel, envelope(replies, "re: a"))
    settle(subscription, box.tokens, Outcome.ACCEPTED)
    assert peek(link, replies) == []
    _commit(channel)
    subscription.close()
    assert fetch(link, replies, 1) == ["re: a"]
    channel.close()
    assert peek(link, address) == []


@level("contract")
@promise(Channel.rollback)
@requires(Native.TRANSACTIONS)
def test_contract_tx_rollback_leaves_tokens_unsettled(harness: Harness) -> None:
    address = harness.address()
    link = harness.open_link()
    send_texts_to(link, address, "a", "b")
    channel = link.channel(True)
    subscription, box = hold(channel, address, 2, deferred=True)
    settle(subscription, box.tokens, Outcome.ACCEPTED)
    _rollback(channel)
    settle(subscription, box.tokens[:1], Outcome.ACCEPTED)
    _commit(channel)
    settle(subscription, box.tokens[1:], Outcome.FAILED)
    subscription.close()
    assert peek(link, address) == ["b"]


@level("contract")
@promise(Channel.commit)
@requires(Native.TRANSACTIONS | Native.TEMPORARY)
def test_contract_tx_refused_commit_leaves_tokens_unsettled(harness: Harness) -> None:
    """After a refused commit its tokens can be settled with any outcome, unless the backend gives the channel up.

    The commit has a message for a temporary queue that was deleted meanwhile. If the broker accepts it nevertheless,
    the whole transaction takes effect.
    """

    address, replies, log = harness.address(), harness.address(), LinkLog()
    link = harness.open_link(log)
    gone = link.declare(Address(harness.name("temp"), temporary=True))
    send_texts_to(link, address, "a", "b")
    channel = link.channel(True)
    subscription, box = hold(channel, address, 2, deferred=True)
    settle(subscription, box.tokens, Outcome.ACCEPTED)
    send(channel, envelope(replies, "re: a"), envelope(gone, "nowhere to go"))
    link.delete(gone)
    answer = Answer()
    channel.commit(answer)
    error = answer.outcome()
    if error is None:
        subscription.close()
        assert (peek(link, address), peek(link, replies)) == ([], ["re: a"])
        return
    assert not error.in_doubt
    if isinstance(error, ChannelLost):
        eventually(lambda: log.channels)
        assert [lost for lost, _ in log.channels] == [channel]
        assert (peek(link, address), peek(link, replies)) == (["a", "b"], [])
        return
    _rollback(channel)
    settle(subscription, box.tokens[:1], Outcome.ACCEPTED)
    _commit(channel)
    settle(subscription, box.tokens[1:], Outcome.FAILED)
    subscription.close()
    assert (peek(link, address), peek(link, replies)) == (["b"], [])


@level("contract")
@requires(Native.SEND_TRANSACTIONS | Native.FAIL)
def test_contract_tx_other_outcomes_take_effect_at_once(harness: Harness) -> None:
    address = harness.address()
    link = harness.open_link()
    send_texts_to(link, address, "a")
    channel = link.channel(True)
    subscription, box = hold(channel, address, 1, deferred=True)
    settle(subscription, box.tokens, Outcome.RELEASED)
    assert fetch(link, address, 1) == ["a"]


@level("contract")
@promise(Channel.close)
@requires(Native.TRANSACTIONS)
def test_contract_tx_close_rolls_back(harness: Harness) -> None:
    address, replies = harness.address(), harness.address()
    link = harness.open_link()
    send_texts_to(link, address, "a")
    channel = link.channel(True)
    subscription, box = subscribe(channel, address, 1, deferred=True)
    box.wait(1)
    settle(subscription, box.tokens, Outcome.ACCEPTED)
    send(channel, envelope(replies, "re: a"))
    drain(subscription)
    channel.close()
    assert peek(link, replies) == []
    assert fetch(link, address, 1) == ["a"]


@level("contract")
@requires(Native.TRANSACTIONS)
def test_contract_tx_link_loss_rolls_back(harness: Harness) -> None:
    address, replies = harness.address(), harness.address()
    send_texts_to(harness.open_link(), address, "a")
    channel = harness.open_link().channel(True)
    subscription, box = subscribe(channel, address, 1, deferred=True)
    box.wait(1)
    settle(subscription, box.tokens, Outcome.ACCEPTED)
    send(channel, envelope(replies, "re: a"))
    harness.cut()
    link = harness.open_link()
    assert fetch(link, address, 1) == ["a"]
    assert peek(link, replies) == []
