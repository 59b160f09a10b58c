"""A consumer that is closed does not wait for messages on their way where the application holds none."""

import pytest

from jmsbridge.spi import Address, Outcome
from jmsbridge.testing.suite.contract.support import Answer, subscribe
from jmsbridge.testing.suite.support import eventually
from jmsbridge.transport.network.io_thread import IoThread
from jmsbridge_stomp.protocol.frames import Frame
from jmsbridge_stomp.receiving import subscription as subscriptions
from tests.stomp.faults.conftest import Connect, Start
from tests.stomp.faults.peer import ARTEMIS, CLASSIC, Line, answer

ENDS = [(ARTEMIS, Address("queue")), (ARTEMIS, Address("topic", topic=True)), (CLASSIC, Address("topic", topic=True))]


class Subscribed:
    """Answers everything, and remembers what was subscribed."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.line: Line | None = None

    def heard(self, line: Line, frame: Frame) -> None:
        """One frame of the client."""
        if frame.command == "SUBSCRIBE" and frame.headers["destination"].endswith(("queue", "topic")):
            self.line = line
            self.names.append(frame.headers["id"])
        answer(line, frame)

    def deliver(self, text: bytes) -> None:
        """Send it a message."""
        assert self.line is not None
        headers = {"subscription": self.names[-1], "message-id": text.decode(), "ack": text.decode(), "jb_types": ""}
        self.line.write("MESSAGE", headers, text)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A drain that waits does so for longer than any test."""
    monkeypatch.setattr(subscriptions, "_FIRST", 60.0)
    monkeypatch.setattr(subscriptions, "_NEXT", 60.0)


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize(("server", "address"), ENDS)
def test_nothing_held_nothing_awaited(start: Start, connect: Connect, server: str, address: Address) -> None:
    """What arrives between the drain and the close is not handed over: UNSUBSCRIBE returns it."""
    peer = Subscribed()
    link = connect(start(peer.heard, server))
    subscription, box = subscribe(link.channel(False), address, 10, window=10)
    drained = Answer()
    subscription.drain(drained)
    assert drained.outcome(10) is None
    peer.deliver(b"late")
    subscription.close()
    assert box.arrivals == []


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("more", [{"window": 0}, {"window": 10, "deferred": True}], ids=["no window", "deferred"])
def test_a_drain_waits_for_what_was_asked_for(start: Start, connect: Connect, more: dict[str, int]) -> None:
    """For a receive without a prefetch, and for an emulated browser."""
    peer = Subscribed()
    link = connect(start(peer.heard))
    subscription, _ = subscribe(link.channel(False), Address("queue"), 10, **more)
    drained = Answer()
    subscription.drain(drained)
    with pytest.raises(AssertionError, match="no answer"):
        drained.outcome(0.5)


@pytest.mark.usefixtures("patient")
def test_a_drain_waits_while_the_application_holds_messages(start: Start, connect: Connect) -> None:
    peer = Subscribed()
    link = connect(start(peer.heard))
    subscription, box = subscribe(link.channel(False), Address("topic", topic=True), 10, window=10)
    peer.deliver(b"held")
    box.wait(1)
    drained = Answer()
    subscription.drain(drained)
    with pytest.raises(AssertionError, match="no answer"):
        drained.outcome(0.5)


@pytest.mark.parametrize("server", [CLASSIC, ARTEMIS])
def test_what_was_accepted_just_before_is_acknowledged(
    start: Start, connect: Connect, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Acknowledgements may wait for others on their way to the I/O thread, but not longer than the consumer."""
    monkeypatch.setattr(IoThread, "look_later", lambda thread, look: None)
    peer = Subscribed()
    line = start(peer.heard, server)
    subscription, box = subscribe(connect(line).channel(False), Address("queue"), 100, window=100)
    eventually(lambda: len(peer.names) == 1)
    for number in range(20):
        peer.deliver(b"%d" % number)
    for token in box.wait(20) and box.tokens:
        subscription.settle([token], Outcome.ACCEPTED)
    subscription.close()
    told = [(frame.command, frame.headers.get("id", "")) for one in line.lines for frame in one.frames]
    told = told[told.index(("ACK", "0")) :]
    assert told[:21] == [*(("ACK", str(number)) for number in range(20)), ("UNSUBSCRIBE", peer.names[0])]
