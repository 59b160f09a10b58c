"""A broker with a clock that the test moves, and minimal inboxes and tickets that record their calls."""

import threading
from collections.abc import Sequence
from typing import Any

from jmsbridge.spi import (
    Address,
    Arrival,
    BackendError,
    BodyKind,
    Channel,
    Envelope,
    Interest,
    Mode,
    Outcome,
    Subscription,
)
from jmsbridge_embedded.memory.broker import Broker
from jmsbridge_embedded.memory.link import Link

__all__ = ["DEADLINE", "Box", "Events", "Reply", "User", "World", "bodies", "message", "queue", "topic"]

DEADLINE = 10.0


def queue(name: str = "orders") -> Address:
    return Address(name)


def topic(name: str = "news") -> Address:
    return Address(name, True)


def message(body: Any, to: Address | None = None, **fields: Any) -> Envelope:
    properties = fields.pop("properties", {})
    return Envelope(to or queue(), BodyKind.TEXT, body, properties, f"ID:{body}", 0, **fields)


class Reply:
    """A ticket; a second answer would be an error of the broker."""

    def __init__(self) -> None:
        self.answers: list[BackendError | None] = []

    def succeed(self) -> None:
        self.answers.append(None)

    def fail(self, error: BackendError) -> None:
        self.answers.append(error)

    @property
    def error(self) -> BackendError | None:
        assert len(self.answers) == 1
        return self.answers[0]


class Box:
    """An inbox."""

    def __init__(self, expected: int = 0) -> None:
        self.arrivals: list[Arrival] = []
        self.full = threading.Event()
        self._expected = expected

    def put(self, arrival: Arrival) -> None:
        self.arrivals.append(arrival)
        if len(self.arrivals) == self._expected:
            self.full.set()

    def put_again(self, arrival: Arrival) -> None:
        if not any(each is arrival for each in self.arrivals):
            self.put(arrival)

    @property
    def bodies(self) -> list[Any]:
        return bodies(self.arrivals)


def bodies(arrivals: Sequence[Arrival]) -> list[Any]:
    return [arrival.envelope.body for arrival in arrivals]


class Events:
    """The events of a link."""

    def __init__(self) -> None:
        self.losses: list[BackendError] = []

    def lost(self, error: BackendError) -> None:
        self.losses.append(error)

    def channel_lost(self, channel: Channel, error: BackendError) -> None:
        raise AssertionError("the embedded broker ends no single channel")

    def subscription_lost(self, subscription: Subscription, error: BackendError) -> None:
        raise AssertionError("the embedded broker ends no single subscription")

    def throttled(self, active: bool) -> None:
        raise AssertionError("the embedded broker does not throttle")


class User:
    """One subscription with its inbox."""

    def __init__(self, channel: Channel, interest: Interest, credit: int) -> None:
        self.box = Box()
        self.subscription = channel.subscribe(interest, self.box)
        if credit:
            self.subscription.grant(credit)

    @property
    def bodies(self) -> list[Any]:
        return self.box.bodies

    @property
    def last(self) -> Arrival:
        return self.box.arrivals[-1]

    def take(self) -> list[Arrival]:
        """The arrivals since the last call."""
        arrived, self.box.arrivals = self.box.arrivals, []
        return arrived

    def settle(self, outcome: Outcome, *arrivals: Arrival, failures: int = 1) -> None:
        """Settle these tokens, or those of all arrivals."""
        reply = Reply()
        tokens = [arrival.token for arrival in arrivals or self.box.arrivals]
        self.subscription.settle(tokens, outcome, reply, failures)
        assert reply.error is None

    def grant(self, count: int) -> None:
        self.subscription.grant(count)

    def drain(self) -> None:
        reply = Reply()
        self.subscription.drain(reply)
        assert reply.error is None

    def close(self) -> None:
        self.subscription.close()


class World:
    """A new broker with a clock that the test moves, one link and one channel."""

    def __init__(self, **limits: int) -> None:
        self.now = 1_000_000
        self.broker = Broker("test", clock=lambda: self.now, threaded=False)
        self.limits = limits
        self.link = self.connect()
        self.channel = self.link.channel(False)

    def connect(self, client_id: str | None = None, events: Events | None = None) -> Link:
        return self.broker.open(client_id, events or Events(), **self.limits)

    def later(self, milliseconds: int) -> None:
        self.now += milliseconds
        self.broker.tick()

    def send(self, *envelopes: Envelope, channel: Channel | None = None) -> None:
        for envelope in envelopes:
            reply = Reply()
            (channel or self.channel).send(envelope, reply)
            assert reply.error is None

    def send_bodies(self, *values: Any, to: Address | None = None, **fields: Any) -> None:
        self.send(*(message(value, to, **fields) for value in values))

    def refused(self, envelope: Envelope, channel: Channel | None = None) -> BackendError:
        reply = Reply()
        (channel or self.channel).send(envelope, reply)
        assert reply.error is not None
        return reply.error

    def consume(
        self, address: Address | None = None, credit: int = 100, channel: Channel | None = None, **fields: Any
    ) -> User:
        return User(channel or self.channel, Interest(address=address or queue(), **fields), credit)

    def browse(self, address: Address | None = None, credit: int = 1000, selector: str | None = None) -> list[Any]:
        browser = self.consume(address, credit, mode=Mode.BROWSE, selector=selector)
        browser.drain()
        browser.close()
        return browser.bodies

    def finish(self, channel: Channel, commit: bool = True) -> BackendError | None:
        reply = Reply()
        (channel.commit if commit else channel.rollback)(reply)
        return reply.error

    @property
    def stored(self) -> int:
        return self.broker.state.stored
