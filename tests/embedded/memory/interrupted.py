"""Signals at random moments of the memory broker's verbs: ``python -m tests.embedded.memory.interrupted SECONDS SEED``.

The main thread sends, settles, grants and drains, while real signals, whose handler raises, arrive at random moments;
other threads consume and send. Then every message is accounted for. A hang ends the process.
"""

import faulthandler
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from jmsbridge.spi import Address, Arrival, BodyKind, Envelope, Interest, Mode, Outcome
from jmsbridge_embedded.memory.broker import Broker
from tests.embedded.memory.auditing import audit
from tests.embedded.memory.support import Events, Reply

__all__ = ["main"]

PATIENCE = 20.0
SHELF = 30
QUEUES = ["plain", "busy", "picked", "grouped", "mine"]


class Interrupt(BaseException):
    """Raised by the handler of one signal."""


class Alarm(Exception):
    """Raised by the other handler: an exception that ``except Exception`` would catch."""


class Signals:
    """Raises in the main thread, a limited number of times per verb, and never outside of one."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.raised = 0
        self._left: list[type[BaseException]] = []
        signal.signal(signal.SIGALRM, self._handle)
        signal.signal(signal.SIGUSR1, self._handle)
        threading.Thread(target=self._pester, args=(threading.get_ident(),), daemon=True).start()

    def _pester(self, main_thread: int) -> None:
        """Send signals from another thread, in addition to those of the timer."""
        draw = random.Random(self.random.random())
        while True:
            time.sleep(draw.random() / 1000)  # sleep: until the next signal
            signal.pthread_kill(main_thread, signal.SIGUSR1)

    def _handle(self, number: int, frame: object) -> None:
        if self._left:
            self.raised += 1
            raise self._left.pop()

    def run(self, verb: Callable[[], object]) -> bool:
        """Call a verb; return whether it was not interrupted, as far as its caller can know."""
        draw = self.random
        kinds: list[type[BaseException]] = draw.choices((Interrupt, Alarm), k=draw.choice((1, 1, 1, 2, 3)))
        delay = draw.choice((4e-6, 1e-5, 2e-5, 4e-5)) * (0.2 + draw.random())
        done = False
        try:
            try:
                try:
                    try:
                        self._left = kinds
                        signal.setitimer(signal.ITIMER_REAL, delay, 3e-5 if len(kinds) > 1 else 0.0)
                        verb()
                        self._left = []
                        done = True
                    except (Interrupt, Alarm):
                        self._left = []
                except (Interrupt, Alarm):
                    self._left = []
            except (Interrupt, Alarm):
                self._left = []
        except (Interrupt, Alarm):
            self._left = []
        signal.setitimer(signal.ITIMER_REAL, 0)
        return done


class Box:
    """An inbox that records everything, in several steps between which a signal may come."""

    def __init__(self) -> None:
        self.log: list[Arrival] = []
        self.taken = 0
        self._lock = threading.Lock()
        self._more = threading.Condition(self._lock)

    def put(self, arrival: Arrival) -> None:
        with self._lock:
            self.log.append(arrival)
            self._more.notify()

    def put_again(self, arrival: Arrival) -> None:
        with self._lock:
            if not self.log or self.log[-1] is not arrival:
                self.log.append(arrival)
            self._more.notify_all()

    def take(self) -> list[Arrival]:
        """The arrivals since the last call."""
        with self._lock:
            new = self.log[self.taken :]
            self.taken += len(new)
            return new

    def wait(self, timeout: float) -> None:
        with self._lock:
            if len(self.log) == self.taken:
                self._more.wait(timeout)


class Taker:
    """A thread that takes messages, requeues some of them, and grants more credit."""

    def __init__(self, broker: Broker, seed: int, **interest: Any) -> None:
        self.random = random.Random(seed)
        self.box = Box()
        self.accepted: list[Any] = []
        self.granted = 0
        self.presettled = bool(interest.get("presettled"))
        self.channel = broker.open(None, Events()).channel(False)
        self.subscription = self.channel.subscribe(Interest(**interest), self.box)
        self.stopped = False
        self.thread = threading.Thread(target=self._work, daemon=True)

    def _work(self) -> None:
        while not self.stopped:
            owed = self.granted - len(self.box.log)
            if owed < 5:
                more = self.random.choice((1, 5, 20))
                self.granted += more
                self.subscription.grant(more)
            self.box.wait(0.01)
            for arrival in self.box.take():
                if self.presettled:
                    self.accepted.append(arrival.envelope.body)
                elif self.random.random() < 0.1:
                    outcome = self.random.choice((Outcome.RELEASED, Outcome.FAILED))
                    self.subscription.settle([arrival.token], outcome)
                else:
                    self.accepted.append(arrival.envelope.body)
                    self.subscription.settle([arrival.token], Outcome.ACCEPTED)


class Run:
    """One broker, the threads beside the main thread, and the record of what the main thread did."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.signals = Signals(seed)
        self.broker = Broker("interrupted")
        link = self.broker.open(None, Events())
        self.channel = link.channel(False)
        self.transaction = link.channel(True)
        self.number = 0
        self.sent: dict[str, set[Any]] = {}
        self.unsure: dict[str, set[Any]] = {}
        self.pending: list[tuple[str, Any, bool]] = []
        news = Address("news", True)
        self.takers = {
            "plain": [self._taker(Address("plain")), self._taker(Address("plain"))],
            "busy": [self._taker(Address("busy"), presettled=True)],
            "picked": [self._taker(Address("picked"), selector=f"kind = '{kind}'") for kind in "abc"]
            + [self._taker(Address("picked"), selector="n > 3")],
            "grouped": [self._taker(Address("grouped")), self._taker(Address("grouped"))],
            "news/all": [self._taker(news)],
            "news/some": [self._taker(news, selector="kind = 'a'")],
            "news/shared": [self._taker(news, key="s", shared=True), self._taker(news, key="s", shared=True)],
        }
        for number in range(SHELF):
            self.channel.send(Envelope(Address("shelf"), BodyKind.TEXT, number, {}, None, 0), None)
        self.box = Box()
        self.mine = self.channel.subscribe(Interest(address=Address("mine")), self.box)
        self.held: list[Arrival] = []
        self.accepted: list[Any] = []

    def _taker(self, address: Address, **interest: Any) -> Taker:
        return Taker(self.broker, self.random.randrange(1 << 30), address=address, **interest)

    # -- what the main thread does

    def surely(self, verb: Callable[[], object]) -> None:
        """Repeat until it succeeds; finally without signals, which might otherwise always interrupt it."""
        for _ in range(3):
            if self.signals.run(verb):
                return
            if self.random.random() < 0.2:
                self.wait_repaired()
        verb()

    def envelope(self, name: str, **fields: Any) -> Envelope:
        self.number += 1
        properties: dict[str, Any] = {"kind": self.random.choice("abc"), "n": self.random.randrange(8)}
        if name == "grouped" and self.random.random() < 0.7:
            properties["JMSXGroupID"] = f"group-{self.random.randrange(5)}"
        if self.random.random() < 0.3:
            fields["priority"] = self.random.randrange(10)
        chance = self.random.random()
        if chance < 0.1:
            fields["delivery_time"] = time.time_ns() // 1_000_000 + self.random.randrange(1, 40)
        elif chance < 0.2:
            fields["expiration"] = time.time_ns() // 1_000_000 + 3_600_000
        address = Address(name, name == "news")
        return Envelope(address, BodyKind.TEXT, self.number, properties, None, 0, **fields)

    def note(self, name: str, envelope: Envelope, done: bool) -> None:
        to = self.sent if done else self.unsure
        body = (envelope.body, envelope.properties["kind"]) if name == "news" else envelope.body
        to.setdefault(name, set()).add(body)

    def send(self) -> None:
        name = self.random.choice([*QUEUES, "news"])
        envelope = self.envelope(name)
        ticket = Reply() if self.random.random() < 0.5 else None
        self.note(name, envelope, self.signals.run(lambda: self.channel.send(envelope, ticket)))

    def send_once(self) -> None:
        """A duplicate id makes a repeated send harmless, whatever the outcome of the first."""
        name = self.random.choice(["plain", "picked", "news"])
        envelope = self.envelope(name, duplicate_id=f"id-{self.number}")
        self.surely(lambda: self.channel.send(envelope, None))
        self.note(name, envelope, True)

    def send_in_transaction(self) -> None:
        name = self.random.choice([*QUEUES, "news"])
        envelope = self.envelope(name)
        self.pending.append((name, envelope, self.signals.run(lambda: self.transaction.send(envelope, None))))
        if len(self.pending) >= 5:
            self.transaction.commit(Reply())
            for sent in self.pending:
                self.note(*sent)
            self.pending = []

    def grant(self) -> None:
        count = self.random.choice((1, 3, 10))
        if not self.signals.run(lambda: self.mine.grant(count)):
            self.drain()
            self.mine.grant(count)

    def drain(self) -> None:
        self.surely(lambda: self.mine.drain(Reply()))

    def settle(self) -> None:
        self.held += self.box.take()
        count = self.random.choice((1, 1, 2, 10))
        some, self.held = self.held[:count], self.held[count:]
        tokens = [arrival.token for arrival in some]
        self.surely(lambda: self.mine.settle(tokens, Outcome.ACCEPTED))
        self.accepted += [arrival.envelope.body for arrival in some]

    def browse(self) -> None:
        """After an interrupted grant the rest is granted again, as the facade does."""
        box, wanted = Box(), list(range(SHELF))
        browser = self.channel.subscribe(Interest(address=Address("shelf"), mode=Mode.BROWSE), box)
        while len(box.log) < SHELF:
            before = len(box.log)
            if not self.signals.run(lambda: browser.grant(20)):
                self.surely(lambda: browser.drain(Reply()))
            elif len(box.log) == before:
                break
        browser.close()
        shown = [arrival.envelope.body for arrival in box.log]
        if shown != wanted:
            raise AssertionError(f"a browser showed {shown}")

    def wait_repaired(self) -> None:
        """Interrupted steps are completed without another verb of this thread."""
        deadline = time.monotonic() + PATIENCE
        while self.broker.state.step is not None:
            if time.monotonic() > deadline:
                raise AssertionError("interrupted steps were not completed")
            time.sleep(0.0001)  # sleep: the lock cannot be used to wait, since taking it completes the steps

    # -- the whole

    def run(self, seconds: float) -> None:
        for taker in (each for takers in self.takers.values() for each in takers):
            taker.thread.start()
        acts = [self.send] * 24 + [self.send_once] * 8 + [self.send_in_transaction] * 8
        acts += [self.settle] * 8 + [self.grant] * 4 + [self.drain] * 4 + [self.browse]
        end = time.monotonic() + seconds
        rounds = 0
        while time.monotonic() < end:
            rounds += 1
            before = self.signals.raised
            self.random.choice(acts)()
            if self.signals.raised > before and rounds % 5 == 0:
                self.wait_repaired()
            if rounds % 20 == 0:
                audit(self.broker)
            if rounds % 200 == 0:
                time.sleep(0.002)  # sleep: lets the other threads run
        self.finish()
        print(f"{rounds} rounds, {self.signals.raised} interrupts, {self.number} messages")

    def finish(self) -> None:
        """Take the remaining messages, and compare."""
        self.wait_repaired()
        if self.pending:
            self.transaction.commit(Reply())
            for sent in self.pending:
                self.note(*sent)
        self.mine.grant(1_000_000)
        deadline = time.monotonic() + PATIENCE
        while True:
            self.held += self.box.take()
            self.mine.settle([arrival.token for arrival in self.held], Outcome.ACCEPTED)
            self.accepted += [arrival.envelope.body for arrival in self.held]
            self.held = []
            if self.broker.state.stored == SHELF or time.monotonic() > deadline:
                break
            time.sleep(0.01)  # sleep: until the other threads have taken their messages
        audit(self.broker)
        for takers in self.takers.values():
            for taker in takers:
                taker.stopped = True
                taker.thread.join(PATIENCE)
        audit(self.broker)
        if self.broker.state.stored != SHELF:
            raise AssertionError(f"{self.broker.state.stored - SHELF} messages wait although consumers have credit")
        self.compare()

    def compare(self) -> None:
        for name in QUEUES:
            takers = self.takers.get(name, [])
            got = self.accepted if name == "mine" else [body for taker in takers for body in taker.accepted]
            self.check(name, got, self.sent.get(name, set()), self.unsure.get(name, set()))
        everybody = {name: [body for t in self.takers[name] for body in t.accepted] for name in
                     ("news/all", "news/some", "news/shared")}  # fmt: skip
        sent, unsure = self.sent.get("news", set()), self.unsure.get("news", set())
        for name, got in everybody.items():
            wanted = {number for number, kind in sent if kind == "a" or name != "news/some"}
            self.check(name, got, wanted, {number for number, kind in unsure if kind == "a" or name != "news/some"})
        seen = {name: set(got) for name, got in everybody.items()}
        for number, kind in unsure:
            copies = {number in got for name, got in seen.items() if kind == "a" or name != "news/some"}
            if len(copies) > 1:
                raise AssertionError(f"message {number} came to some subscriptions only")
        for name, takers in self.takers.items():
            for taker in takers:
                left = taker.granted - len(taker.box.log)
                if taker.subscription.credit != left:  # type: ignore[attr-defined]
                    raise AssertionError(f"{name}: credit {taker.subscription.credit} instead of {left}")  # type: ignore[attr-defined]

    def check(self, name: str, got: list[Any], sent: set[Any], unsure: set[Any]) -> None:
        counts = Counter(got)
        twice = [body for body, count in counts.items() if count > 1]
        lost, strange = sent - set(got), set(got) - sent - unsure
        if name == "picked":  # no consumer wants some of them
            lost = set()
        if twice or lost or strange:
            raise AssertionError(f"{name}: twice {twice[:9]}, lost {sorted(lost)[:9]}, strange {sorted(strange)[:9]}")


def main(arguments: list[str]) -> int:
    seconds, seed = float(arguments[0]), int(arguments[1])
    faulthandler.dump_traceback_later(seconds + 3 * PATIENCE, exit=True)
    sys.setswitchinterval(0.0005)
    Run(seed).run(seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
