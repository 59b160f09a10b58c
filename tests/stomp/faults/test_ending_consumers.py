"""A consumer that is closed does not wait for messages on their way where the application holds none."""

import pytest

from jmsbridge.spi import Address
from jmsbridge.testing.suite.contract.support import Answer, subscribe
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
