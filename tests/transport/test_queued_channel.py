"""The frame of a channel whose verbs wait in one queue: order, refusals, cancelled sends, and a close that waits."""

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from jmsbridge.spi import (
    Address,
    AddressRefused,
    BackendError,
    ChannelLost,
    Endpoint,
    Envelope,
    LinkLost,
    NotSupported,
    SendCancelled,
    SendRefused,
    Ticket,
)
from jmsbridge.testing.harness import LinkLog
from jmsbridge.testing.suite.contract.support import Answer, envelope
from jmsbridge.testing.suite.support import eventually
from jmsbridge.transport.network.link_life import Done, LinkLife
from jmsbridge.transport.queued_channel import Command, QueuedChannel

QUEUE = Address("q")


class Item:
    """A message, and the ticket of its send."""

    def __init__(self, body: str, ticket: Ticket | None) -> None:
        self.body = body
        self.ticket = ticket

    def fail(self, error: BackendError) -> None:
        if self.ticket is not None:
            self.ticket.fail(error)


class Wire:
    """A link without a socket."""

    def __init__(self) -> None:
        self.life = LinkLife("jmsbridge-test-io", "Acme", Endpoint(scheme="acme", host="h"), LinkLog(), self)

    def batch(self, task: Callable[[], None]) -> None:
        task()

    def explain(self, error: BaseException) -> LinkLost:
        return LinkLost(str(error))

    def answer_all(self) -> None: ...

    def break_off(self, error: BaseException) -> None:
        self.life.thread.stop()

    def silence(self) -> float:
        return 0.0


class Transaction:
    """One whose end is asked for."""

    def __init__(self, channel: "Channel") -> None:
        self.is_ending = False
        self._channel = channel

    def commit(self, ticket: Ticket) -> None:
        self._channel.did.append("commit")
        self.is_ending = True
        self._channel.committing = ticket

    def rollback(self, ticket: Ticket) -> None:
        self._channel.did.append("rollback")
        ticket.succeed()


class Channel(QueuedChannel[Item, Transaction]):
    """Takes messages while it is open."""

    def __init__(self, life: LinkLife) -> None:
        super().__init__(life)
        self.did: list[str] = []
        self.is_open = True
        self.committing: Ticket | None = None

    def _encode(self, envelope: Envelope, ticket: Ticket | None) -> Item:
        if not isinstance(envelope.body, str):
            raise ValueError("a body that does not fit")
        if envelope.address.topic:
            raise AddressRefused("no topics")
        return Item(envelope.body, ticket)

    def _serve(self, items: deque[Item | Command]) -> None:
        while items and self.is_open and not (self.transaction is not None and self.transaction.is_ending):
            item = items.popleft()
            if isinstance(item, Command):
                item.run()
            else:
                self.did.append(item.body)
                if item.ticket is not None:
                    item.ticket.succeed()

    def _cancel(self, message: Item) -> None:
        message.fail(SendCancelled(message.body))

    def _finish(self, done: Done) -> None:
        self.did.append("closed")
        self._lost = ChannelLost("closed")
        done(None, None)

    def on_thread(self, task: Callable[[], Any]) -> None:
        """Run this on the I/O thread, and wait for it."""
        self._life.wait(lambda done: done(task(), None), "a step of the test")

    def go_on(self) -> None:
        self.on_thread(self._go_on)


@pytest.fixture
def channel() -> Iterator[Channel]:
    wire = Wire()
    wire.life.open(lambda done: done(None, None))
    yield Channel(wire.life)
    wire.life.thread.post(lambda: wire.life.die(ConnectionError("the test is over")))
    wire.life.thread.join(5)


def _send(channel: Channel, *bodies: str) -> list[Answer]:
    answers = [Answer() for _ in bodies]
    for body, answer in zip(bodies, answers, strict=True):
        channel.send(envelope(QUEUE, body), answer)
    return answers


def test_all_verbs_keep_their_order(channel: Channel) -> None:
    channel.transaction = Transaction(channel)
    channel.is_open = False
    _send(channel, "a")
    channel.put(None, lambda: channel.did.append("settled"))
    committed, rolled_back = Answer(), Answer()
    channel.commit(committed)
    (last,) = _send(channel, "b")
    channel.rollback(rolled_back)
    channel.go_on()
    assert channel.did == []
    channel.is_open = True
    channel.go_on()
    assert channel.did == ["a", "settled", "commit"]
    channel.transaction.is_ending = False
    channel.go_on()
    assert channel.did == ["a", "settled", "commit", "b", "rollback"]
    assert (last.outcome(), rolled_back.outcome()) == (None, None)


def test_what_cannot_be_sent_is_refused_at_once(channel: Channel) -> None:
    answer = Answer()
    channel.send(envelope(QUEUE, 1), answer)
    assert type(answer.outcome()) is SendRefused
    with pytest.raises(SendRefused, match="queue:q: a body"):
        channel.send(envelope(QUEUE, 1), None)
    with pytest.raises(AddressRefused, match="no topics"):
        channel.send(envelope(Address("q", topic=True)), None)
    for verb in (channel.commit, channel.rollback):
        answer = Answer()
        verb(answer)
        assert type(answer.outcome()) is NotSupported


def test_only_what_waits_is_cancelled(channel: Channel) -> None:
    (sent,) = _send(channel, "sent")
    sent.wait()
    channel.is_open = False
    first, second = _send(channel, "first", "second")
    channel.cancel([sent, first])
    assert type(first.outcome()) is SendCancelled
    channel.is_open = True
    channel.go_on()
    assert second.outcome() is None
    assert channel.did == ["sent", "second"]


def test_a_close_waits_for_the_queue(channel: Channel) -> None:
    channel.is_open = False
    (waiting,) = _send(channel, "waits")
    over: list[object] = []
    channel.on_thread(lambda: channel.finish(lambda *answer: over.append(answer)))
    assert over == []
    channel.is_open = True
    channel.go_on()
    assert channel.did == ["waits", "closed"]
    assert (waiting.outcome(), over) == (None, [(None, None)])
    channel.close()
    channel.close()
    with pytest.raises(ChannelLost):
        channel.check()
    (late,) = _send(channel, "late")
    assert type(late.outcome()) is ChannelLost
    with pytest.raises(ChannelLost):
        channel.send(envelope(QUEUE), None)


def test_the_loss_of_the_link_answers_all(channel: Channel) -> None:
    channel.is_open = False
    (waiting,) = _send(channel, "waits")
    life = channel._life
    life.when_lost.append(channel._box.refuse_all)
    life.thread.post(lambda: life.die(ConnectionError("cut")))
    error = waiting.outcome()
    assert type(error) is LinkLost
    assert not error.in_doubt
    eventually(lambda: life.is_over)
    (late,) = _send(channel, "late")
    assert type(late.outcome()) is LinkLost
