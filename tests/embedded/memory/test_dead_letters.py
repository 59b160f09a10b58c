"""Rejected and expired messages that move to the queues that a subscription names."""

import pytest

from jmsbridge.spi import DEAD_LETTER_DELIVERIES, DEAD_LETTER_ORIGIN, DEAD_LETTER_REASON, Outcome
from tests.embedded.memory.auditing import audit
from tests.embedded.memory.support import World, message, queue, topic


def test_messages_that_expire_without_credit_are_moved(world: World) -> None:
    late = world.consume(queue("late"))
    world.consume(credit=0, expired="late")
    world.send(message("mortal", expiration=world.now + 100))
    world.send_bodies("immortal")
    world.later(3000)
    assert late.bodies == ["mortal"]
    assert late.last.envelope.properties[DEAD_LETTER_REASON] == "expired"
    assert late.last.envelope.properties[DEAD_LETTER_ORIGIN] == "queue:orders"
    assert world.stored == 2
    audit(world.broker)


@pytest.mark.parametrize("how", ["RELEASED", "FAILED", "closed", "channel closed", "cut"])
def test_a_message_that_expires_while_it_is_held_is_moved_when_it_is_returned(world: World, how: str) -> None:
    channel = world.link.channel(False)
    user = world.consume(channel=channel, expired="late")
    world.send(message("mortal", expiration=world.now + 100))
    world.send_bodies("immortal")
    user.settle(Outcome.FAILED, user.box.arrivals[0], failures=2)
    world.later(100)
    user.drain()
    if how == "closed":
        user.close()
    elif how == "channel closed":
        channel.close()
    elif how == "cut":
        world.broker.cut("cut")
        world.channel = world.connect().channel(False)
    else:
        user.settle(Outcome[how], *user.box.arrivals)
    assert world.browse() == ["immortal"]
    late = world.consume(queue("late"))
    assert late.bodies == ["mortal"]
    assert late.last.envelope.properties[DEAD_LETTER_DELIVERIES] == 2
    audit(world.broker)


def test_an_expired_message_can_still_be_accepted(world: World) -> None:
    user = world.consume(expired="late")
    world.send(message("mortal", expiration=world.now + 100))
    world.later(100)
    user.settle(Outcome.ACCEPTED)
    assert world.stored == 0


def test_the_consumer_whose_selector_matches_decides(world: World) -> None:
    world.consume(credit=0, selector="kind = 'a'", expired="late-a")
    world.consume(credit=0, selector="kind = 'b'", expired="late-b")
    for kind in "abc":
        world.send(message(kind, expiration=world.now + 100, properties={"kind": kind}))
    world.later(3000)
    assert (world.browse(queue("late-a")), world.browse(queue("late-b"))) == (["a"], ["b"])
    assert world.stored == 2


def test_a_closed_consumer_no_longer_decides(world: World) -> None:
    world.consume(credit=0, expired="late").close()
    world.send(message("mortal", expiration=world.now + 100))
    world.later(3000)
    assert world.stored == 0


def test_the_owner_of_a_group_decides(world: World) -> None:
    user = world.consume(credit=1, expired="late")
    for body in ("owned", "mortal"):
        world.send(message(body, expiration=world.now + 100, properties={"JMSXGroupID": "g"}))
    world.later(100)
    user.grant(5)
    user.settle(Outcome.ACCEPTED)
    assert user.bodies == ["owned"]
    assert world.browse(queue("late")) == ["mortal"]
    audit(world.broker)


def test_a_queue_may_be_its_own_expiry_queue(world: World) -> None:
    user = world.consume(credit=0, expired="orders")
    world.send(message("mortal", expiration=world.now + 100))
    world.now += 100
    user.grant(5)
    assert user.bodies == ["mortal"]
    assert user.last.envelope.expiration == 0
    assert world.stored == 1
    audit(world.broker)


def test_two_queues_may_be_expiry_queues_of_each_other(world: World) -> None:
    one = world.consume(queue("one"), credit=0, expired="two")
    two = world.consume(queue("two"), credit=0, expired="one")
    for name in ("one", "two"):
        world.send(message(name, queue(name), expiration=world.now + 100))
    world.now += 100
    one.grant(1)
    two.grant(1)
    assert (one.bodies, two.bodies) == (["two"], ["one"])
    audit(world.broker)


def test_subscriptions_decide_for_their_own_copies(world: World) -> None:
    kept = world.consume(topic(), credit=0, expired="late")
    world.consume(topic(), credit=0)
    world.send(message("mortal", topic(), expiration=world.now + 100))
    world.later(3000)
    late = world.consume(queue("late"))
    assert late.bodies == ["mortal"]
    kept.close()
    late.settle(Outcome.ACCEPTED)
    assert world.stored == 0


def test_rejected_messages_of_one_settlement_go_there_in_order(world: World) -> None:
    user = world.consume(dead_letters="mine")
    world.send_bodies(1, 2, 3)
    user.settle(Outcome.REJECTED)
    assert (world.browse(queue("mine")), world.browse(queue("DLQ"))) == ([1, 2, 3], [])
    audit(world.broker)
