"""Any sequence of grants, drains and settlements: credit is respected, no message stalls, is lost or duplicated."""

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from integration.lab.broker import Broker
from integration.rabbitmq.support import Client
from jmsbridge.spi import Address, Outcome
from jmsbridge.testing.suite.contract.support import drain, settle
from jmsbridge.testing.suite.support import eventually
from jmsbridge_rabbitmq import RabbitOptions

Clients = Callable[..., Client]

MESSAGES = 120


class Walk:
    """One subscription with random calls, and the conditions that hold after each."""

    def __init__(self, client: Client, address: Address, seed: int, window: int, deferred: bool, exact: bool) -> None:
        self.random = random.Random(seed)
        self.exact = exact
        self.subscription, self.box = client.consume(address, window=window, deferred=deferred)
        self.granted = 0
        self.settled = 0
        self.done: Counter[str] = Counter()

    def check(self) -> None:
        """Check that no more messages have come than the credit allows."""
        assert len(self.box.arrivals) <= self.granted

    def unsettled(self) -> list[Any]:
        """The unsettled arrivals, in order."""
        return self.box.arrivals[self.settled :]

    def step(self) -> None:
        """One verb."""
        self.check()
        verb = self.random.choice(["grant", "grant", "accept", "accept", "fail", "drain", "settle and drain"])
        if verb == "grant":
            self.grant(self.random.randint(1, 9))
        elif verb == "accept":
            self.settle(Outcome.ACCEPTED)
        elif verb == "fail":
            self.settle(Outcome.FAILED if self.random.random() < 0.5 else Outcome.RELEASED, 3)
        else:
            if verb == "settle and drain":
                self.settle(Outcome.ACCEPTED)
            drain(self.subscription)
            self.granted = len(self.box.arrivals)
        self.check()

    def grant(self, count: int) -> None:
        """Grant credit."""
        self.granted += count
        self.subscription.grant(count)

    def settle(self, outcome: Outcome, most: int = 50) -> None:
        """Settle some of the arrivals, with or without waiting."""
        part = self.unsettled()[: self.random.randint(0, most)]
        if not part:
            return
        self.settled += len(part)
        tokens = [arrival.token for arrival in part]
        if outcome is Outcome.ACCEPTED:
            self.done.update(arrival.envelope.body for arrival in part)
        if self.random.random() < 0.5:
            settle(self.subscription, tokens, outcome)
        else:
            self.subscription.settle(tokens, outcome)

    def finish(self) -> None:
        """Take the remaining messages."""

        def over() -> bool:
            part = self.unsettled()
            if part:
                self.settled += len(part)
                self.done.update(arrival.envelope.body for arrival in part)
                self.subscription.settle([arrival.token for arrival in part], Outcome.ACCEPTED)
            if self.granted - len(self.box.arrivals) < 5:
                self.grant(5)
            return len(self.done) == MESSAGES

        eventually(over, 20.0)
        if self.exact:
            drain(self.subscription)


@pytest.mark.timeout(180)
@pytest.mark.parametrize("kind", ["classic", "quorum"])
@pytest.mark.parametrize("deferred", [False, True], ids=["prompt", "deferred"])
@pytest.mark.parametrize("window", [0, 1, 3, 250])
def test_any_sequence_of_verbs(
    broker: Broker, clients: Clients, name: str, window: int, deferred: bool, kind: str
) -> None:
    options = RabbitOptions(queue_type="quorum") if kind == "quorum" else RabbitOptions()
    client = clients(broker, options=options)
    client.send(Address(f"{name}-limit"), "opens the way")
    for seed in range(4):
        address = Address(f"{name}-{seed}")
        arguments = {"x-queue-type": kind} | ({"x-delivery-limit": -1} if kind == "quorum" else {})
        broker.admin.put(f"/api/queues/%2F/{address.name}", {"durable": True, "arguments": arguments})
        client.send(address, *(str(number) for number in range(MESSAGES)))
        walk = Walk(client, address, seed, window, deferred, exact=kind == "classic")
        for _ in range(60):
            walk.step()
        if seed % 2:
            walk.subscription.close()  # closed in any state; another one continues
            done, walk = walk.done, Walk(client, address, seed, window, deferred, exact=kind == "classic")
            walk.done = done
        walk.finish()
        walk.subscription.close()
        assert set(walk.done.values()) == {1}, [body for body, count in walk.done.items() if count != 1]
        assert client.link.depth(address) == 0
        assert not client.log.subscriptions
        assert not client.log.losses
