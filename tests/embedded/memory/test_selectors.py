"""Selectors on queues and message groups: which consumer may take a message, and what that costs."""

from typing import Any

import pytest

from jmsbridge.selectors import Selector
from jmsbridge.spi import Address, Envelope, Outcome
from tests.embedded.memory.support import World, message, queue, topic


def coloured(*numbers: int) -> list[Envelope]:
    return [message(number, properties={"colour": "red" if number % 3 == 0 else "blue"}) for number in numbers]


def grouped(body: Any, group: str, **fields: Any) -> Envelope:
    return message(body, properties={"JMSXGroupID": group}, **fields)


def test_unmatched_messages_stay_for_others(world: World) -> None:
    world.send(*coloured(*range(9)))
    red = world.consume(selector="colour = 'red'")
    assert red.bodies == [0, 3, 6]
    world.send(*coloured(9, 10))
    assert red.bodies == [0, 3, 6, 9]
    assert world.browse() == [1, 2, 4, 5, 7, 8, 10]
    rest = world.consume()
    assert rest.bodies == [1, 2, 4, 5, 7, 8, 10]
    red.settle(Outcome.RELEASED, red.box.arrivals[1])
    assert sorted(red.bodies + rest.bodies) == sorted([*range(11), 3])


def test_returned_messages_get_their_old_place_for_all_consumers(world: World) -> None:
    world.send(*coloured(*range(7)))
    red = world.consume(selector="colour = 'red'", credit=2)
    red.settle(Outcome.FAILED)
    assert world.browse() == list(range(7))
    red.take()
    red.grant(1)
    assert (red.bodies, red.last.delivery_count) == ([0], 2)
    red.close()
    assert world.consume().bodies == list(range(7))


def test_consumers_with_and_without_selectors_share_each_message_once(world: World) -> None:
    users = [
        world.consume(selector="colour = 'red'", credit=1),
        world.consume(selector="colour = 'blue'"),
        world.consume(selector="colour = 'red'"),
        world.consume(credit=2),
    ]
    world.send(*coloured(*range(30)))
    taken = [body for user in users for body in user.bodies]
    assert sorted(taken) == list(range(30))
    assert [len(user.bodies) for user in users][0::3] == [1, 2]


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The selectors that were evaluated, each time."""
    found: list[str] = []
    matches = Selector.matches_envelope

    def counting(self: Selector, envelope: Envelope) -> bool:
        found.append(self.text)
        return matches(self, envelope)

    monkeypatch.setattr(Selector, "matches_envelope", counting)
    return found


def test_a_long_queue_of_unmatched_messages_is_scanned_once(world: World, looked: list[str]) -> None:
    world.send_bodies(*range(2000))
    red = world.consume(selector="colour = 'red'")
    assert len(looked) == 2000
    for number in range(100):
        world.send(*coloured(3 * number))
        red.settle(Outcome.ACCEPTED, *red.take())
        red.grant(1)
    assert len(looked) == 2100


@pytest.mark.parametrize("to", [queue(), topic()])
def test_of_many_selectors_only_those_are_evaluated_that_may_match(
    world: World, looked: list[str], to: Address
) -> None:
    users = [world.consume(to, selector=f"kind = 'k{number}' AND n > 0") for number in range(100)]
    others = [world.consume(to, selector="n > 5"), world.consume(to, selector="kind LIKE 'k7%'", credit=0)]
    world.send(message("a", to, properties={"kind": "k7", "n": 1}))
    assert sorted(looked) == sorted(["kind = 'k7' AND n > 0", "n > 5", "kind LIKE 'k7%'"])
    assert [user.bodies for user in users] == [["a"] if number == 7 else [] for number in range(100)]
    users[7].close()
    looked.clear()
    world.send(message("b", to, properties={"kind": "k7", "n": 1}), message("c", to))
    assert looked.count("kind = 'k7' AND n > 0") == 0
    assert [user.bodies for user in others] == [[], []]


def test_consumers_with_different_selectors_take_turns(world: World) -> None:
    users = [
        world.consume(selector="n > 0"),
        world.consume(selector="n > 1"),
        world.consume(),
        world.consume(selector="n > 9"),
        world.consume(),
    ]
    world.send(*(message(number, properties={"n": 5}) for number in range(12)))
    assert [len(user.bodies) for user in users] == [3, 3, 3, 0, 3]


def test_views_are_kept_short(world: World) -> None:
    red = world.consume(selector="colour = 'red'", credit=10_000)
    idle = world.consume(selector="colour <> 'green'", credit=0)
    for number in range(3000):
        world.send(*coloured(3 * number))
        red.settle(Outcome.ACCEPTED, *red.take())
    held = world.broker.destinations.queues["orders"]
    assert max(len(held.main), *(len(view) for view in held.views.values())) < 100
    red.close()
    idle.close()
    assert world.broker.destinations.queues == {}


def test_repeated_releases_leave_no_memory_behind(world: World) -> None:
    world.send(*coloured(*range(10)))
    red = world.consume(selector="colour = 'red'", credit=4)
    world.consume(credit=0)
    for _ in range(500):
        arrivals = red.take()
        red.drain()
        red.settle(Outcome.RELEASED, *arrivals)
        red.grant(4)
        assert red.bodies == [0, 3, 6, 9]
    held = world.broker.destinations.queues["orders"]
    assert max(len(held.main), *(len(view) for view in held.views.values())) < 100


def test_a_group_stays_with_one_consumer(world: World) -> None:
    users = [world.consume() for _ in range(3)]
    for number in range(60):
        world.send(grouped(number, f"group-{number % 5}"))
    owners = [{body % 5 for body in user.bodies} for user in users]
    assert sum(len(owner) for owner in owners) == 5
    assert all(owners)
    assert all(user.bodies == sorted(user.bodies) for user in users)


def test_a_group_waits_for_its_owner_and_others_pass(world: World) -> None:
    owner, other = world.consume(credit=1), world.consume()
    world.send(grouped(0, "a"), grouped(1, "a"), grouped(2, "a"))
    world.send_bodies(3)
    assert (owner.bodies, other.bodies) == ([0], [3])
    assert world.browse() == [1, 2]
    owner.grant(1)
    assert owner.bodies == [0, 1]


@pytest.mark.parametrize("last", ["accepted", "expired", "presettled"])
def test_a_queue_is_plain_again_after_its_last_grouped_message(world: World, last: str) -> None:
    world.send(grouped(1, "a"), grouped(2, "a", expiration=world.now + 10))
    owner, other = world.consume(credit=1, presettled=last == "presettled"), world.consume(credit=0)
    other.grant(5)
    held = world.broker.destinations.queues["orders"]
    if last != "presettled":
        owner.settle(Outcome.FAILED)
        owner.grant(1)
        owner.settle(Outcome.ACCEPTED, owner.box.arrivals[1])
    assert (other.bodies, held.plain) == ([], False)
    world.now += 10 if last == "expired" else 0
    owner.grant(1)
    if last == "accepted":
        owner.settle(Outcome.ACCEPTED, owner.last)
    assert (held.plain, held.size, owner.last.envelope.body) == (True, 0, 1 if last == "expired" else 2)
    owner.grant(2)
    world.send(grouped(4, "a"), grouped(5, "a"))
    assert (owner.bodies[-2:], other.bodies) == ([4, 5], [])  # the group still belongs to its owner


def test_groups_are_free_when_their_owner_closes(world: World) -> None:
    owner, other = world.consume(credit=2), world.consume()
    world.send(*(grouped(number, "a") for number in range(5)))
    assert other.bodies == []
    owner.close()
    assert other.bodies == [0, 1, 2, 3, 4]


def test_groups_pass_an_owner_whose_selector_does_not_match(world: World) -> None:
    picky = world.consume(selector="JMSPriority > 5")
    world.send(grouped(0, "a", priority=9))
    other = world.consume()
    world.send(grouped(1, "a"), grouped(2, "a", priority=9))
    assert (picky.bodies, other.bodies) == ([0, 2], [1])


def test_returned_messages_of_a_group_go_to_its_owner_again(world: World) -> None:
    owner, other = world.consume(), world.consume()
    world.send(grouped(0, "a"), grouped(1, "a"))
    owner.settle(Outcome.FAILED, *owner.take())
    assert (owner.bodies, other.bodies) == ([0, 1], [])
