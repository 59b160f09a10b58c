"""What a broker may send ahead where settlements come late: bounded in bytes, and never too little."""

import threading
import time
from collections import deque

import msgspec
import pytest

from jmsbridge.spi import Address, Outcome
from jmsbridge.testing.harness import LinkLog
from jmsbridge.testing.suite.contract.support import settle, subscribe
from jmsbridge_stomp.connection import products
from jmsbridge_stomp.protocol.frames import Frame
from jmsbridge_stomp.receiving import late_window
from tests.stomp.faults.conftest import Connect, Start
from tests.stomp.faults.peer import ARTEMIS, CLASSIC, Line, answer

QUEUE = Address("queue")
COUNT, BODY = 1000, b"x" * (1 << 16)


class Feeder:
    """A queue. As on ActiveMQ Classic, a prefetch counts messages, and receipts go ahead of these."""

    def __init__(self, count: int, body: bytes) -> None:
        self.subscribed: list[dict[str, str]] = []
        self.unsubscribed: list[str] = []
        self.sent = 0
        self._count = count
        self._body = body
        self._room: dict[str, int] = {}
        self._asked: deque[tuple[Line, Frame]] = deque()
        self._more = threading.Condition()
        threading.Thread(target=self._run, daemon=True).start()

    def heard(self, line: Line, frame: Frame) -> None:
        """What the peer is to do with a frame."""
        if frame.command == "CONNECT":
            answer(line, frame)
            return
        with self._more:
            self._asked.append((line, frame))
            self._more.notify()

    def _run(self) -> None:
        line = None
        while True:
            with self._more:
                self._more.wait_for(lambda: self._asked or (self._room and self.sent < self._count))
                asked = self._asked.popleft() if self._asked else None
            if asked is not None:
                line, frame = asked
                self._take(frame)
                answer(line, frame)
            elif line is not None:
                self._deliver(line)

    def _take(self, frame: Frame) -> None:
        name = frame.headers.get("id", "")
        if frame.command == "SUBSCRIBE" and frame.headers["destination"] == "/queue/queue":
            self.subscribed.append(frame.headers)
            self._room[name] = int(frame.headers["activemq.prefetchSize"])
        elif frame.command == "UNSUBSCRIBE" and name in {headers["id"] for headers in self.subscribed}:
            self.unsubscribed.append(name)
            self._room.pop(name, None)

    def _deliver(self, line: Line) -> None:
        name = next(iter(self._room))
        headers = {"subscription": name, "message-id": str(self.sent), "ack": str(self.sent), "jb_types": ""}
        line.write("MESSAGE", headers, self._body)
        self.sent += 1
        self._room[name] -= 1
        if not self._room[name]:
            del self._room[name]


def _settled_down(feeder: Feeder) -> int:
    """How many messages were sent once no more are."""
    last = -1
    while last != feeder.sent:
        last = feeder.sent
        time.sleep(0.4)  # sleep: until nothing happens any more
    return last


def test_what_nobody_has_asked_for_is_not_read(start: Start, connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    """The broker waits; that costs no heart-beat and no answer, and everything comes when it is wanted."""
    monkeypatch.setattr(late_window, "_MOST", 1 << 20)
    feeder, log = Feeder(COUNT, BODY), LinkLog()
    link = connect(start(feeder.heard, CLASSIC), log, heartbeat=2)
    subscription, box = subscribe(link.channel(False), QUEUE, 1, deferred=True)
    box.wait(1)
    assert _settled_down(feeder) < COUNT // 2  # the kernel's buffers take some
    time.sleep(2.5)  # sleep: what is tested is that nothing happens
    assert log.losses == []
    subscription.grant(COUNT - 1)
    assert len(box.wait(COUNT, 60)) == COUNT
    settle(subscription, box.tokens, Outcome.ACCEPTED)
    assert len(feeder.subscribed) == 1


def test_answers_come_while_nothing_else_is_read_and_what_adds_up_returns(
    start: Start, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each answer lets in what lies before it. Then fewer messages are asked for, so that no more of that comes."""
    monkeypatch.setattr(late_window, "_MOST", 1 << 18)
    feeder, log = Feeder(COUNT, BODY), LinkLog()
    link = connect(start(feeder.heard, CLASSIC), log)
    subscription, box = subscribe(link.channel(False), QUEUE, 1, deferred=True)
    for number in range(1, 30):
        box.wait(number)
        if len(feeder.subscribed) == 2:
            break
        _settled_down(feeder)
        settle(subscription, box.tokens[-1:], Outcome.ACCEPTED)
        subscription.grant(1)
    assert feeder.unsubscribed == [feeder.subscribed[0]["id"]]
    first, second = (int(headers["activemq.prefetchSize"]) for headers in feeder.subscribed)
    assert (first, second) == (32_766, 1)  # one of them counts as more than half of what may be held
    assert log.losses == []


@pytest.mark.parametrize("transacted", [False, True])
def test_more_is_asked_for_when_the_window_is_exhausted(
    start: Start, connect: Connect, monkeypatch: pytest.MonkeyPatch, transacted: bool
) -> None:
    """The broker would send no more, although the application wants it and settles nothing meanwhile."""
    monkeypatch.setattr(products, "_CLASSIC", msgspec.structs.replace(products._CLASSIC, late_window=5))
    feeder = Feeder(COUNT, b"text")
    link = connect(start(feeder.heard, CLASSIC))
    subscription, box = subscribe(link.channel(transacted), QUEUE, 3, deferred=True)
    box.wait(3)
    assert (_settled_down(feeder), len(feeder.subscribed)) == (5, 1)
    subscription.grant(9)
    box.wait(12)
    assert (_settled_down(feeder), len(feeder.subscribed)) == (15, 3)
    subscription.close()
    names = [headers["id"] for headers in feeder.subscribed]
    assert feeder.unsubscribed == names[::-1]  # so that the broker puts the oldest before the others


def test_a_window_in_bytes_is_exhausted_as_well(
    start: Start, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(products, "_ARTEMIS", msgspec.structs.replace(products._ARTEMIS, late_window=10_000))
    asked: list[str] = []

    def deliver(line: Line, frame: Frame) -> None:
        answer(line, frame)
        if frame.command == "SUBSCRIBE" and frame.headers["destination"] == "queue":
            asked.append(frame.headers["consumer-window-size"])
            for number in range(3):
                headers = {"subscription": frame.headers["id"], "message-id": f"1,{number}", "ack": str(number)}
                line.write("MESSAGE", {**headers, "content-length": "2000"}, b"x" * 2000)

    link = connect(start(deliver, ARTEMIS))
    _, box = subscribe(link.channel(False), QUEUE, 6, deferred=True)
    box.wait(6)
    assert asked[:2] == ["10000"] * 2  # the second one is exhausted, too, so there may be a third


def test_a_topic_gets_no_second_subscription(start: Start, connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would get copies."""
    monkeypatch.setattr(products, "_CLASSIC", msgspec.structs.replace(products._CLASSIC, late_window=2))
    asked: list[str] = []

    def deliver(line: Line, frame: Frame) -> None:
        answer(line, frame)
        if frame.command == "SUBSCRIBE" and frame.headers["destination"] == "/topic/queue":
            asked.append(frame.headers["id"])
            for number in range(2):
                line.write("MESSAGE", {"subscription": asked[-1], "message-id": str(number), "ack": str(number)}, b"x")

    link = connect(start(deliver, CLASSIC))
    _, box = subscribe(link.channel(False), Address("queue", topic=True), 6, deferred=True)
    box.wait(2)
    box.wait_quiet()
    assert len(asked) == 1
