"""Helpers of the contract cases: recording tickets and inboxes, and short forms of the verbs."""

import contextlib
import itertools
import threading
import time
from collections.abc import Iterable
from typing import Any

from jmsbridge.spi.backend import Channel, Link, Subscription
from jmsbridge.spi.envelope import Address, Arrival, BodyKind, Envelope, Interest, Outcome
from jmsbridge.spi.errors import BackendError
from jmsbridge.spi.native import Native
from jmsbridge.testing.suite.support import LONG, SHORT

__all__ = [
    "Answer",
    "Box",
    "answered",
    "drain",
    "envelope",
    "fetch",
    "hold",
    "left",
    "peek",
    "release_surplus",
    "send",
    "send_texts_to",
    "settle",
    "subscribe",
]

_numbers = itertools.count(1)


class Answer:
    """A ticket that records every answer, also a second one, which is not allowed."""

    def __init__(self) -> None:
        self.answers: list[BackendError | None] = []
        self._more = threading.Condition()

    def succeed(self) -> None:
        """The broker did it."""
        self._keep(None)

    def fail(self, error: BackendError) -> None:
        """The broker did not."""
        self._keep(error)

    def _keep(self, answer: BackendError | None) -> None:
        with self._more:
            self.answers.append(answer)
            self._more.notify_all()

    def outcome(self, timeout: float = LONG) -> BackendError | None:
        """Wait for the answer: the error, or None for success."""
        with self._more:
            assert self._more.wait_for(lambda: self.answers, timeout), f"no answer within {timeout} s"
            return self.answers[0]

    def is_answered(self, timeout: float) -> bool:
        """Whether it is answered within this time."""
        with self._more:
            return bool(self._more.wait_for(lambda: self.answers, timeout))

    def wait(self, timeout: float = LONG) -> None:
        """Wait for the answer; raise its error, if any."""
        error = self.outcome(timeout)
        if error is not None:
            raise error


def answered(answers: Iterable[Answer], timeout: float) -> bool:
    """Whether all are answered within this time."""
    deadline = time.monotonic() + timeout
    return all(answer.is_answered(max(0.0, deadline - time.monotonic())) for answer in answers)


class Box:
    """An inbox that keeps what arrived, in order."""

    def __init__(self) -> None:
        self.arrivals: list[Arrival] = []
        self._more = threading.Condition()

    def put(self, arrival: Arrival) -> None:
        """Keep it."""
        with self._more:
            self.arrivals.append(arrival)
            self._more.notify_all()

    def put_again(self, arrival: Arrival) -> None:
        """Keep it, unless it is already here."""
        with self._more:
            if not any(each is arrival for each in self.arrivals):
                self.arrivals.append(arrival)
            self._more.notify_all()

    def wait(self, count: int, timeout: float = LONG) -> list[Arrival]:
        """All arrivals, once there are ``count``."""
        with self._more:
            arrived = self._more.wait_for(lambda: len(self.arrivals) >= count, timeout)
            assert arrived, f"{len(self.arrivals)} of {count} messages arrived within {timeout} s"
            return list(self.arrivals)

    def wait_quiet(self) -> None:
        """Wait until nothing has arrived for a short while."""
        with self._more:
            while self._more.wait(SHORT):
                pass

    @property
    def bodies(self) -> list[Any]:
        """The bodies so far."""
        return [arrival.envelope.body for arrival in list(self.arrivals)]

    @property
    def tokens(self) -> list[Any]:
        """The tokens so far."""
        return [arrival.token for arrival in list(self.arrivals)]


def envelope(address: Address, body: Any = "text", kind: BodyKind = BodyKind.TEXT, **fields: Any) -> Envelope:
    """A complete envelope with a new message id and the current time."""
    fields.setdefault("properties", {})
    fields.setdefault("message_id", f"ID:contract-{next(_numbers)}-{time.time_ns()}")
    fields.setdefault("timestamp", time.time_ns() // 1_000_000)
    return Envelope(address=address, kind=kind, body=body, **fields)


def send(channel: Channel, *envelopes: Envelope) -> None:
    """Send all, and wait until each is confirmed."""
    answers = []
    for each in envelopes:
        answers.append(Answer())
        channel.send(each, answers[-1])
    for answer in answers:
        answer.wait()


def send_texts_to(link: Link, address: Address, *texts: str) -> None:
    """Send these texts over a new channel."""
    channel = link.channel(False)
    send(channel, *(envelope(address, text) for text in texts))
    channel.close()


def subscribe(channel: Channel, address: Address, credit: int = 0, **interest: Any) -> tuple[Subscription, Box]:
    """Subscribe, and grant ``credit``."""
    box = Box()
    subscription = channel.subscribe(Interest(address=address, **interest), box)
    if credit:
        subscription.grant(credit)
    return subscription, box


def drain(subscription: Subscription) -> None:
    """Drain, and wait for the answer."""
    answer = Answer()
    subscription.drain(answer)
    answer.wait()


def hold(channel: Channel, address: Address, count: int, **interest: Any) -> tuple[Subscription, Box]:
    """Take ``count`` messages without settling them; the credit is used up."""
    subscription, box = subscribe(channel, address, count, **interest)
    box.wait(count)
    drain(subscription)
    return subscription, box


def settle(subscription: Subscription, tokens: list[Any], outcome: Outcome, failures: int = 1) -> None:
    """Settle, and wait for the answer."""
    answer = Answer()
    subscription.settle(tokens, outcome, answer, failures)
    answer.wait()


def fetch(link: Link, address: Address, count: int, **interest: Any) -> list[Any]:
    """Take ``count`` messages over a new channel, accept them, and return their bodies."""
    channel = link.channel(False)
    subscription, box = subscribe(channel, address, count, **interest)
    arrivals = box.wait(count)
    settle(subscription, box.tokens[:count], Outcome.ACCEPTED)
    drain(subscription)
    release_surplus(subscription, box, count)
    subscription.close()
    channel.close()
    return [arrival.envelope.body for arrival in arrivals[:count]]


def release_surplus(subscription: Subscription, box: Box, settled: int) -> None:
    """Release all but the first ``settled`` arrivals: without CREDIT more than wanted may have come."""
    if box.tokens[settled:]:
        settle(subscription, box.tokens[settled:], Outcome.RELEASED)


def peek(link: Link, address: Address, credit: int = 10, **interest: Any) -> list[Any]:
    """The bodies of all messages that a new consumer gets; they are released."""
    channel = link.channel(False)
    subscription, box = subscribe(channel, address, credit, **interest)
    if Native.DRAIN not in subscription.native:
        box.wait_quiet()
    drain(subscription)
    bodies = box.bodies
    release_surplus(subscription, box, 0)
    subscription.close()
    channel.close()
    return bodies


def left(link: Link, address: Address, expected: list[Any]) -> list[Any]:
    """The bodies of all messages, after the expected ones came and then nothing more; they are released.

    A broker may notice the loss of a link late, so that its messages come late.
    """
    channel = link.channel(False)
    subscription, box = subscribe(channel, address, 100)
    with contextlib.suppress(AssertionError):  # the case compares the result and reports what is missing
        box.wait(len(expected))
    box.wait_quiet()
    drain(subscription)
    bodies = box.bodies
    release_surplus(subscription, box, 0)
    subscription.close()
    channel.close()
    return bodies
