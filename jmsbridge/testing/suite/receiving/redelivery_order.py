"""Order and counts after many recoveries, rollbacks and closings, compared with a list: rules AC-6, AC-12 and TX-3."""

import random

import pytest

from jmsbridge import SESSION_TRANSACTED, MessageConsumer, Queue, Session
from jmsbridge.spi.native import Native
from jmsbridge.testing.harness import Harness
from jmsbridge.testing.marks import pitfall, requires, rule
from jmsbridge.testing.suite.receiving.redelivery_support import DEFERRED, deferred_session, delivery, take
from jmsbridge.testing.suite.support import assert_empty, send_texts

_STEPS = 30
_OPTIONS = {"max_redeliveries": 1000, "redelivery_delay": 0}


class _QueueModel:
    """A queue, its one consumer, and its expected content: texts in order, with how often each was delivered."""

    def __init__(self, harness: Harness, sender: Session, prefetch: int | None) -> None:
        self.queue = harness.queue()
        self.waiting: list[str] = []
        self.held: list[str] = []
        self.seen: dict[str, int] = {}
        self._sender = sender
        self._prefetch = prefetch
        # on other brokers the count after a release, or after a change of the consumer, is not exact
        self._counted = Native.DELIVERY_COUNT in harness.native and Native.RELEASE in harness.native

    def consume(self, session: Session) -> None:
        self.consumer: MessageConsumer = session.create_consumer(self.queue, prefetch=self._prefetch)

    def send(self, count: int) -> None:
        texts = [f"{len(self.seen) + number}" for number in range(count)]
        send_texts(self._sender, self.queue, *texts)
        self.seen |= dict.fromkeys(texts, 0)
        self.waiting += texts

    def receive(self) -> None:
        if not self.waiting:
            return
        text = self.waiting.pop(0)
        self.seen[text] += 1
        self.held.append(text)
        got = delivery(take(self.consumer))
        if self._counted:
            assert got == (text, self.seen[text] > 1, self.seen[text])
        else:
            assert got[0] == text

    def end(self, kept: bool) -> None:
        """Delivered messages are acknowledged, or redelivered before all others."""
        if not kept:
            self.waiting = self.held + self.waiting
        self.held = []


class _Simulation:
    """Two queues that one session consumes, and random calls."""

    def __init__(self, harness: Harness, sender: Session, mode: int, prefetch: int | None, seed: int) -> None:
        self.random = random.Random(seed)
        self._harness = harness
        self._mode = mode
        self.lines = [_QueueModel(harness, sender, prefetch) for _ in range(2)]
        self._open()

    def _open(self) -> None:
        self.session = deferred_session(self._harness, self._mode, **_OPTIONS)
        for line in self.lines:
            line.consume(self.session)

    def end(self, kept: bool) -> None:
        if self._mode == SESSION_TRANSACTED:
            (self.session.commit if kept else self.session.rollback)()
        else:
            (self.session.acknowledge if kept else self.session.recover)()
        for line in self.lines:
            line.end(kept)

    def step(self) -> None:
        line = self.random.choice(self.lines)
        call = self.random.choice(["send", "receive", "receive", "receive", "keep", "again", "again", "move", "leave"])
        if call == "send":
            line.send(self.random.randrange(1, 5))
        elif call == "receive":
            line.receive()
        elif call in ("keep", "again"):
            self.end(kept=call == "keep")
        elif call == "move":  # what a closed consumer received is still the session's
            line.consumer.close()
            self.end(kept=self.random.random() < 0.3)
            line.consume(self.session)
        else:
            self.session.close()
            for each in self.lines:
                each.end(kept=False)
            self._open()

    def drain(self) -> None:
        for line in self.lines:
            while line.waiting:
                line.receive()
            assert_empty(line.consumer)


@rule("AC-6", "AC-12", "TX-3")
@pitfall(3, 4, 5)
@pytest.mark.parametrize("mode", DEFERRED)
@pytest.mark.parametrize("prefetch", [None, 1, 0])
@pytest.mark.parametrize("seed", range(2))
def test_redelivery_order_follows_a_plain_list(
    harness: Harness, session: Session, mode: int, prefetch: int | None, seed: int
) -> None:
    """After any recoveries, releases and changes of the consumer, messages come in sending order."""
    run = _Simulation(harness, session, mode, prefetch, seed)
    for _ in range(_STEPS):
        run.step()
    run.drain()
    assert all(line.held == list(line.seen)[len(line.seen) - len(line.held) :] for line in run.lines)


@rule("AC-6", "TX-3")
@pitfall(3)
@pytest.mark.parametrize("mode", DEFERRED)
def test_redelivery_order_over_two_queues(harness: Harness, session: Session, mode: int) -> None:
    """Messages received from two queues in turns are redelivered in the order of each queue, repeatedly."""
    run = _Simulation(harness, session, mode, None, 0)
    for line in run.lines:
        line.send(4)
    for held in (1, 3, 2):
        for _ in range(held):
            for line in run.lines:
                line.receive()
        run.end(kept=False)
        run.lines[0].send(1)
    run.drain()
    assert [len(line.held) for line in run.lines] == [7, 4]


@rule("TX-3", "TX-1")
@pitfall(3, 16)
@requires(Native.TRANSACTIONS)
def test_redelivery_order_of_rolled_back_listeners(harness: Harness, session: Session, queue: Queue) -> None:
    """A listener that rolls back every second attempt gets each message again before the next one."""
    transacted = deferred_session(harness, SESSION_TRANSACTED, **_OPTIONS)
    seen: list[str | None] = []
    done = harness.queue("done")
    producer = transacted.create_producer(done)

    def listener(message: object) -> None:
        text, redelivered, _ = delivery(message)  # type: ignore[arg-type]
        seen.append(text)
        producer.send(transacted.create_text_message(text))
        (transacted.commit if redelivered else transacted.rollback)()

    transacted.create_consumer(queue).message_listener = listener
    send_texts(session, queue, "a", "b", "c")
    results = session.create_consumer(done)
    assert [delivery(take(results))[0] for _ in range(3)] == ["a", "b", "c"]
    assert_empty(results)
    assert seen == ["a", "a", "b", "b", "c", "c"]
