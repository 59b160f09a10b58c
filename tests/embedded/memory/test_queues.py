"""Which consumer gets which message of a queue, in which order, and how often."""

import pytest

from jmsbridge.spi import (
    DEAD_LETTER_DELIVERIES,
    DEAD_LETTER_ORIGIN,
    DEAD_LETTER_REASON,
    DEAD_LETTER_TIME,
    Mode,
    NotSupported,
    Outcome,
    SelectorRefused,
    SendRefused,
)
from tests.embedded.memory.support import Reply, World, message, queue, topic


def test_messages_wait_in_order_and_credit_is_never_exceeded(world: World) -> None:
    world.send_bodies(*range(10))
    user = world.consume(credit=0)
    assert user.bodies == []
    user.grant(3)
    assert user.bodies == [0, 1, 2]
    user.grant(2)
    world.send_bodies(10)
    assert user.bodies == [0, 1, 2, 3, 4]
    user.settle(Outcome.ACCEPTED)
    assert user.bodies == [0, 1, 2, 3, 4]
    user.grant(100)
    assert user.bodies == list(range(11))


def test_a_waiting_consumer_gets_a_message_at_once(world: World) -> None:
    user = world.consume(credit=2)
    world.send_bodies("a", "b", "c")
    assert user.bodies == ["a", "b"]
    assert [(arrival.redelivered, arrival.delivery_count) for arrival in user.box.arrivals] == [(False, 1)] * 2


def test_consumers_with_credit_take_turns(world: World) -> None:
    first, second, third = world.consume(credit=3), world.consume(credit=100), world.consume(credit=0)
    world.send_bodies(*range(8))
    assert first.bodies == [0, 2, 4]
    assert second.bodies == [1, 3, 5, 6, 7]
    assert third.bodies == []


def test_a_backlog_is_shared_too(world: World) -> None:
    world.send_bodies(*range(6))
    first = world.consume(credit=2)
    second = world.consume(credit=2)
    assert (first.bodies, second.bodies) == ([0, 1], [2, 3])


def test_higher_priorities_come_first_and_keep_their_order(world: World) -> None:
    for number, priority in enumerate([4, 9, 4, 0, 9, 5, 4]):
        world.send(message((priority, number), priority=priority))
    assert world.browse() == [(9, 1), (9, 4), (5, 5), (4, 0), (4, 2), (4, 6), (0, 3)]
    assert world.consume().bodies == [(9, 1), (9, 4), (5, 5), (4, 0), (4, 2), (4, 6), (0, 3)]


@pytest.mark.parametrize("outcome", [Outcome.RELEASED, Outcome.FAILED])
def test_returned_messages_get_their_old_place(world: World, outcome: Outcome) -> None:
    world.send_bodies(*range(6))
    user = world.consume(credit=4)
    zero, one, two, three = user.take()
    user.settle(outcome, three)
    user.settle(outcome, one)
    user.settle(Outcome.ACCEPTED, two)
    assert world.browse() == [1, 3, 4, 5]
    user.grant(10)
    assert user.bodies == [1, 3, 4, 5]
    user.settle(outcome, zero)
    assert user.last.envelope.body == 0


def test_only_failures_count_as_deliveries(world: World) -> None:
    world.send_bodies("a")
    user = world.consume(credit=1)
    seen = []
    for outcome, failures in [(Outcome.RELEASED, 1), (Outcome.FAILED, 1), (Outcome.RELEASED, 1), (Outcome.FAILED, 3)]:
        (arrival,) = user.take()
        seen.append((arrival.redelivered, arrival.delivery_count))
        user.settle(outcome, arrival, failures=failures)
        user.grant(1)
    seen.append((user.last.redelivered, user.last.delivery_count))
    assert seen == [(False, 1), (False, 1), (True, 2), (True, 2), (True, 5)]


def test_counts_are_exact_over_links(world: World) -> None:
    world.send_bodies("a")
    for expected in range(1, 4):
        link = world.connect()
        user = world.consume(channel=link.channel(False))
        assert user.last.delivery_count == expected
        link.close()


def test_rejected_messages_go_to_the_dead_letter_queue(world: World) -> None:
    world.send(message("bad", properties={"n": 1}, expiration=world.now + 50))
    user = world.consume()
    user.settle(Outcome.FAILED, *user.take(), failures=2)
    rejected = world.now
    user.settle(Outcome.REJECTED, *user.take())
    assert user.take() == []
    world.later(100)
    dead = world.consume(queue("DLQ")).last
    assert dead.delivery_count == 1
    assert dead.envelope.properties == {
        "n": 1,
        DEAD_LETTER_REASON: "rejected after 3 deliveries",
        DEAD_LETTER_ORIGIN: "queue:orders",
        DEAD_LETTER_DELIVERIES: 3,
        DEAD_LETTER_TIME: rejected,
    }
    assert (dead.envelope.address, dead.envelope.expiration) == (queue("DLQ"), 0)
    assert world.stored == 1


def test_a_dead_letter_rejected_again_keeps_its_origin(world: World) -> None:
    subscription = world.consume(topic(), key="k", shared=True)
    world.send_bodies("worst", to=topic())
    subscription.settle(Outcome.REJECTED)
    dead = world.consume(queue("DLQ"), credit=1)
    dead.settle(Outcome.REJECTED, *dead.take())
    dead.grant(1)
    assert dead.last.envelope.properties[DEAD_LETTER_ORIGIN] == "topic:news/k"


def test_a_drain_ends_the_credit_after_what_was_there(world: World) -> None:
    world.send_bodies(1, 2)
    user = world.consume(credit=10)
    user.drain()
    world.send_bodies(3)
    assert user.bodies == [1, 2]
    user.grant(1)
    assert user.bodies == [1, 2, 3]


def test_closing_requeues_as_failed_and_is_idempotent(world: World) -> None:
    world.send_bodies(1, 2)
    user = world.consume()
    user.close()
    user.close()
    world.send_bodies(3)
    assert user.bodies == [1, 2]
    assert [(a.envelope.body, a.delivery_count) for a in world.consume().box.arrivals] == [(1, 2), (2, 2), (3, 1)]


def test_consumers_of_one_channel_requeue_together(world: World) -> None:
    channel = world.link.channel(False)
    for _ in range(2):
        world.consume(credit=3, channel=channel)
    world.send_bodies(*range(6))
    other = world.consume()
    channel.close()
    assert other.bodies == list(range(6))


def test_presettled_messages_are_gone_on_arrival(world: World) -> None:
    user = world.consume(presettled=True)
    world.send_bodies(1, 2)
    user.settle(Outcome.FAILED)
    user.close()
    assert user.bodies == [1, 2]
    assert (world.browse(), world.stored) == ([], 0)


def test_a_token_is_settled_once(world: World) -> None:
    world.send_bodies(1)
    user = world.consume(credit=1)
    user.settle(Outcome.ACCEPTED)
    user.settle(Outcome.FAILED)
    assert (world.browse(), world.stored) == ([], 0)


def test_a_full_broker_refuses_and_names_the_option() -> None:
    world = World(max_messages=2)
    world.send_bodies(1, 2)
    error = world.refused(message(3))
    assert isinstance(error, SendRefused)
    assert "max_messages" in str(error)
    world.consume(credit=1).settle(Outcome.ACCEPTED)
    world.send_bodies(4)
    assert world.stored == 2


def test_a_send_without_ticket_asks_for_nothing() -> None:
    world = World(max_messages=1)
    world.channel.send(message(1), None)
    world.channel.send(message(2), None)
    assert world.browse() == [1]


def test_duplicates_are_confirmed_and_dropped_within_the_window() -> None:
    world = World(duplicate_window=2)
    for duplicate_id in ["a", "b", "a", "c", "a"]:
        world.send(message(duplicate_id, duplicate_id=duplicate_id))
    assert world.browse() == ["a", "b", "c", "a"]
    world.send(message("elsewhere", queue("other"), duplicate_id="a"))
    assert world.browse(queue("other")) == ["elsewhere"]


def test_duplicates_are_detected_without_consumers(world: World) -> None:
    user = world.consume()
    world.send(message(1, duplicate_id="x"))
    user.settle(Outcome.ACCEPTED)
    user.close()
    world.send(message(1, duplicate_id="x"))
    world.send(message(1, topic(), duplicate_id="x"), message(2, topic(), duplicate_id="x"))
    assert world.stored == 0


def test_idle_queues_are_not_kept(world: World) -> None:
    for number in range(10):
        user = world.consume(queue(f"reply-{number}"))
        world.send_bodies(1, to=queue(f"reply-{number}"))
        user.settle(Outcome.ACCEPTED)
        user.close()
    assert world.broker.destinations.queues == {}


def test_browsing_shows_what_waits_and_takes_nothing(world: World) -> None:
    world.send_bodies(*range(5))
    user = world.consume(credit=2)
    user.settle(Outcome.ACCEPTED, user.take()[0])
    assert world.browse() == [2, 3, 4]
    user.close()
    assert world.browse() == [1, 2, 3, 4]
    assert world.consume().bodies == [1, 2, 3, 4]


def test_browsing_goes_by_credit_and_is_a_snapshot(world: World) -> None:
    world.send_bodies(*range(5))
    browser = world.consume(credit=2, mode=Mode.BROWSE)
    world.send_bodies(5)
    assert browser.bodies == [0, 1]
    user = world.consume(credit=3)
    user.settle(Outcome.ACCEPTED)
    browser.grant(10)
    browser.drain()
    assert browser.bodies == [0, 1, 3, 4]
    browser.subscription.settle([None], Outcome.ACCEPTED, Reply())


def test_a_browser_selects(world: World) -> None:
    for number in range(6):
        world.send(message(number, properties={"odd": number % 2 == 1}))
    assert world.browse(selector="odd") == [1, 3, 5]


def test_invalid_subscriptions_are_refused(world: World) -> None:
    with pytest.raises(NotSupported):
        world.consume(topic(), mode=Mode.BROWSE)
    with pytest.raises(SelectorRefused):
        world.consume(selector="n >")
