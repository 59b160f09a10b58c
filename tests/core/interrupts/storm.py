"""A program that signal handlers interrupt all the time; it records every result that it gets.

``python storm.py URL SECONDS SEED`` works on a broker in the main thread, while a timer's signals make a handler raise
in the middle of jmsbridge's own code, thousands of times. Meanwhile, threads of the same process send and listen on the
same connection. In the end every confirmed message must have come exactly once, every transaction must be complete or
absent, the threads must have worked, and everything must close. Prints one line; if something is wrong, it prints the
mistakes and exits with 1.
"""

import faulthandler
import os
import random
import signal
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import jmsbridge
from jmsbridge import (
    AUTO_ACKNOWLEDGE,
    CLIENT_ACKNOWLEDGE,
    DUPS_OK_ACKNOWLEDGE,
    INDIVIDUAL_ACKNOWLEDGE,
    SESSION_TRANSACTED,
    Connection,
    InDoubt,
    JMSError,
    Session,
    TransactionRolledBackException,
)

__all__ = ["Storm"]

_MODES = {
    "auto": AUTO_ACKNOWLEDGE,
    "dups": DUPS_OK_ACKNOWLEDGE,
    "client": CLIENT_ACKNOWLEDGE,
    "individual": INDIVIDUAL_ACKNOWLEDGE,
    "transacted": SESSION_TRANSACTED,
}
_LONGEST = (0.001, 0.01)  # seconds between two signals: few calls complete, or most of them
_STUCK = 20.0  # seconds without the end of a call, after which the program prints all stacks and ends


class Interrupted(Exception):
    """Raised by the handler, alternating with KeyboardInterrupt."""


class Storm:
    """The signals, at random times; the handler raises only while code of jmsbridge runs."""

    def __init__(self, draw: random.Random) -> None:
        self._draw = draw
        self.raised = 0
        self.on = False

    def start(self) -> None:
        """Start the signals."""
        signal.signal(signal.SIGALRM, self._handle)
        self.on = True
        self._arm()

    def stop(self) -> None:
        """No more."""
        self.on = False
        signal.setitimer(signal.ITIMER_REAL, 0)

    def _arm(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, self._draw.uniform(0.000_01, self._draw.choice(_LONGEST)))

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if not self.on:
            return
        self._arm()
        outermost = ""
        while frame is not None:
            module = frame.f_globals.get("__name__", "")
            outermost = module if "jmsbridge" in module else outermost
            frame = frame.f_back
        if outermost and not outermost.startswith("jmsbridge.messages"):  # reading a message is not a call of a session
            self.raised += 1
            raise (KeyboardInterrupt if self.raised % 2 else Interrupted)


_INTERRUPTS = (KeyboardInterrupt, Interrupted)


class Ledger:
    """The known state of each message; ``mistakes`` lists violations."""

    def __init__(self) -> None:
        self.confirmed: set[str] = set()
        self.unknown: set[str] = set()
        self.undone: set[str] = set()
        self.done: Counter[str] = Counter()
        self.seen: Counter[str] = Counter()
        self.mistakes: list[str] = []

    def check(self) -> None:
        """Compare at the end, after the last message was received."""
        lost = self.confirmed - set(self.seen)
        if lost:
            self.mistakes.append(f"{len(lost)} confirmed messages were lost: {sorted(lost)[:5]}")
        foreign = set(self.seen) - self.confirmed - self.unknown
        if foreign:
            self.mistakes.append(f"{len(foreign)} came without having been sent: {sorted(foreign)[:5]}")
        twice = [name for name, count in self.done.items() if count > 1]
        if twice:
            self.mistakes.append(f"{len(twice)} were settled and came again: {twice[:5]}")


class Worker:
    """One session of the main thread, with its own queue."""

    def __init__(self, connection: Connection, mode: str, draw: random.Random, name: str) -> None:
        self.ledger = Ledger()
        self.mode = mode
        self._connection = connection
        self._draw = draw
        self._name = f"{name}-{mode}"
        self._count = 0
        self._sent: list[str] = []  # in the open transaction
        self._held: list[str] = []  # received and not settled
        self._messages: list[Any] = []
        self._clouded = False  # an interrupted commit or acknowledge, whose outcome the next call reports
        self.session: Session | None = None
        self._producer: Any = None
        self._consumer: Any = None

    # ---- calls that may be interrupted

    def _open(self) -> None:
        self._producer = self._consumer = None
        session = self._connection.create_session(session_mode=_MODES[self.mode])
        self.session = session
        queue = session.create_queue(self._name)
        self._producer = session.create_producer(queue)
        self._consumer = session.create_consumer(queue)

    def step(self) -> None:
        """Do something."""
        if self.session is None or self._consumer is None:
            self._reopen()
            return
        choice = self._draw.random()
        if self._clouded:
            self._end()
        elif choice < 0.35:
            self._send()
        elif choice < 0.9:
            self._receive()
        elif choice < 0.99:
            self._end()
        elif choice < 0.995:
            self._undo()
        else:
            self._close()

    def _send(self) -> None:
        self._count += 1
        name = f"{self._name}-{self._count}"
        self.ledger.unknown.add(name)
        try:
            if self.mode != "transacted" and self._draw.random() < 0.3:
                future = self._producer.send_async(name)
                future.result(30)
            else:
                self._producer.send(name)
        except _INTERRUPTS:
            return  # the outcome is unknown
        if self.mode == "transacted":
            self._sent.append(name)
        else:
            self._confirm([name])

    def _confirm(self, names: list[str]) -> None:
        self.ledger.confirmed.update(names)
        self.ledger.unknown.difference_update(names)

    def _receive(self) -> None:
        try:
            message = self._consumer.receive(timeout=self._draw.choice((0, 0.001, 0.01)))
        except _INTERRUPTS:
            return  # the outcome is unknown
        if message is None:
            return
        name = str(message.get_body(str))
        self.ledger.seen[name] += 1
        if name in self.ledger.undone:
            self.ledger.mistakes.append(f"{name} came although its transaction was rolled back")
        if self.mode in ("auto", "dups"):
            self.ledger.done[name] += 1
        elif self.ledger.done[name]:
            self.ledger.mistakes.append(f"{name} came again after it was acknowledged")
        self._held.append(name)
        self._messages.append(message)

    def _end(self) -> None:
        """Acknowledge or commit."""
        if self.mode == "transacted":
            self._commit()
        elif self.mode in ("client", "individual") and self._messages:
            self._acknowledge()
        else:
            self._forget()

    def _acknowledge(self) -> None:
        assert self.session is not None
        try:
            self.session.acknowledge()
        except _INTERRUPTS:
            self._clouded = True
            return
        self._clouded = False
        self.ledger.done.update(set(self._held))
        self._forget()

    def _commit(self) -> None:
        assert self.session is not None
        try:
            self.session.commit()
        except _INTERRUPTS:
            self._clouded = True
            return
        except InDoubt:
            self.ledger.unknown.update(self._sent)
            self._forget()
            return
        except TransactionRolledBackException:
            self._rolled_back()
            return
        self._clouded = False
        self._confirm(self._sent)
        self.ledger.done.update(set(self._held))
        self._forget()

    def _rolled_back(self) -> None:
        self.ledger.undone.update(self._sent)
        self._forget()

    def _forget(self) -> None:
        self._clouded = False
        self._sent, self._held, self._messages = [], [], []

    def _undo(self) -> None:
        assert self.session is not None
        try:
            if self.mode == "transacted":
                self.session.rollback()
            else:
                self.session.recover()
        except _INTERRUPTS:
            self._cloud_undo()
            return
        except TransactionRolledBackException:
            pass  # from an interrupted commit before; the transaction is rolled back nevertheless
        self._rolled_back()

    def _cloud_undo(self) -> None:
        # an interrupted rollback continues in the background; the next call waits for it
        for _ in range(1000):
            try:
                assert self.session is not None
                self.session.rollback() if self.mode == "transacted" else self.session.recover()
            except _INTERRUPTS:
                continue  # tried again
            break
        self._rolled_back()

    def _close(self) -> None:
        session, self.session = self.session, None
        while session is not None:
            try:
                session.close()
            except _INTERRUPTS:
                continue  # tried again
            except JMSError:
                pass  # the error of the call that was in progress; the session is closed
            break
        self._closed()

    def _closed(self) -> None:
        if self.mode == "transacted":
            if self._clouded:  # the commit may have taken effect before the close
                self.ledger.unknown.update(self._sent)
                self._sent = []
            self.ledger.undone.update(self._sent)
        self._forget()

    def _reopen(self) -> None:
        if self.session is not None:
            self._close()
        try:
            self._open()
        except _INTERRUPTS:
            return  # the outcome is unknown

    # ---- the end, without signals

    def finish(self) -> None:
        """Receive the remaining messages."""
        if self._clouded:
            self._end()
        if self.session is not None:
            self._close()
        session = self._connection.create_session()
        consumer = session.create_consumer(session.create_queue(self._name))
        quiet = 0
        while quiet < 3:
            message = consumer.receive(timeout=0.5)
            quiet = 0 if message is not None else quiet + 1
            if message is not None:
                self.ledger.seen[str(message.get_body(str))] += 1
                self.ledger.done[str(message.get_body(str))] += 1
                if str(message.get_body(str)) in self.ledger.undone:
                    self.ledger.mistakes.append(
                        f"{message.get_body(str)!s} came although its transaction was rolled back"
                    )
        session.close()
        self.ledger.check()


class Neighbour:
    """A sender and a listener in other threads on the same connection, which the signals must not affect."""

    def __init__(self, connection: Connection, name: str) -> None:
        self._queue = f"{name}-neighbour"
        self._connection = connection
        self._stop = threading.Event()
        self.sent = 0
        self.heard: list[str] = []
        self._thread = threading.Thread(target=self._run)

    def start(self) -> None:
        """Begin."""
        session = self._connection.create_session()
        consumer = session.create_consumer(session.create_queue(self._queue))
        consumer.message_listener = lambda message: self.heard.append(str(message.get_body(str)))
        self._thread.start()

    def _run(self) -> None:
        session = self._connection.create_session()
        producer = session.create_producer(session.create_queue(self._queue))
        while not self._stop.wait(0.002):
            producer.send(str(self.sent))
            self.sent += 1

    def mistakes(self) -> Iterator[str]:
        """Mistakes, after the end."""
        self._stop.set()
        self._thread.join(30)
        if self._thread.is_alive():
            yield "the other thread's sender is stuck"
        deadline = time.monotonic() + 30
        while len(self.heard) < self.sent and time.monotonic() < deadline:
            time.sleep(0.01)  # sleep: the listener is on a thread of its own
        if self.heard != [str(number) for number in range(self.sent)]:
            yield f"the other thread's listener got {len(self.heard)} of {self.sent}, or not in order"


def _watch(steps: list[int]) -> None:
    last, since = -1, time.monotonic()
    while True:
        time.sleep(0.5)  # sleep: a watchdog
        if steps[0] != last:
            last, since = steps[0], time.monotonic()
        elif time.monotonic() - since > _STUCK:
            print(f"stuck in step {last}", flush=True)
            faulthandler.dump_traceback(sys.stdout)
            os._exit(2)


def _surely(call: Callable[[], Any]) -> None:
    while True:
        try:
            call()
        except _INTERRUPTS:
            continue  # tried again, or replaced by another step
        return


def main(url: str, seconds: float, seed: int) -> int:
    """Run it."""
    warnings.simplefilter("ignore")
    draw = random.Random(seed)
    storm = Storm(draw)
    name = f"storm{seed}"
    steps = [0]
    threading.Thread(target=_watch, args=(steps,), daemon=True).start()
    connection = jmsbridge.connect(url, max_redeliveries=1_000_000, redelivery_delay=0)
    connection.start()
    neighbour = Neighbour(connection, name)
    neighbour.start()
    workers = [Worker(connection, mode, draw, name) for mode in _MODES]
    begun = time.monotonic()
    storm.start()
    while time.monotonic() - begun < seconds:
        steps[0] += 1
        try:
            draw.choice(workers).step()
        except _INTERRUPTS:
            continue  # tried again, or replaced by another step
    storm.stop()
    for worker in workers:
        steps[0] += 1
        worker.finish()
    steps[0] += 1
    mistakes = [f"{one.mode}: {text}" for one in workers for text in one.ledger.mistakes] + list(neighbour.mistakes())
    storm.start()
    _surely(connection.close)
    storm.stop()
    done = sum(sum(one.ledger.done.values()) for one in workers)
    print(
        f"{url.split(':')[0]} seed {seed}: {storm.raised} raised in {steps[0]} calls, {done} messages done, "
        f"{neighbour.sent} beside",
        flush=True,
    )
    for text in mistakes:
        print(text)
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], float(sys.argv[2]), int(sys.argv[3])))
