"""Sends and settlements of a transacted channel: together at commit, or never."""

import pytest

from jmsbridge.spi import AddressRefused, NotSupported, Outcome, SendRefused, TransactionRolledBack
from tests.embedded.memory.support import World, message, queue, topic


def test_sends_appear_at_commit_in_order_over_queues_and_topics(world: World) -> None:
    channel = world.link.channel(True)
    orders, news = world.consume(), world.consume(topic())
    for number in range(4):
        world.send(message(number, topic() if number % 2 else queue()), channel=channel)
    assert (orders.bodies, news.bodies, world.browse()) == ([], [], [])
    assert world.finish(channel) is None
    assert (orders.bodies, news.bodies) == ([0, 2], [1, 3])


def test_a_commit_appears_at_once(world: World) -> None:
    channel = world.link.channel(True)
    user = world.consume(credit=1)
    world.send(message("low", priority=1), message("high", priority=9), channel=channel)
    assert world.finish(channel) is None
    assert user.bodies == ["high"]


def test_rollback_drops_sends_and_keeps_tokens(world: World) -> None:
    channel = world.link.channel(True)
    world.send_bodies(1, 2)
    user = world.consume(channel=channel)
    world.send(message(3), channel=channel)
    user.settle(Outcome.ACCEPTED)
    assert world.finish(channel, commit=False) is None
    assert (world.browse(), world.stored) == ([], 2)
    user.settle(Outcome.FAILED, *user.take())
    assert [(a.envelope.body, a.delivery_count) for a in user.box.arrivals] == [(1, 2), (2, 2)]


def test_accepted_messages_are_gone_after_commit_only(world: World) -> None:
    channel = world.link.channel(True)
    world.send_bodies(1, 2)
    user = world.consume(channel=channel)
    user.settle(Outcome.ACCEPTED, user.box.arrivals[0])
    assert world.stored == 2
    assert world.finish(channel) is None
    assert world.stored == 1
    channel.close()
    assert world.consume().bodies == [2]


def test_other_outcomes_take_effect_at_once(world: World) -> None:
    channel = world.link.channel(True)
    world.send_bodies(1)
    user = world.consume(channel=channel, credit=1)
    user.settle(Outcome.ACCEPTED)
    user.settle(Outcome.RELEASED)
    assert world.browse() == [1]
    user.grant(1)
    assert world.finish(channel) is None
    assert world.stored == 1


@pytest.mark.parametrize("commit", [True, False])
def test_accepted_messages_outlive_their_consumer(world: World, commit: bool) -> None:
    channel = world.link.channel(True)
    world.send_bodies(1)
    user = world.consume(channel=channel)
    user.settle(Outcome.ACCEPTED)
    user.close()
    assert (world.browse(), world.stored) == ([], 1)
    assert world.finish(channel, commit) is None
    assert world.browse() == ([] if commit else [1])


@pytest.mark.parametrize("how", ["channel", "link", "cut"])
def test_closing_or_losing_a_channel_rolls_back(world: World, how: str) -> None:
    link = world.connect()
    channel = link.channel(True)
    world.send_bodies(1)
    user = world.consume(channel=channel)
    user.settle(Outcome.ACCEPTED)
    world.send(message(2), channel=channel)
    if how == "cut":
        world.broker.cut("the network is down")
    else:
        (channel if how == "channel" else link).close()
    fresh = world.connect().channel(False)
    assert [(a.envelope.body, a.delivery_count) for a in world.consume(channel=fresh).box.arrivals] == [(1, 2)]
    assert world.stored == 1


def test_a_lost_destination_rolls_the_transaction_back(world: World) -> None:
    channel = world.link.channel(True)
    world.send_bodies(0)
    user = world.consume(channel=channel, credit=1)
    temporary = world.link.declare(queue("temp"))
    world.send(message(1), message(2, temporary), channel=channel)
    user.settle(Outcome.ACCEPTED)
    world.link.delete(temporary)
    assert isinstance(world.finish(channel), TransactionRolledBack)
    assert (world.browse(), world.stored) == ([], 1)
    assert isinstance(world.refused(message(3, temporary), channel), AddressRefused)


def test_duplicates_are_dropped_at_commit(world: World) -> None:
    channel = world.link.channel(True)
    world.send(message(1, duplicate_id="a"), message(2, duplicate_id="a"), channel=channel)
    assert world.finish(channel, commit=False) is None
    world.send(message(3, duplicate_id="a"), message(4, duplicate_id="a"), channel=channel)
    assert world.finish(channel) is None
    assert (world.browse(), world.stored) == ([3], 1)


def test_transactions_count_towards_the_limit() -> None:
    world = World(max_messages=3)
    channel = world.link.channel(True)
    world.send(message(1), message(2, topic()), channel=channel)
    world.send_bodies(3)
    assert isinstance(world.refused(message(4), channel), SendRefused)
    for _ in range(2):
        world.consume(topic())
    assert isinstance(world.finish(channel), TransactionRolledBack)
    assert world.stored == 1


def test_only_transacted_channels_commit(world: World) -> None:
    assert isinstance(world.finish(world.channel), NotSupported)
    assert isinstance(world.finish(world.channel, commit=False), NotSupported)
