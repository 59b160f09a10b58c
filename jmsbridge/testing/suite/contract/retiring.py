"""Contract: the broker no longer delivers to a retired subscription, while its messages can still be settled."""

import pytest

from jmsbridge.spi.backend import Channel, Retires, Subscription
from jmsbridge.spi.envelope import Address, Outcome
from jmsbridge.spi.errors import SubscriptionRefused
from jmsbridge.spi.native import Native
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.marks import level, promise, requires
from jmsbridge.testing.suite.contract.support import (
    Answer,
    Box,
    drain,
    envelope,
    fetch,
    peek,
    send,
    send_texts_to,
    settle,
    subscribe,
)


def _retire(subscription: Subscription) -> None:
    if not isinstance(subscription, Retires):
        pytest.skip("subscriptions of this backend have no retire(): they are closed after their last settlement")
    drain(subscription)
    subscription.retire()


def _held(channel: Channel, address: Address, count: int, **interest: object) -> tuple[Subscription, Box]:
    """A retired subscription with so many unsettled messages."""
    subscription, box = subscribe(channel, address, count, **interest)
    box.wait(count)
    _retire(subscription)
    return subscription, box


def _finish(channel: Channel, commit: bool) -> None:
    answer = Answer()
    (channel.commit if commit else channel.rollback)(answer)
    answer.wait()


@level("contract")
@promise(Retires.retire)
def test_contract_retired_gets_nothing_more(harness: Harness) -> None:
    address = harness.address()
    link = harness.open_link()
    send_texts_to(link, address, "held")
    subscription, box = _held(link.channel(False), address, 1)
    send_texts_to(link, address, "a", "b")
    assert fetch(link, address, 2) == ["a", "b"]
    assert box.bodies == ["held"]
    settle(subscription, box.tokens, Outcome.ACCEPTED)
    subscription.close()


@level("contract")
@promise(Retires.retire)
def test_contract_retired_settles_what_it_holds(harness: Harness) -> None:
    address = harness.address()
    link = harness.open_link()
    send_texts_to(link, address, *"abc")
    subscription, box = _held(link.channel(False), address, 3)
    settle(subscription, box.tokens[:1], Outcome.ACCEPTED)
    settle(subscription, box.tokens[1:], Outcome.ACCEPTED)
    subscription.close()
    assert peek(harness.open_link(), address) == []


@level("contract")
@promise(Retires.retire)
@requires(Native.FAIL)
def test_contract_retired_failed_goes_to_others(harness: Harness) -> None:
    address = harness.address()
    link = harness.open_link()
    send_texts_to(link, address, "a")
    subscription, box = _held(link.channel(False), address, 1)
    _, other = subscribe(link.channel(False), address, 1)
    settle(subscription, box.tokens, Outcome.FAILED)
    arrival = other.wait(1)[0]
    assert (arrival.envelope.body, arrival.redelivered) == ("a", True)
    assert arrival.delivery_count >= 2
    subscription.close()


@level("contract")
@promise(Retires.retire)
def test_contract_retired_can_be_closed(harness: Harness) -> None:
    """Closing it requeues its unsettled messages, as for any other subscription."""
    address = harness.address()
    link = harness.open_link()
    send_texts_to(link, address, "a")
    subscription, _ = _held(link.channel(False), address, 1)
    subscription.close()
    subscription.close()
    assert fetch(link, address, 1) == ["a"]


@level("contract")
@promise(Retires.retire)
@requires(Native.TRANSACTIONS)
@pytest.mark.parametrize("commit", [True, False])
def test_contract_retired_joins_its_transaction(harness: Harness, commit: bool) -> None:
    address = harness.address()
    link = harness.open_link()
    send_texts_to(link, address, "before", "after")
    channel = link.channel(True)
    subscription, box = subscribe(channel, address, 2)
    box.wait(2)
    settle(subscription, box.tokens[:1], Outcome.ACCEPTED)
    _retire(subscription)
    settle(subscription, box.tokens[1:], Outcome.ACCEPTED)
    _finish(channel, commit)
    if not commit:
        settle(subscription, box.tokens, Outcome.FAILED)
    subscription.close()
    channel.close()
    assert peek(link, address) == ([] if commit else ["before", "after"])


@level("contract")
@promise(Retires.retire)
@requires(Native.DURABLE | Native.EXCLUSIVE_DURABLE | Native.FAIL)
def test_contract_retired_frees_its_durable_subscription(harness: Harness) -> None:
    address, key = harness.address(topic=True), harness.name("sub")
    link = harness.open_link(client_id=harness.name("client"))
    channel = link.channel(False)
    subscription, box = subscribe(channel, address, 1, key=key, durable=True)
    send_texts_to(link, address, "held", "new")
    box.wait(1)
    _retire(subscription)
    again, other = subscribe(link.channel(False), address, 1, key=key, durable=True)
    assert other.wait(1)[0].envelope.body == "new"
    settle(again, other.tokens, Outcome.ACCEPTED)
    settle(subscription, box.tokens[:1], Outcome.FAILED)
    again.grant(1)
    assert other.wait(2)[1].envelope.body == "held"


@level("contract")
@promise(Retires.retire)
@requires(Native.SHARED)
def test_contract_retired_last_ends_a_shared_subscription(harness: Harness) -> None:
    address, key = harness.address(topic=True), harness.name("sub")
    link = harness.open_link()
    channel = link.channel(False)
    subscription, box = subscribe(channel, address, 1, key=key, shared=True)
    send_texts_to(link, address, "held")
    box.wait(1)
    _retire(subscription)
    send_texts_to(link, address, "meanwhile")
    _, other = subscribe(channel, address, 10, key=key, shared=True)
    settle(subscription, box.tokens, Outcome.FAILED)  # the message was dropped with its subscription
    send_texts_to(link, address, "after")
    assert other.wait(1)[0].envelope.body == "after"
    other.wait_quiet()
    assert other.bodies == ["after"]


@level("contract")
@promise(Retires.retire)
@requires(Native.TEMPORARY)
def test_contract_retired_frees_its_temporary_destination(harness: Harness) -> None:
    link = harness.open_link()
    address = link.declare(Address(harness.name("temp"), temporary=True))
    send_texts_to(link, address, "held")
    subscription, box = _held(link.channel(False), address, 1)
    link.delete(address)
    settle(subscription, box.tokens, Outcome.ACCEPTED)
    subscription.close()
    assert box.bodies == ["held"]


@level("contract")
@promise(Retires.retire)
@requires(Native.GROUPS)
def test_contract_retired_frees_its_groups(harness: Harness) -> None:
    address = harness.address()
    link = harness.open_link()
    grouped = [envelope(address, text, properties={"JMSXGroupID": "g"}) for text in "ab"]
    channel = link.channel(False)
    send(channel, grouped[0])
    subscription, box = _held(link.channel(False), address, 1)
    _, other = subscribe(link.channel(False), address, 1)
    send(channel, grouped[1])
    assert other.wait(1)[0].envelope.body == "b"
    settle(subscription, box.tokens, Outcome.ACCEPTED)


@level("contract")
@promise(Retires.retire)
@requires(Native.DURABLE)
def test_contract_retired_keeps_its_durable_subscription(harness: Harness) -> None:
    """While a message of it is unsettled, the subscription cannot be forgotten."""
    address, key = harness.address(topic=True), harness.name("sub")
    link = harness.open_link(client_id=harness.name("client"))
    channel = link.channel(False)
    subscription, box = subscribe(channel, address, 1, key=key, durable=True)
    send_texts_to(link, address, "a")
    box.wait(1)
    _retire(subscription)
    with pytest.raises(SubscriptionRefused):
        link.unsubscribe(key, address)
    settle(subscription, box.tokens, Outcome.ACCEPTED)
    subscription.close()
    link.unsubscribe(key, address)
