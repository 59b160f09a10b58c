"""Long operations run in slices, and are right whatever others do between two slices."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from jmsbridge.spi import Interest, LinkLost, Mode, Outcome
from jmsbridge_embedded.memory.link import Link
from jmsbridge_embedded.memory.queues import slices
from tests.embedded.memory.auditing import audit
from tests.embedded.memory.support import Box, User, World, message, queue, topic


class Pauses:
    """Make every page a slice, after which other threads have a turn."""

    def __init__(self) -> None:
        self.count = 0
        self.act: Callable[[], object] = lambda: None
        self._busy = False

    def sleep(self, seconds: float) -> None:
        if not self._busy:
            self._busy = True
            try:
                self.count += 1
                self.act()
            finally:
                self._busy = False


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> Pauses:
    made = Pauses()
    monkeypatch.setattr(slices, "_SLICE", 0.0)
    monkeypatch.setattr("jmsbridge_embedded.memory.queues.slices.time.sleep", made.sleep)
    return made


class Others:
    """Other clients, which send, take, requeue and settle on the same queue."""

    def __init__(self, world: World, seed: int) -> None:
        self.random = random.Random(seed)
        self.world = world
        self.channel = world.link.channel(False)
        self.users = [world.consume(credit=0), world.consume(selector="n <= 3", credit=0)]
        self.held: list[tuple[User, Any]] = []
        self.sent = 0
        self.accepted: list[int] = []

    def send(self, count: int = 1) -> None:
        for _ in range(count):
            priority = self.random.choice((4, 4, 4, 0, 9))
            properties: dict[str, Any] = {"n": self.random.randrange(10)}
            self.world.send(message(self.sent, priority=priority, properties=properties), channel=self.channel)
            self.sent += 1

    def turn(self) -> None:
        for _ in range(self.random.randrange(4)):
            chance = self.random.random()
            user = self.random.choice(self.users)
            if chance < 0.4:
                self.send(self.random.randrange(1, 4))
            elif chance < 0.7:
                user.grant(self.random.randrange(1, 10))
                user.drain()
                self.held += [(user, arrival) for arrival in user.take()]
            elif self.held:
                user, arrival = self.held.pop(self.random.randrange(len(self.held)))
                outcome = self.random.choice((Outcome.ACCEPTED, Outcome.RELEASED, Outcome.FAILED))
                user.settle(outcome, arrival)
                if outcome is Outcome.ACCEPTED:
                    self.accepted.append(arrival.envelope.body)
        audit(self.world.broker)

    @property
    def waiting(self) -> set[int]:
        return set(range(self.sent)) - set(self.accepted) - {arrival.envelope.body for _, arrival in self.held}


@pytest.mark.parametrize("seed", range(4))
def test_a_view_is_right_whatever_happens_while_it_is_made(world: World, pauses: Pauses, seed: int) -> None:
    others = Others(world, seed)
    others.send(3000)
    pauses.act = others.turn
    user = world.consume(selector="n > 5", credit=0)
    assert pauses.count > 20
    audit(world.broker)
    user.grant(10_000)
    assert [arrival.envelope.properties["n"] > 5 for arrival in user.box.arrivals] == [True] * len(user.bodies)
    rest = world.consume(credit=10_000)
    assert len(user.bodies + rest.bodies) == len(others.waiting)
    assert set(user.bodies + rest.bodies) == others.waiting
    keys = [arrival.token.key for arrival in user.box.arrivals]
    assert keys == sorted(keys)
    audit(world.broker)


def test_two_consumers_may_make_the_same_view(world: World, pauses: Pauses) -> None:
    others = Others(world, 1)
    others.send(1000)
    made: list[User] = []

    def another() -> None:
        if not made:
            made.append(world.consume(selector="n > 5", credit=0))

    pauses.act = another
    user = world.consume(selector="n > 5", credit=0)
    audit(world.broker)
    made[0].grant(1000)
    user.grant(1000)
    assert (len(made[0].bodies) > 300, user.bodies) == (True, [])


def test_a_view_is_given_up_with_its_link(world: World, pauses: Pauses) -> None:
    others = Others(world, 1)
    others.send(1000)
    link = world.connect()
    pauses.act = lambda: link.close() if pauses.count == 3 else None
    subscription = link.channel(False).subscribe(Interest(address=queue(), selector="n > 5"), Box())
    with pytest.raises(LinkLost):
        subscription.grant(1)
    assert pauses.count < 10
    assert list(world.broker.destinations.queues["orders"].views) == ["n <= 3"]
    audit(world.broker)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("selector", [None, "n > 5"])
def test_a_browser_shows_what_waits_when_its_turn_comes(
    world: World, pauses: Pauses, seed: int, selector: str | None
) -> None:
    others = Others(world, seed)
    others.send(1000)
    browser = world.consume(mode=Mode.BROWSE, selector=selector, credit=0)
    there = set(others.waiting)
    always = set(there)

    def turn() -> None:
        others.turn()
        always.intersection_update(others.waiting)

    pauses.act = turn
    while True:
        before = len(browser.bodies)
        browser.grant(50)
        if len(browser.bodies) < before + 50:
            break
        turn()
    wanted = {body for body in always if selector is None or shown_number(world, others, body) > 5}
    assert len(browser.bodies) == len(set(browser.bodies))
    assert wanted <= set(browser.bodies) <= set(range(1000))
    priorities = [-arrival.envelope.priority for arrival in browser.box.arrivals]
    assert priorities == sorted(priorities)


def shown_number(world: World, others: Others, body: int) -> int:
    entries = [entry for entry in world.broker.destinations.queues["orders"].main if entry.envelope.body == body]
    number: int = entries[0].envelope.properties["n"]
    return number


@pytest.mark.parametrize("seed", range(4))
def test_purging_and_moving_leave_alone_what_comes_meanwhile(world: World, pauses: Pauses, seed: int) -> None:
    others = Others(world, seed)
    others.send(1000)
    pauses.act = others.turn
    link: Link = world.link
    before = len(others.waiting)
    purged = link.purge(queue(), "n > 5")
    moved = link.move(queue(), queue("there"), "n < 3", limit=200)
    assert (300 < purged < 500, moved, pauses.count > 5) == (True, 200, True)
    pauses.act = lambda: None
    assert link.depth(queue("there")) == 200
    assert before - purged - moved <= link.depth(queue()) + len(others.accepted)
    audit(world.broker)


@pytest.mark.parametrize("seed", range(4))
def test_a_sweep_pauses_for_others(world: World, seed: int) -> None:
    others = Others(world, seed)
    for number in range(1000):
        expiration = world.now + 500 if number % 2 else 0
        world.send(message(-1 - number, properties={"n": number % 10}, expiration=expiration))
    world.now += 5000
    schedule = world.broker.schedule
    steps = 0
    with world.broker.state.lock:
        schedule._call(world.now)
    more = True
    while more:
        with world.broker.state.lock:
            more = schedule._work()
            world.broker.state.step = None
        others.turn()
        steps += 1
    assert steps > 10
    held = [arrival.envelope.expiration for _, arrival in others.held]
    waiting = [entry.envelope.expiration for entry in world.broker.destinations.queues["orders"].main]
    assert held + waiting == [0] * (len(held) + len(waiting))
    audit(world.broker)


def test_listing_destinations_is_done_in_slices_too(world: World, pauses: Pauses) -> None:
    user = world.consume(credit=1)
    world.send(*(message(number, priority=number % 10) for number in range(1000)))
    (info,) = world.link.list_destinations()
    assert (info.depth, info.oldest, len(user.bodies), pauses.count > 5) == (1000, 0, 1, True)


def test_dropped_messages_are_freed_in_slices(world: World) -> None:
    user = world.consume(topic(), credit=0)
    world.send_bodies(*range(1000), to=topic())
    user.close()
    schedule = world.broker.schedule
    assert (world.stored, len(schedule._jobs)) == (0, 1)
    with world.broker.state.lock:
        assert schedule._work()
    world.later(0)
    assert len(schedule._jobs) == 0


@pytest.mark.parametrize("verb", ["drain", "browse", "purge"])
def test_due_messages_appear_in_slices(world: World, pauses: Pauses, verb: str) -> None:
    for number in range(500):
        world.send(message(number, delivery_time=world.now + 100))
    user = world.consume(credit=1)
    world.now += 200
    seen: list[int] = []
    pauses.act = lambda: seen.append(len(world.broker.destinations.queues["orders"].timetable.delayed))
    if verb == "drain":
        user.drain()
        assert user.bodies == [0]
    elif verb == "browse":
        assert len(world.browse()) == 499
    else:
        assert world.link.purge(queue()) == 499
    assert len(seen) > 5
    assert seen[0] > seen[-1]
    audit(world.broker)
