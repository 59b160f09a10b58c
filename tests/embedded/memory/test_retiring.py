"""A retired consumer gets no messages; its unsettled ones can still be settled."""

import weakref
from typing import Any

import pytest

from jmsbridge.spi import Outcome, Retires, SubscriptionRefused
from tests.embedded.memory.auditing import audit
from tests.embedded.memory.support import User, World, message, queue, topic

DURABLE: dict[str, Any] = {"key": "sub", "durable": True}
SHARED: dict[str, Any] = {"key": "sub", "shared": True}


def retire(user: User) -> None:
    assert isinstance(user.subscription, Retires)
    user.drain()
    user.subscription.retire()


def test_others_get_new_messages_and_the_queue_is_idle_when_all_is_settled(world: World) -> None:
    user = world.consume()
    world.send_bodies(1, 2)
    retire(user)
    user.grant(10)
    world.send_bodies(3)
    assert user.bodies == [1, 2]
    other = world.consume()
    assert other.bodies == [3]
    other.settle(Outcome.ACCEPTED)
    other.close()
    user.settle(Outcome.ACCEPTED, user.box.arrivals[0])
    assert world.stored == 1
    user.settle(Outcome.RELEASED, user.box.arrivals[1])
    assert world.consume(credit=1).bodies == [2]
    audit(world.broker)


def test_an_idle_queue_is_dropped_with_the_last_settlement(world: World) -> None:
    user = world.consume()
    world.send_bodies(1)
    retire(user)
    assert list(world.broker.destinations.queues) == ["orders"]
    user.settle(Outcome.ACCEPTED)
    assert world.broker.destinations.queues == {}
    user.close()
    assert world.stored == 0


@pytest.mark.parametrize("commit", [True, False])
def test_messages_that_a_transaction_accepted_stay_in_it(world: World, commit: bool) -> None:
    channel = world.link.channel(True)
    user = world.consume(channel=channel)
    world.send_bodies(1, 2)
    user.settle(Outcome.ACCEPTED, user.box.arrivals[0])
    retire(user)
    user.settle(Outcome.ACCEPTED, user.box.arrivals[1])
    assert world.finish(channel, commit) is None
    user.close()
    assert world.browse() == ([] if commit else [1, 2])
    audit(world.broker)


def test_a_durable_subscription_is_free_but_not_to_be_unsubscribed_before_all_is_settled(world: World) -> None:
    link = world.connect("app")
    user = world.consume(topic(), channel=link.channel(False), credit=1, **DURABLE)
    world.send_bodies(1, 2, to=topic())
    retire(user)
    again = world.consume(topic(), channel=link.channel(False), **DURABLE)
    assert again.bodies == [2]
    again.settle(Outcome.ACCEPTED)
    user.settle(Outcome.FAILED)
    assert again.bodies == [2, 1]
    again.settle(Outcome.ACCEPTED)
    again.close()
    link.unsubscribe("sub", None)
    assert world.stored == 0


def test_unsubscribing_waits_for_what_is_not_acknowledged(world: World) -> None:
    link = world.connect("app")
    user = world.consume(topic(), channel=link.channel(False), **DURABLE)
    world.send_bodies(1, to=topic())
    retire(user)
    with pytest.raises(SubscriptionRefused, match="not yet acknowledged"):
        link.unsubscribe("sub", None)
    user.settle(Outcome.ACCEPTED)
    link.unsubscribe("sub", None)
    assert world.broker.destinations.topics.topics == {}


@pytest.mark.parametrize("fields", [{}, SHARED])
@pytest.mark.parametrize("outcome", list(Outcome))
def test_a_non_durable_subscription_ends_with_its_last_consumer(
    world: World, fields: dict[str, Any], outcome: Outcome
) -> None:
    user = world.consume(topic(), credit=1, **fields)
    world.send_bodies(1, 2, to=topic())
    retire(user)
    world.send_bodies(3, to=topic())
    assert (world.stored, world.broker.destinations.topics.topics) == (1, {})
    audit(world.broker)
    user.settle(outcome)
    user.close()
    assert world.stored == (1 if outcome is Outcome.REJECTED else 0)
    assert world.browse(queue("DLQ")) == ([1] if outcome is Outcome.REJECTED else [])


def test_a_shared_subscription_lives_as_long_as_one_consumer(world: World) -> None:
    first, second = world.consume(topic(), credit=1, **SHARED), world.consume(topic(), **SHARED)
    world.send_bodies(1, 2, to=topic())
    retire(first)
    world.send_bodies(3, to=topic())
    assert second.bodies == [2, 3]
    first.settle(Outcome.FAILED)
    assert second.bodies == [2, 3, 1]


@pytest.mark.parametrize("is_topic", [True, False])
def test_a_temporary_destination_may_be_deleted(world: World, is_topic: bool) -> None:
    address = world.link.declare(topic("temp") if is_topic else queue("temp"))
    user = world.consume(address, credit=1)
    world.send_bodies(1, 2, to=address)
    retire(user)
    world.link.delete(address)
    user.settle(Outcome.FAILED)
    assert world.stored == 0


def test_groups_of_a_retired_consumer_are_free(world: World) -> None:
    user, other = world.consume(credit=1), world.consume(credit=0)
    world.send(*(message(number, properties={"JMSXGroupID": "g"}) for number in range(3)))
    other.grant(10)
    assert (user.bodies, other.bodies) == ([0], [])
    retire(user)
    assert other.bodies == [1, 2]
    user.settle(Outcome.FAILED)
    assert other.bodies == [1, 2, 0]
    audit(world.broker)


def test_the_end_of_its_channel_requeues_its_messages(world: World) -> None:
    channel = world.link.channel(False)
    user = world.consume(channel=channel)
    world.send_bodies(1)
    retire(user)
    channel.close()
    (arrival,) = world.consume().box.arrivals
    assert (arrival.envelope.body, arrival.delivery_count) == (1, 2)


class Body:
    """A message body whose deallocation can be awaited."""


def test_an_ended_queue_keeps_none_of_its_messages(world: World) -> None:
    """Not even the timers of expiry and delay reference them."""
    later = world.now + 86_400_000
    bodies = [Body() for _ in range(2000)]
    left = weakref.WeakSet(bodies)
    user = world.consume(topic(), credit=0)
    for number in range(0, 2000, 2):
        world.channel.send(message(bodies[number], topic(), expiration=later), None)
        world.channel.send(message(bodies[number + 1], topic(), delivery_time=later), None)
    bodies.clear()
    user.close()
    world.later(0)
    assert (world.stored, len(world.broker.schedule), len(left)) == (0, 0, 0)
