"""Contract: topics, durable and shared subscriptions, temporary destinations, client ids."""

from collections import Counter
from typing import Any

import pytest

from jmsbridge.spi.backend import Channel, Link
from jmsbridge.spi.envelope import Address, Interest, Outcome
from jmsbridge.spi.errors import AddressInUse, BackendError, ClientIdRefused, SubscriptionRefused, SubscriptionUnknown
from jmsbridge.spi.native import Native
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.marks import level, promise, requires, rule
from jmsbridge.testing.suite.contract.support import (
    drain,
    envelope,
    fetch,
    peek,
    send,
    send_texts_to,
    settle,
    subscribe,
)
from jmsbridge.testing.suite.support import eventually
from jmsbridge.values import Long


@level("contract")
@promise(Channel.subscribe)
def test_contract_topic_copies_to_each_subscription(harness: Harness) -> None:
    address = harness.address(topic=True)
    link = harness.open_link()
    _, one = subscribe(link.channel(False), address, 10)
    _, two = subscribe(harness.open_link().channel(False), address, 10)
    send_texts_to(link, address, "a", "b")
    assert [arrival.envelope.body for arrival in one.wait(2)] == ["a", "b"]
    assert [arrival.envelope.body for arrival in two.wait(2)] == ["a", "b"]


@level("contract")
@promise(Channel.subscribe)
def test_contract_topic_subscription_begins_when_made(harness: Harness) -> None:
    address = harness.address(topic=True)
    link = harness.open_link()
    send_texts_to(link, address, "before")
    _, box = subscribe(link.channel(False), address, 10)
    send_texts_to(link, address, "after")
    assert [arrival.envelope.body for arrival in box.wait(1)] == ["after"]


@level("contract")
@requires(Native.TOPIC_SELECTORS)
def test_contract_topic_selector(harness: Harness) -> None:
    address = harness.address(topic=True)
    link = harness.open_link()
    _, box = subscribe(link.channel(False), address, 10, selector="n > 1 AND kind = 'x'")
    sent = [envelope(address, str(n), properties={"n": n, "kind": "x"}) for n in range(4)]
    send(link.channel(False), *sent)
    assert [arrival.envelope.body for arrival in box.wait(2)] == ["2", "3"]


@level("contract")
@requires(Native.TOPIC_SELECTORS | Native.TYPED_PROPERTIES)
def test_contract_topic_selector_knows_types(harness: Harness) -> None:
    """Comparing values of different kinds never matches, not even by ``<>``, nor does comparing a missing property."""
    address = harness.address(topic=True)
    link = harness.open_link()
    selectors = {
        "v = 1": ["int", "long", "double"],
        "v = '1'": ["str"],
        "v = TRUE": ["bool"],
        "v <> 1": ["half"],
        "v > 0.5 AND v < 1.5": ["int", "long", "double"],
        "v IS NULL": ["none"],
        "v LIKE '__'": ["long text"],
        "JMSCorrelationID = 'int' OR JMSPriority = 7": ["int", "none"],
    }
    boxes = {text: subscribe(link.channel(False), address, 20, selector=text)[1] for text in selectors}
    values: dict[str, Any] = {"int": 1, "long": Long(1), "double": 1.0, "str": "1", "bool": True, "half": 0.5}
    values["long text"] = "ab"
    channel = link.channel(False)
    for kind, value in values.items():
        send(channel, envelope(address, kind, properties={"v": value}, correlation_id=kind))
    send(channel, envelope(address, "none", priority=7))
    for text, expected in selectors.items():
        boxes[text].wait(len(expected))
        boxes[text].wait_quiet()
    assert {text: sorted(box.bodies) for text, box in boxes.items()} == {
        text: sorted(expected) for text, expected in selectors.items()
    }


@level("contract")
@requires(Native.NO_LOCAL)
def test_contract_topic_no_local(harness: Harness) -> None:
    address = harness.address(topic=True)
    link = harness.open_link()
    _, box = subscribe(link.channel(False), address, 10, no_local=True)
    send_texts_to(link, address, "own")
    send_texts_to(harness.open_link(), address, "foreign")
    assert [arrival.envelope.body for arrival in box.wait(1)] == ["foreign"]


@level("contract")
@requires(Native.DURABLE)
def test_contract_durable_keeps_messages_without_a_consumer(harness: Harness) -> None:
    address, key, client = harness.address(topic=True), harness.name("sub"), harness.name("client")
    link = harness.open_link(client_id=client)
    subscription, _ = subscribe(link.channel(False), address, key=key, durable=True)
    drain(subscription)
    subscription.close()
    link.close()
    send_texts_to(harness.open_link(), address, "a", "b")
    link = harness.open_link(client_id=client)
    assert fetch(link, address, 2, key=key, durable=True) == ["a", "b"]
    link.unsubscribe(key, address)


@level("contract")
@promise(Link.unsubscribe)
@requires(Native.DURABLE)
def test_contract_unsubscribe_deletes_the_subscription(harness: Harness) -> None:
    address, key = harness.address(topic=True), harness.name("sub")
    link = harness.open_link(client_id=harness.name("client"))
    channel = link.channel(False)
    subscription, _ = subscribe(channel, address, key=key, durable=True)
    drain(subscription)
    subscription.close()
    send_texts_to(link, address, "forgotten")
    link.unsubscribe(key, address)
    for known in (address, None):
        with pytest.raises(SubscriptionUnknown):
            link.unsubscribe(key, known)
    subscription, box = subscribe(channel, address, 1, key=key, durable=True)
    send_texts_to(link, address, "new")
    assert box.wait(1)[0].envelope.body == "new"


@level("contract")
@requires(Native.DURABLE | Native.EXCLUSIVE_DURABLE)
def test_contract_durable_unshared_is_exclusive(harness: Harness) -> None:
    address, key = harness.address(topic=True), harness.name("sub")
    link = harness.open_link(client_id=harness.name("client"))
    subscribe(link.channel(False), address, key=key, durable=True)
    with pytest.raises(SubscriptionRefused):
        subscribe(link.channel(False), address, key=key, durable=True)


@level("contract")
@promise(Interest)
@rule("SU-2")
@requires(Native.DURABLE | Native.SHARED_DURABLE)
@pytest.mark.parametrize("shared", [False, True])
def test_contract_durable_stays_shared_or_unshared(harness: Harness, shared: bool) -> None:
    """Also while it has no consumer. Its messages are kept, and the name can be used again after unsubscribe."""
    address, key = harness.address(topic=True), harness.name("sub")
    link = harness.open_link(client_id=harness.name("client"))
    channel = link.channel(False)
    subscription, _ = subscribe(channel, address, key=key, durable=True, shared=shared)
    drain(subscription)
    subscription.close()
    send_texts_to(link, address, "kept")
    with pytest.raises(SubscriptionRefused):
        subscribe(channel, address, key=key, durable=True, shared=not shared)
    assert fetch(link, address, 1, key=key, durable=True, shared=shared) == ["kept"]
    link.unsubscribe(key, address)
    subscription, _ = subscribe(channel, address, key=key, durable=True, shared=not shared)
    drain(subscription)
    subscription.close()
    link.unsubscribe(key, address)


@level("contract")
@promise(Interest)
@requires(Native.DURABLE | Native.SHARED)
def test_contract_durable_and_shared_names_are_apart(harness: Harness) -> None:
    """A non-durable shared subscription may have the name of a durable one: each gets its own copy."""
    address, key = harness.address(topic=True), harness.name("sub")
    link = harness.open_link(client_id=harness.name("client"))
    channel = link.channel(False)
    durable, one = subscribe(channel, address, 10, key=key, durable=True)
    _, two = subscribe(channel, address, 10, key=key, shared=True)
    send_texts_to(link, address, "a")
    assert [box.wait(1)[0].envelope.body for box in (one, two)] == ["a", "a"]
    settle(durable, one.tokens, Outcome.ACCEPTED)
    drain(durable)
    durable.close()
    link.unsubscribe(key, address)


@level("contract")
@promise(Interest)
@requires(Native.DURABLE | Native.CLIENT_ID)
def test_contract_durable_key_belongs_to_its_client_id(harness: Harness) -> None:
    """Two clients that use the same subscription name have one subscription each."""
    address, key = harness.address(topic=True), harness.name("sub")
    links = [harness.open_link(client_id=harness.name("client")) for _ in range(2)]
    subscriptions = [subscribe(link.channel(False), address, 10, key=key, durable=True) for link in links]
    send_texts_to(harness.open_link(), address, "a", "b")
    for subscription, box in subscriptions:
        assert [arrival.envelope.body for arrival in box.wait(2)] == ["a", "b"]
        drain(subscription)
        settle(subscription, box.tokens, Outcome.ACCEPTED)
        subscription.close()
    for link in links:
        link.unsubscribe(key, address)


@level("contract")
@requires(Native.SHARED)
def test_contract_shared_consumers_divide_messages(harness: Harness) -> None:
    address, key = harness.address(topic=True), harness.name("sub")
    link = harness.open_link()
    _, one = subscribe(link.channel(False), address, 20, key=key, shared=True)
    _, two = subscribe(harness.open_link().channel(False), address, 20, key=key, shared=True)
    texts = [str(number) for number in range(20)]
    send_texts_to(link, address, *texts)
    eventually(lambda: len(one.arrivals) + len(two.arrivals) >= 20)
    one.wait_quiet()
    two.wait_quiet()
    came = Counter(one.bodies + two.bodies)
    assert [text for text, count in came.items() if count > 1] == [], "these went to both consumers"
    assert [text for text in texts if text not in came] == [], "these went to neither consumer"


@level("contract")
@requires(Native.SHARED | Native.CREDIT)
def test_contract_shared_consumers_each_get_what_they_have_credit_for(harness: Harness) -> None:
    """Messages for which one consumer has no credit go to the other; fair shares are not promised."""
    address, key = harness.address(topic=True), harness.name("sub")
    link = harness.open_link()
    interest = {"key": key, "shared": True, "window": 1}
    _, one = subscribe(link.channel(False), address, 1, **interest)
    _, two = subscribe(harness.open_link().channel(False), address, 1, **interest)
    send_texts_to(link, address, "a", "b")
    assert sorted(box.wait(1)[0].envelope.body for box in (one, two)) == ["a", "b"]


@level("contract")
@requires(Native.SHARED)
def test_contract_shared_ends_with_its_last_consumer(harness: Harness) -> None:
    address, key = harness.address(topic=True), harness.name("sub")
    link = harness.open_link()
    channel = link.channel(False)
    subscription, _ = subscribe(channel, address, key=key, shared=True)
    drain(subscription)
    subscription.close()
    send_texts_to(link, address, "meanwhile")
    _, box = subscribe(channel, address, 10, key=key, shared=True)
    send_texts_to(link, address, "after")
    assert [arrival.envelope.body for arrival in box.wait(1)] == ["after"]


@level("contract")
@requires(Native.SHARED_DURABLE)
def test_contract_shared_durable_keeps_messages_without_a_consumer(harness: Harness) -> None:
    address, key = harness.address(topic=True), harness.name("sub")
    link = harness.open_link()
    subscription, _ = subscribe(link.channel(False), address, key=key, shared=True, durable=True)
    drain(subscription)
    subscription.close()
    send_texts_to(link, address, "a")
    link = harness.open_link()
    assert fetch(link, address, 1, key=key, shared=True, durable=True) == ["a"]
    link.unsubscribe(key, None)


@level("contract")
@requires(Native.CLIENT_ID)
def test_contract_client_id_is_exclusive(harness: Harness) -> None:
    client = harness.name("client")
    link = harness.open_link(client_id=client)
    with pytest.raises(ClientIdRefused):
        harness.open_link(client_id=client)
    link.close()
    assert harness.open_link(client_id=client).broker


@level("contract")
@promise(Link.declare)
@requires(Native.TEMPORARY)
def test_contract_temporary_belongs_to_its_link(harness: Harness) -> None:
    link, other = harness.open_link(), harness.open_link()
    address = link.declare(Address(harness.name("temp"), temporary=True))
    assert address.temporary
    send_texts_to(other, address, "reply")
    with pytest.raises(BackendError):
        subscribe(other.channel(False), address, 1)
    assert fetch(link, address, 1) == ["reply"]
    assert link.declare(Address(harness.name("temp"), temporary=True)) != address


@level("contract")
@promise(Link.delete)
@requires(Native.TEMPORARY)
def test_contract_temporary_is_protected_by_consumers(harness: Harness) -> None:
    link = harness.open_link()
    address = link.declare(Address(harness.name("temp"), temporary=True))
    subscription, _ = subscribe(link.channel(False), address)
    with pytest.raises(AddressInUse):
        link.delete(address)
    drain(subscription)
    subscription.close()
    link.delete(address)
    with pytest.raises(BackendError):
        peek(link, address)
