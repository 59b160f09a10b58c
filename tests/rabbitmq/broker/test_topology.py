"""Topology conversations, answered by a broker made of dictionaries."""

from typing import Any

import pytest

from jmsbridge.spi import AddressInUse, AddressRefused, SubscriptionRefused, SubscriptionUnknown
from jmsbridge_rabbitmq.broker import delay_queues, topology
from jmsbridge_rabbitmq.broker.queue_kinds import UNREACHED, QueueKinds
from jmsbridge_rabbitmq.broker.topology import Definition, Names
from jmsbridge_rabbitmq.protocol.errors import ChannelException
from tests.rabbitmq.broker.dictionaries import World


@pytest.fixture
def world() -> World:
    return World()


def durable(**changes: Any) -> Definition:
    values: dict[str, Any] = {"queue": "c.s", "topic": "t", "durable": True, "shared": False, "selector": None}
    return Definition(**{"no_local": False, **values, **changes})


def test_an_existing_queue_is_declared_passively(world: World) -> None:
    world.queues["q"] = {"arguments": {"x-max-priority": 9}}
    world.hold(topology.ensure_queue("q", QueueKinds("quorum", None)))
    assert world.asked == ["queue_declare"]
    assert world.queues == {"q": {"arguments": {"x-max-priority": 9}}}


def test_a_missing_queue_is_made_without_a_type_unless_asked_for(world: World) -> None:
    world.hold(topology.ensure_queue("plain", QueueKinds(None, None)))
    world.hold(topology.ensure_queue("safe", QueueKinds("quorum", None)))
    assert world.queues["plain"] == {"durable": True, "arguments": {}}
    assert world.queues["safe"] == {
        "durable": True,
        "arguments": {"x-queue-type": "quorum", "x-delivery-limit": UNREACHED},
    }


@pytest.mark.parametrize("name", ["", "x" * 256, "ä" * 128])
def test_names_that_amqp_cannot_carry_are_refused(world: World, name: str) -> None:
    with pytest.raises(AddressRefused, match="1 to 255 bytes"):
        world.hold(topology.ensure_queue(name, QueueKinds(None, None)))
    assert world.asked == []


def test_a_subscription_is_a_queue_bound_to_its_topic(world: World) -> None:
    sub = durable()
    world.hold(topology.define(sub, QueueKinds(None, None)))
    world.hold(topology.define(sub, QueueKinds(None, None)))
    assert ("c.s", topology.TOPICS, "t") in world.bindings
    assert list(world.queues) == ["c.s"]


@pytest.mark.parametrize("change", [{"topic": "u"}, {"selector": "a = 1"}, {"no_local": True}], ids=str)
def test_a_changed_subscription_is_replaced(world: World, change: dict[str, Any]) -> None:
    world.hold(topology.define(durable(), QueueKinds(None, None)))
    world.hold(topology.define(durable(**change), QueueKinds(None, None)))
    topics = {key for queue, exchange, key in world.bindings if exchange == topology.TOPICS}
    assert topics == {change.get("topic", "t")}
    assert len([name for name in world.exchanges if name.startswith("jms.definition.")]) == 1


def test_a_changed_subscription_in_use_is_refused(world: World) -> None:
    world.hold(topology.define(durable(), QueueKinds(None, None)))
    world.consumers["c.s"] = 1
    with pytest.raises(SubscriptionRefused, match="in use"):
        world.hold(topology.define(durable(selector="a = 1"), QueueKinds(None, None)))
    assert ("c.s", topology.TOPICS, "t") in world.bindings


@pytest.mark.parametrize("shared", [True, False])
def test_shared_and_unshared_exclude_each_other(world: World, shared: bool) -> None:
    world.hold(topology.define(durable(shared=shared), QueueKinds(None, None)))
    with pytest.raises(SubscriptionRefused, match="unsubscribe it first"):
        world.hold(topology.define(durable(shared=not shared), QueueKinds(None, None)))


def test_a_definition_left_behind_without_its_queue_is_replaced(world: World) -> None:
    world.hold(topology.define(durable(), QueueKinds(None, None)))
    marker = next(name for name in world.exchanges if name.startswith("jms.definition."))
    kept = world.exchanges[marker]
    world.queue_delete("c.s", if_unused=False)
    world.exchanges[marker] = kept
    world.hold(topology.define(durable(shared=True, topic="u"), QueueKinds(None, None)))
    assert ("c.s", topology.TOPICS, "u") in world.bindings
    assert world.exchanges[marker]["type"] == "direct"


def test_unsubscribe_deletes_or_says_why_not(world: World) -> None:
    world.hold(topology.define(durable(), QueueKinds(None, None)))
    world.consumers["c.s"] = 1
    with pytest.raises(SubscriptionRefused):
        world.hold(topology.unsubscribe("c.s", "s", QueueKinds(None, None)))
    world.consumers.clear()
    world.hold(topology.unsubscribe("c.s", "s", QueueKinds(None, None)))
    with pytest.raises(SubscriptionUnknown):
        world.hold(topology.unsubscribe("c.s", "s", QueueKinds(None, None)))
    assert [name for name in world.exchanges if name.startswith("jms.definition.")] == []


def test_a_used_queue_is_not_deleted(world: World) -> None:
    world.hold(topology.ensure_queue("q", QueueKinds(None, None)))
    world.consumers["q"] = 1
    with pytest.raises(AddressInUse):
        world.hold(topology.delete_queue("q", "queue:q", QueueKinds(None, None)))
    assert "q" in world.queues


def test_names_of_subscriptions_belong_to_their_client() -> None:
    assert Names("a.b", False).durable("c") != Names("a", False).durable("b.c")
    assert Names(None, False).durable("a.b") != Names("a", False).durable("b")
    assert Names("a", False).durable("b") == "a.b"
    assert Names("a", True).durable("b") == "b"
    assert Names("a", True).shared("b") == Names("a", False).shared("b")


def test_long_names_still_have_a_definition() -> None:
    sub = durable(queue="q" * 255)
    assert len(sub.marker) < 256
    assert durable(queue="q" * 254 + "x").marker != sub.marker


@pytest.mark.parametrize(
    ("delay", "waits"),
    [(1, 10), (10, 10), (99, 99), (100, 100), (101, 110), (999, 1000), (1234, 1300), (86_400_000, 87_000_000)],
)
def test_delays_are_rounded_up_a_little(delay: int, waits: int) -> None:
    assert delay_queues.bucket(delay) == waits


def test_a_delay_queue_forwards_to_its_target(world: World) -> None:
    world.hold(delay_queues.ensure_waiting(1300, ""))
    (name,) = world.queues
    arguments = world.queues[name]["arguments"]
    assert arguments["x-message-ttl"] == 1300
    assert arguments["x-dead-letter-exchange"] == ""
    assert arguments["x-expires"] >= 1300 + 1000 * delay_queues.FRESH
    assert (name, name, "") in world.bindings


def test_a_refused_delay_queue_leaves_nothing_behind(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: Any) -> None:
        raise ChannelException(403, "ACCESS_REFUSED - configure access")

    monkeypatch.setattr(world, "queue_declare", refuse)
    with pytest.raises(ChannelException):
        world.hold(delay_queues.ensure_waiting(1300, ""))
    assert not world.exchanges


def test_the_longest_delay_is_the_longest_lifetime_of_a_queue() -> None:
    assert delay_queues.bucket(delay_queues.LONGEST) == delay_queues.LONGEST
    assert (
        delay_queues.LONGEST + delay_queues._SPARE
        <= 315_360_000_000
        < delay_queues.bucket(delay_queues.LONGEST + 1) + delay_queues._SPARE
    )
