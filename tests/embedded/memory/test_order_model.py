"""The ordered views against a plain sorted list, with random operations."""

import random
from typing import Any

import pytest

from jmsbridge.spi import Arrival, Envelope, Outcome
from tests.embedded.memory.support import User, World, message

SELECTORS = [None, "n > 5", "n <= 5", "n > 5", "JMSPriority >= 5"]


def matches(selector: str | None, envelope: Envelope) -> bool:
    number: int = envelope.properties["n"]
    priority = envelope.priority
    found = {"n > 5": number > 5, "n <= 5": number <= 5, "JMSPriority >= 5": priority >= 5}
    return selector is None or found[selector]


class Model:
    """The expected messages, as a list that is sorted when it is read."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.world = World()
        self.waiting: dict[int, Envelope] = {}
        self.failures: dict[int, int] = {}
        self.users: list[tuple[str | None, User, list[Arrival]]] = []
        self.sent = 0

    def expected(self, selector: str | None = None) -> list[int]:
        order = sorted(self.waiting, key=lambda number: (-self.waiting[number].priority, number))
        return [number for number in order if matches(selector, self.waiting[number])]

    def send(self) -> None:
        for _ in range(self.random.randrange(1, 8)):
            priority = self.random.choice([4, 4, 4, 4, 0, 9, 5])
            envelope = message(self.sent, priority=priority, properties={"n": self.random.randrange(10)})
            self.world.send(envelope)
            self.waiting[self.sent] = envelope
            self.failures[self.sent] = 0
            self.sent += 1

    def join(self) -> None:
        if len(self.users) < 6:
            selector = self.random.choice(SELECTORS)
            self.users.append((selector, self.world.consume(selector=selector, credit=0), []))

    def grant(self) -> None:
        selector, user, held = self.random.choice(self.users)
        count = self.random.randrange(1, 6)
        expected = self.expected(selector)[:count]
        user.grant(count)
        arrivals = user.take()
        user.drain()
        assert [arrival.envelope.body for arrival in arrivals] == expected
        assert [arrival.delivery_count - 1 for arrival in arrivals] == [self.failures[body] for body in expected]
        for body in expected:
            del self.waiting[body]
        held.extend(arrivals)

    def settle(self) -> None:
        _, user, held = self.random.choice(self.users)
        outcome = self.random.choice([Outcome.ACCEPTED, Outcome.RELEASED, Outcome.FAILED])
        chosen = [arrival for arrival in held if self.random.random() < 0.6]
        if chosen:
            user.settle(outcome, *chosen)
            self.returned(chosen, outcome)
            held[:] = [arrival for arrival in held if arrival not in chosen]

    def leave(self) -> None:
        _, user, held = self.users.pop(self.random.randrange(len(self.users)))
        user.close()
        self.returned(held, Outcome.FAILED)

    def returned(self, arrivals: list[Arrival], outcome: Outcome) -> None:
        for arrival in arrivals:
            body: Any = arrival.envelope.body
            if outcome is not Outcome.ACCEPTED:
                self.waiting[body] = arrival.envelope
                self.failures[body] += outcome is Outcome.FAILED

    def step(self) -> None:
        actions = [self.send, self.join]
        if self.users:
            actions += [self.grant, self.grant, self.settle, self.settle]
            if self.random.random() < 0.2:
                actions.append(self.leave)
        self.random.choice(actions)()


@pytest.mark.parametrize("seed", range(12))
def test_random_operations_keep_the_order(seed: int) -> None:
    model = Model(seed)
    for step in range(300):
        model.step()
        if step % 10 == 0:
            assert model.world.browse() == model.expected()
            assert model.world.stored == len(model.waiting) + sum(len(held) for _, _, held in model.users)
    while model.users:
        model.leave()
    final = model.world.consume(credit=10_000)
    assert final.bodies == model.expected()
