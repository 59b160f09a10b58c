"""Processes that use a broker in a file, for tests that kill them.

Use: ``python -m tests.embedded.file.worker ROLE PATH LOG``.

Each writes a line to its log, with one system call, as soon as it knows an outcome:
``sent ID`` confirmed, ``got ID MARK`` arrived, ``done ID`` settlement or transaction confirmed.
"""

import itertools
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from jmsbridge.spi import (
    Address,
    Arrival,
    BackendError,
    BodyKind,
    Channel,
    Endpoint,
    Envelope,
    Interest,
    Link,
    LinkEvents,
    Outcome,
    Subscription,
)
from jmsbridge_embedded import EmbeddedOptions, backend

__all__ = ["FIRST", "SECOND", "Answer", "Heard", "Inbox", "connect", "message", "receive", "send"]

FIRST = Address("first")
SECOND = Address("second")
_PATIENCE = 60.0


class Answer:
    """A ticket; ``then`` is called with the error, or None, when it is answered."""

    def __init__(self, then: Callable[[BackendError | None], None] | None = None) -> None:
        self.error: BackendError | None = None
        self.done = threading.Event()
        self._then = then

    def succeed(self) -> None:
        self._answer(None)

    def fail(self, error: BackendError) -> None:
        self._answer(error)

    def _answer(self, error: BackendError | None) -> None:
        self.error = error
        self.done.set()
        if self._then is not None:
            self._then(error)

    def wait(self, timeout: float = _PATIENCE) -> None:
        """Raise its error, if any."""
        if not self.done.wait(timeout):
            raise TimeoutError("no answer")
        if self.error is not None:
            raise self.error


class Heard:
    """The events of a link."""

    def __init__(self) -> None:
        self.losses: list[BackendError] = []

    def lost(self, error: BackendError) -> None:
        self.losses.append(error)

    def channel_lost(self, channel: Channel, error: BackendError) -> None:
        self.losses.append(error)

    def subscription_lost(self, subscription: Subscription, error: BackendError) -> None:
        self.losses.append(error)

    def throttled(self, active: bool) -> None:
        """Never."""


class Inbox:
    """Arrivals in order, and the time of each."""

    def __init__(self) -> None:
        self.arrivals: list[Arrival] = []
        self.times: list[float] = []
        self._more = threading.Condition()

    def put(self, arrival: Arrival) -> None:
        with self._more:
            self.times.append(time.monotonic())
            self.arrivals.append(arrival)
            self._more.notify_all()

    def put_again(self, arrival: Arrival) -> None:
        raise AssertionError("the broker's thread calls put, and no signal interrupts it")

    def wait(self, count: int, timeout: float = _PATIENCE) -> list[Arrival]:
        """All arrivals, once there are ``count``."""
        with self._more:
            if not self._more.wait_for(lambda: len(self.arrivals) >= count, timeout):
                raise TimeoutError(f"{len(self.arrivals)} of {count} arrived")
            return list(self.arrivals)

    @property
    def bodies(self) -> list[Any]:
        return [arrival.envelope.body for arrival in list(self.arrivals)]


def connect(
    path: object,
    events: LinkEvents | None = None,
    client_id: str | None = None,
    timeout: float = 15.0,
    **options: Any,
) -> Link:
    """A link of this process."""
    endpoint = Endpoint(scheme="embedded", path=str(path), client_id=client_id, connect_timeout=timeout)
    return backend.open(endpoint, EmbeddedOptions(**options), events or Heard())


def message(body: str, to: Address = FIRST, **fields: Any) -> Envelope:
    """A text message."""
    properties = fields.pop("properties", {})
    return Envelope(to, BodyKind.TEXT, body, properties, f"ID:{body}", time.time_ns() // 1_000_000, **fields)


def send(channel: Channel, *envelopes: Envelope) -> None:
    """Send and wait for the confirmations."""
    answers = []
    for envelope in envelopes:
        answers.append(Answer())
        channel.send(envelope, answers[-1])
    for answer in answers:
        answer.wait()


def receive(link: Link, address: Address = FIRST, credit: int = 1_000_000, **interest: Any) -> list[Arrival]:
    """Receive and accept all messages."""
    channel = link.channel(False)
    box = Inbox()
    subscription = channel.subscribe(Interest(address=address, **interest), box)
    subscription.grant(credit)
    drained = Answer()
    subscription.drain(drained)
    drained.wait()
    settled = Answer()
    subscription.settle([arrival.token for arrival in box.arrivals], Outcome.ACCEPTED, settled)
    settled.wait()
    subscription.close()
    channel.close()
    return box.arrivals


class _Work:
    """The common part of the roles."""

    def __init__(self, path: str, log: str) -> None:
        self.link = connect(path)
        self.log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self.note("up")
        self.names = (f"{os.getpid()}-{time.time_ns()}-{number}" for number in itertools.count())

    def note(self, *words: object) -> None:
        os.write(self.log, f"{' '.join(map(str, words))}\n".encode())

    def produce(self) -> None:
        """Send, with up to 50 pending answers."""
        channel, room = self.link.channel(False), threading.Semaphore(50)

        def sent(name: str, error: BackendError | None) -> None:
            if error is None:
                self.note("sent", name)
            room.release()

        for name in self.names:
            room.acquire(timeout=_PATIENCE)
            channel.send(message(name), Answer(lambda error, name=name: sent(name, error)))  # type: ignore[misc]

    def commit(self) -> None:
        """Send five at a time, in transactions."""
        channel = self.link.channel(True)
        while True:
            names = list(itertools.islice(self.names, 5))
            send(channel, *(message(f"{name}+{names[0]}") for name in names))
            done = Answer()
            channel.commit(done)
            done.wait()
            for name in names:
                self.note("sent", f"{name}+{names[0]}")

    def relay(self) -> None:
        """Move from the first queue to the second, in transactions."""
        channel, box = self.link.channel(True), Inbox()
        subscription = channel.subscribe(Interest(address=FIRST, deferred=True), box)
        subscription.grant(20)
        for count in itertools.count(1):
            arrival = box.wait(count, 3600.0)[count - 1]
            send(channel, message(arrival.envelope.body, SECOND))
            subscription.settle([arrival.token], Outcome.ACCEPTED)
            done = Answer()
            channel.commit(done)
            done.wait()
            self.note("moved", arrival.envelope.body)
            subscription.grant(1)

    def consume(self) -> None:
        """Take from the second queue."""
        channel, box = self.link.channel(False), Inbox()
        subscription = channel.subscribe(Interest(address=SECOND), box)
        subscription.grant(20)
        for count in itertools.count(1):
            arrival = box.wait(count, 3600.0)[count - 1]
            self.note("got", arrival.envelope.body, "again" if arrival.redelivered else "first")
            done = Answer()
            subscription.settle([arrival.token], Outcome.ACCEPTED, done)
            done.wait()
            self.note("done", arrival.envelope.body)
            subscription.grant(1)

    def hold(self) -> None:
        """Take ten from the first queue and keep them."""
        channel, box = self.link.channel(False), Inbox()
        subscription = channel.subscribe(Interest(address=FIRST), box)
        subscription.grant(10)
        box.wait(10)
        self.note("holding")
        time.sleep(3600.0)  # sleep: until it is killed

    def idle(self) -> None:
        """Wait for messages on an empty queue; log when some come."""
        channel, box = self.link.channel(False), Inbox()
        channel.subscribe(Interest(address=FIRST), box).grant(1000)
        self.note("ready")
        for count in itertools.count(1):
            box.wait(count, 3600.0)
            self.note("at", box.times[count - 1])

    def expire(self) -> None:
        """Be a consumer without credit that names an expiry queue."""
        self.link.channel(False).subscribe(Interest(address=FIRST, expired="late"), Inbox())
        self.note("ready")
        time.sleep(3600.0)  # sleep: until it is killed

    def client(self) -> None:
        """Keep a client id and an unshared durable subscription."""
        self.link = connect(self.path, client_id="one")
        self.link.channel(False).subscribe(Interest(address=Address("news", True), key="sub", durable=True), Inbox())
        self.note("ready")
        time.sleep(3600.0)  # sleep: until it is killed

    def temporary(self) -> None:
        """Keep a temporary queue."""
        made = self.link.declare(Address("answers", temporary=True))
        self.note("made", made.name)
        time.sleep(3600.0)  # sleep: until it is killed

    path = ""


def _main() -> None:
    role, path, log = sys.argv[1:4]
    _Work.path = path
    getattr(_Work(path, log), role)()


if __name__ == "__main__":
    _main()
