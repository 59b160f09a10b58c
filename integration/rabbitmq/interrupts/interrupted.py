"""A program whose main thread is interrupted by real signals while it sends, grants, settles and drains over the SPI.

``python -m integration.rabbitmq.interrupts.interrupted URL QUEUE SECONDS SEED`` prints its results as JSON.
Meanwhile other threads send and receive over the same link. The signal handler raises, like that of Ctrl-C.
"""

import json
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec

from integration.rabbitmq.support import Client
from jmsbridge.spi import Address, Interest, Outcome, Subscription
from jmsbridge.testing.suite.contract.support import Answer, Box, envelope
from jmsbridge_rabbitmq.link import Link

__all__ = ["Interrupted", "Program", "Signals", "Verdict"]

_PATIENCE = 20.0  # seconds after which a thread counts as stuck


class Interrupted(BaseException):
    """Raised by the handler."""


class Verdict(msgspec.Struct):
    """The results."""

    signals: int = 0
    interrupted: dict[str, int] = msgspec.field(default_factory=dict)
    confirmed: int = 0
    others_sent: int = 0
    others_received: int = 0
    stuck: list[str] = msgspec.field(default_factory=list)
    lost: list[str] = msgspec.field(default_factory=list)
    doubled: list[str] = msgspec.field(default_factory=list)


class Signals:
    """Interrupts the main thread at random moments with a timer of the operating system."""

    def __init__(self, seed: int) -> None:
        self.count = 0
        self._left = 0  # how many more signals this attempt may get
        self._dice = random.Random(seed)
        signal.signal(signal.SIGALRM, self._handle)

    def _handle(self, *_: Any) -> None:
        if self._left:
            self._left -= 1
            self.count += 1
            if self._left:
                self._set()
            raise Interrupted

    def _set(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, self._dice.choice([1e-6, 20e-6, 100e-6]) * (0.01 + self._dice.random()))

    def during(self, verb: Callable[[], Any], most: int = 1) -> bool:
        """Call a verb while at most ``most`` signals come; return whether it returned."""
        try:
            self._left = most
            self._set()
            verb()
            self._left = 0
        except Interrupted:
            self._left = 0
            return False
        return True


class _Sender(threading.Thread):
    """Another session that sends one confirmed message after another."""

    def __init__(self, link: Link, address: Address) -> None:
        super().__init__(daemon=True)
        self.ended = threading.Event()
        self.confirmed: list[str] = []
        self.error: BaseException | None = None
        self._channel = link.channel(False)
        self._address = address

    def run(self) -> None:
        """Send until the end."""
        try:
            while not self.ended.is_set():
                answer, text = Answer(), f"other-{len(self.confirmed)}"
                self._channel.send(envelope(self._address, text), answer)
                answer.wait(_PATIENCE)
                self.confirmed.append(text)
        except BaseException as error:
            self.error = error


class _Receiver(threading.Thread):
    """Another session that receives and acknowledges one by one."""

    def __init__(self, link: Link, address: Address) -> None:
        super().__init__(daemon=True)
        self.ended = threading.Event()
        self.box = Box()
        self.count = 0
        self.error: BaseException | None = None
        self._subscription = link.channel(False).subscribe(Interest(address=address, window=5), self.box)

    def run(self) -> None:
        """Receive until the end, and until a message has come after the last interrupt."""
        try:
            while not self.ended.is_set():
                self._subscription.grant(1)
                arrival = self.box.wait(self.count + 1, _PATIENCE)[self.count]
                self._subscription.settle([arrival.token], Outcome.ACCEPTED)
                self.count += 1
        except BaseException as error:
            self.error = error


class Program:
    """One run."""

    def __init__(self, url: str, queue: str, seed: int) -> None:
        self.verdict = Verdict()
        self._url = url
        self._client = Client(None, url=url)
        self._dice = random.Random(seed)
        self._signals = Signals(seed + 1)
        self._address, self._others = Address(queue), Address(f"{queue}-others")
        self._sent: dict[str, tuple[Answer, bool]] = {}  # by text: the ticket, and whether send returned
        self._accepted: dict[str, bool] = {}  # by text: whether settle returned
        self._settled = 0
        self._box = Box()
        self._consumer: Subscription = self._client.channel.subscribe(
            Interest(address=self._address, window=10, deferred=True), self._box
        )

    def run(self, seconds: float) -> Verdict:
        """Interrupt for this time, then compare the results."""
        sender, receiver = _Sender(self._client.link, self._others), _Receiver(self._client.link, self._others)
        others: tuple[_Sender | _Receiver, ...] = (receiver, sender)  # in the order in which they end
        for each in others:
            each.start()
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self.verdict.stuck:
            self._dice.choice([self._send_some, self._send_one, self._receive, self._drain])()
        for each in others:
            each.ended.set()
            each.join(_PATIENCE + 5)
            if each.is_alive() or each.error is not None:
                self.verdict.stuck.append(f"{type(each).__name__}: {each.error!r}")
        self.verdict.signals = self._signals.count
        self.verdict.others_sent, self.verdict.others_received = len(sender.confirmed), receiver.count
        self._close()
        self._compare()
        return self.verdict

    def _during(self, what: str, verb: Callable[[], Any]) -> bool:
        returned = self._signals.during(verb, self._dice.choice([1, 1, 1, 2]))
        if not returned:
            self.verdict.interrupted[what] = self.verdict.interrupted.get(what, 0) + 1
        return returned

    def _send(self) -> tuple[Answer, bool]:
        text, answer = str(len(self._sent)), Answer()
        message = envelope(self._address, text)
        self._sent[text] = answer, False
        returned = self._during("send", lambda: self._client.channel.send(message, answer))
        self._sent[text] = answer, returned
        return answer, returned

    def _send_some(self) -> None:
        """Send asynchronously; every ticket that was passed must be answered."""
        made = [self._send() for _ in range(self._dice.randrange(1, 40))]
        for answer, returned in made:
            if returned:
                self._await("an asynchronous send", answer)

    def _send_one(self) -> None:
        """Synchronous."""
        answer, returned = self._send()
        if returned:
            self._await("a send", answer)

    def _await(self, what: str, answer: Answer) -> None:
        try:
            answer.outcome(_PATIENCE)
        except AssertionError:
            self.verdict.stuck.append(f"{what}: no answer")

    def _receive(self) -> None:
        """Receive and acknowledge all messages, some of them twice if the outcome is unknown."""
        self._during("grant", lambda: self._consumer.grant(self._dice.randrange(1, 8)))
        self._settle()

    def _settle(self) -> None:
        arrivals = list(self._box.arrivals)[self._settled :]
        if arrivals:
            self._settled += len(arrivals)
            tokens = [each.token for each in arrivals]
            returned = self._during("settle", lambda: self._consumer.settle(tokens, Outcome.ACCEPTED))
            self._accepted.update({each.envelope.body: returned for each in arrivals})

    def _drain(self) -> None:
        answer = Answer()
        if self._during("drain", lambda: self._consumer.drain(answer)):
            self._await("a drain", answer)
            self._settle()

    def _close(self) -> None:
        for what, close in (("channel", self._client.channel.close), ("link", self._client.close)):
            thread = threading.Thread(target=close, daemon=True)
            thread.start()
            thread.join(_PATIENCE + 15)
            if thread.is_alive():
                self.verdict.stuck.append(f"closing the {what}")

    def _compare(self) -> None:
        """Check that each confirmed message exists once: it was accepted, or it is left."""
        left = Counter(self._left())
        for text, (answer, _) in self._sent.items():
            confirmed = answer.answers == [None]
            self.verdict.confirmed += confirmed
            if len(answer.answers) > 1 or left[text] > 1 or (left[text] and self._accepted.get(text)):
                self.verdict.doubled.append(text)
            if confirmed and not left[text] and text not in self._accepted:
                self.verdict.lost.append(text)

    def _left(self) -> list[str]:
        client, box = Client(None, url=self._url), Box()
        subscription = client.channel.subscribe(Interest(address=self._address, window=1000, deferred=True), box)
        subscription.grant(len(self._sent) + 1)
        answer = Answer()
        subscription.drain(answer)
        answer.wait(_PATIENCE)
        client.close()
        return box.bodies


if __name__ == "__main__":
    _url, _queue, _seconds, _seed = sys.argv[1:]
    print(json.dumps(msgspec.to_builtins(Program(_url, _queue, int(_seed)).run(float(_seconds)))))
