"""The four kinds of topic subscriptions, no_local, and unsubscribing."""

from typing import Any

import pytest

from jmsbridge.spi import Outcome, SubscriptionRefused, SubscriptionUnknown
from tests.embedded.memory.support import World, message, queue, topic

DURABLE: dict[str, Any] = {"key": "sub", "durable": True}
SHARED: dict[str, Any] = {"key": "sub", "shared": True}
BOTH: dict[str, Any] = {"key": "sub", "shared": True, "durable": True}


def test_each_subscription_gets_its_own_copy(world: World) -> None:
    world.send_bodies("before", to=topic())
    first, second = world.consume(topic()), world.consume(topic(), credit=1)
    world.send_bodies(1, 2, to=topic())
    first.settle(Outcome.ACCEPTED)
    assert (first.bodies, second.bodies) == ([1, 2], [1])
    second.close()
    assert world.stored == 0


def test_a_topic_selector_drops_unmatched_messages(world: World) -> None:
    user = world.consume(topic(), selector="n > 1")
    world.send(*(message(n, topic(), properties={"n": n}) for n in range(4)))
    assert (user.bodies, world.stored) == ([2, 3], 2)


def test_a_queue_and_a_topic_may_share_a_name(world: World) -> None:
    user = world.consume(topic("x"))
    world.send_bodies(1, to=queue("x"))
    world.send_bodies(2, to=topic("x"))
    assert (user.bodies, world.browse(queue("x"))) == ([2], [1])


def test_a_shared_subscription_spans_links_and_ends_with_its_last_consumer(world: World) -> None:
    other = world.connect()
    first = world.consume(topic(), **SHARED)
    second = world.consume(topic(), channel=other.channel(False), **SHARED)
    world.send_bodies(*range(4), to=topic())
    assert (first.bodies, second.bodies) == ([0, 2], [1, 3])
    first.close()
    assert second.bodies == [1, 3, 0, 2]
    other.close()
    world.send_bodies(4, to=topic())
    assert world.consume(topic(), **SHARED).bodies == []


def test_shared_subscriptions_belong_to_a_client_id(world: World) -> None:
    named = world.connect("app")
    first = world.consume(topic(), **SHARED)
    second = world.consume(topic(), channel=named.channel(False), **SHARED)
    world.send_bodies(1, to=topic())
    assert (first.bodies, second.bodies) == ([1], [1])


@pytest.mark.parametrize("changed", [{"selector": "n > 1"}, {"address": topic("other")}])
def test_an_active_shared_subscription_is_not_redefined(world: World, changed: dict[str, Any]) -> None:
    world.consume(topic(), **SHARED)
    world.consume(topic(), **BOTH)
    for kind in (SHARED, BOTH):
        with pytest.raises(SubscriptionRefused):
            world.consume(changed.get("address", topic()), selector=changed.get("selector"), **kind)
    assert world.consume(topic(), **SHARED).bodies == []


@pytest.mark.parametrize("kind", [DURABLE, BOTH])
def test_a_durable_subscription_keeps_messages_without_a_consumer(world: World, kind: dict[str, Any]) -> None:
    link = world.connect("app")
    world.consume(topic(), channel=link.channel(False), **kind)
    link.close()
    world.send_bodies(1, 2, to=topic())
    again = world.connect("app")
    assert world.consume(topic(), channel=again.channel(False), **kind).bodies == [1, 2]


def test_an_unshared_durable_subscription_has_one_consumer_and_needs_a_client_id(world: World) -> None:
    with pytest.raises(SubscriptionRefused):
        world.consume(topic(), **DURABLE)
    channel = world.connect("app").channel(False)
    first = world.consume(topic(), channel=channel, **DURABLE)
    with pytest.raises(SubscriptionRefused):
        world.consume(topic(), channel=channel, **DURABLE)
    first.close()
    assert world.consume(topic(), channel=channel, **DURABLE).bodies == []


@pytest.mark.parametrize(("one", "two"), [(DURABLE, BOTH), (BOTH, DURABLE)])
def test_durable_names_are_shared_or_unshared(world: World, one: dict[str, Any], two: dict[str, Any]) -> None:
    channel = world.connect("app").channel(False)
    world.consume(topic(), channel=channel, **one).close()
    with pytest.raises(SubscriptionRefused):
        world.consume(topic(), channel=channel, **two)
    assert world.consume(topic(), channel=channel, **SHARED).bodies == []


@pytest.mark.parametrize(
    ("address", "changed"),
    [(topic(), {"selector": "n > 1"}), (topic(), {"no_local": True}), (topic("other"), {})],
)
def test_a_changed_inactive_durable_subscription_is_replaced(
    world: World, address: Any, changed: dict[str, Any]
) -> None:
    channel = world.connect("app").channel(False)
    world.consume(topic(), channel=channel, **DURABLE).close()
    world.send_bodies(1, to=topic())
    user = world.consume(address, channel=channel, **DURABLE, **changed)
    world.send(message(2, address, properties={"n": 2}))
    assert (user.bodies, world.stored) == ([2], 1)
    user.close()
    world.send_bodies("gone", to=topic("third"))
    assert len(world.broker.destinations.topics.topics) == 1


def test_unsubscribing(world: World) -> None:
    link = world.connect("app")
    with pytest.raises(SubscriptionUnknown):
        link.unsubscribe("sub", None)
    user = world.consume(topic(), channel=link.channel(False), **DURABLE)
    with pytest.raises(SubscriptionRefused):
        link.unsubscribe("sub", None)
    world.send_bodies(1, to=topic())
    user.close()
    with pytest.raises(SubscriptionUnknown):
        world.link.unsubscribe("sub", None)
    link.unsubscribe("sub", None)
    assert (world.stored, world.broker.destinations.topics.topics) == (0, {})
    with pytest.raises(SubscriptionUnknown):
        link.unsubscribe("sub", None)


def test_messages_of_an_open_transaction_keep_the_subscription(world: World) -> None:
    link = world.connect("app")
    channel = link.channel(True)
    user = world.consume(topic(), channel=channel, **DURABLE)
    world.send_bodies(1, to=topic())
    user.settle(Outcome.ACCEPTED)
    user.close()
    with pytest.raises(SubscriptionRefused):
        link.unsubscribe("sub", None)
    assert world.finish(channel) is None
    link.unsubscribe("sub", None)
    assert world.stored == 0


def test_no_local_is_about_the_own_link(world: World) -> None:
    own, other = world.connect("app"), world.connect("other")
    user = world.consume(topic(), channel=own.channel(False), no_local=True, selector="n > 0")
    for link in (own, other):
        for n in (0, 1):
            world.send(message((link is own, n), topic(), properties={"n": n}), channel=link.channel(False))
    assert user.bodies == [(False, 1)]


def test_no_local_of_a_durable_subscription_is_about_the_client_id_too(world: World) -> None:
    own = world.connect("app")
    world.consume(topic(), channel=own.channel(False), no_local=True, **DURABLE)
    world.send(message("own", topic()), channel=own.channel(False))
    own.close()
    again = world.connect("app")
    world.send(message("same id", topic()), channel=again.channel(False))
    world.send_bodies("other", to=topic())
    assert world.consume(topic(), channel=again.channel(False), no_local=True, **DURABLE).bodies == ["other"]
