"""Delivery delay, expiry, and their timer thread."""

import threading
import time

from jmsbridge.spi import Interest, Outcome
from jmsbridge.testing.suite.support import eventually
from jmsbridge_embedded.memory.broker import Broker
from tests.embedded.memory.support import DEADLINE, Box, Events, World, message, queue, topic


def wait_timer(name: str) -> threading.Thread:
    """The one thread of the broker with that name."""
    found: list[threading.Thread] = []

    def is_there() -> bool:
        found[:] = [thread for thread in threading.enumerate() if thread.name == f"jmsbridge-embedded-{name}-io"]
        return bool(found)

    eventually(is_there)
    (timer,) = found
    return timer


def test_a_delayed_message_is_invisible_until_it_is_due(world: World) -> None:
    user = world.consume()
    world.send(message("late", delivery_time=world.now + 100))
    world.send_bodies("now")
    world.later(99)
    assert (user.bodies, world.browse()) == (["now"], [])
    world.later(1)
    assert user.bodies == ["now", "late"]


def test_delayed_messages_take_their_place_when_due(world: World) -> None:
    for delay in (300, 100, 200):
        world.send(message(delay, delivery_time=world.now + delay))
    world.send_bodies("now")
    world.later(500)
    world.send_bodies("after")
    assert world.browse() == ["now", 100, 200, 300, "after"]


def test_a_due_message_is_there_for_drain_and_browser_without_a_timer(world: World) -> None:
    user = world.consume()
    world.send(message("late", delivery_time=world.now + 10))
    world.now += 10
    user.drain()
    assert user.bodies == ["late"]
    world.send(message("later", delivery_time=world.now + 10))
    world.now += 10
    assert world.browse() == ["later"]


def test_a_delayed_message_goes_to_subscriptions_that_existed_at_the_send(world: World) -> None:
    early = world.consume(topic())
    world.send(message("late", topic(), delivery_time=world.now + 100))
    late = world.consume(topic())
    world.later(100)
    assert (early.bodies, late.bodies) == (["late"], [])


def test_an_expired_message_is_not_delivered_or_browsed(world: World) -> None:
    world.send(message("short", expiration=world.now + 10), message("long", expiration=world.now + 1000))
    world.send_bodies("ever")
    world.now += 10
    assert world.browse() == ["long", "ever"]
    assert world.consume().bodies == ["long", "ever"]


def test_returned_messages_and_late_sends_expire(world: World) -> None:
    world.send(message("short", expiration=world.now + 10))
    user = world.consume()
    world.now += 10
    user.settle(Outcome.RELEASED, *user.take())
    world.send(message("late", expiration=world.now))
    user.grant(5)
    assert (user.bodies, world.stored) == ([], 0)


def test_expiry_counts_from_send_for_delayed_messages(world: World) -> None:
    user = world.consume()
    world.send(message("never", delivery_time=world.now + 100, expiration=world.now + 50))
    world.send(message("once", delivery_time=world.now + 100, expiration=world.now + 150))
    world.later(100)
    assert (user.bodies, world.stored) == (["once"], 1)


def test_expired_messages_are_swept_without_a_consumer(world: World) -> None:
    world.send_bodies(*range(100), expiration=world.now + 500)
    world.send_bodies(*range(100), expiration=world.now + 5000)
    world.send_bodies("ever")
    world.later(3000)
    assert world.stored == 101
    world.later(5000)
    assert world.stored == 1
    world.later(100_000)
    assert len(world.broker.schedule) == 0


def test_one_sweep_is_scheduled_however_many_messages_expire(world: World) -> None:
    user = world.consume(credit=0)
    for number in range(1000):
        world.send(message(number, expiration=world.now + 60_000 + number))
        user.grant(1)
        user.settle(Outcome.ACCEPTED, *user.take())
    assert len(world.broker.schedule) == 1


def test_a_deleted_queue_forgets_its_delayed_messages(world: World) -> None:
    address = world.link.declare(queue("temp"))
    world.send(message("late", address, delivery_time=world.now + 100))
    assert world.stored == 1
    world.link.delete(address)
    assert (world.stored, len(world.broker.schedule)) == (0, 0)


def test_the_timer_wakes_in_time_and_ends() -> None:
    broker = Broker("timed")
    channel = broker.open(None, Events()).channel(False)
    box = Box(expected=2)
    channel.subscribe(Interest(address=queue()), box).grant(10)
    start = time.time_ns() // 1_000_000
    channel.send(message("later", delivery_time=start + 150), None)
    channel.send(message("sooner", delivery_time=start + 50), None)
    timer = wait_timer("timed")
    assert timer.daemon
    assert box.full.wait(DEADLINE)
    assert 150 <= time.time_ns() // 1_000_000 - start < 1000
    assert box.bodies == ["sooner", "later"]
    timer.join(DEADLINE)
    assert not timer.is_alive()


def test_the_timer_wakes_for_an_earlier_message_than_it_waits_for() -> None:
    broker = Broker("earlier")
    channel = broker.open(None, Events()).channel(False)
    box = Box(expected=1)
    channel.subscribe(Interest(address=queue()), box).grant(10)
    start = time.time_ns() // 1_000_000
    channel.send(message("in 25 s", delivery_time=start + 25_000), None)
    wait_timer("earlier")
    eventually(lambda: bool(broker.schedule._wake._waiters))  # type: ignore[attr-defined]
    channel.send(message("in 0.1 s", delivery_time=start + 100), None)
    assert box.full.wait(DEADLINE)
    assert box.bodies == ["in 0.1 s"]
    assert time.time_ns() // 1_000_000 - start < 10_000
    broker.end("test")


def test_the_timer_ends_with_the_broker() -> None:
    broker = Broker("ended")
    channel = broker.open(None, Events()).channel(False)
    channel.send(message("late", delivery_time=time.time_ns() // 1_000_000 + 3_600_000), None)
    timer = wait_timer("ended")
    broker.end("test")
    timer.join(DEADLINE)
    assert not timer.is_alive()
