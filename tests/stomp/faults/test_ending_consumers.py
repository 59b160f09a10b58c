"""A consumer that is closed does not wait for messages on their way where the application holds none."""

import threading
import time

import pytest

from jmsbridge.spi import Address, Outcome
from jmsbridge.testing.suite.contract.support import Answer, subscribe
from jmsbridge.testing.suite.support import eventually
from jmsbridge.transport.network.io_thread import IoThread
from jmsbridge_stomp.messages.wire import Decoder, Inbound
from jmsbridge_stomp.protocol.frames import Frame
from jmsbridge_stomp.receiving import subscription as subscriptions
from tests.stomp.faults.conftest import Connect, Start
from tests.stomp.faults.peer import ARTEMIS, CLASSIC, Line, Subscribed, answer

ENDS = [(ARTEMIS, Address("queue")), (ARTEMIS, Address("topic", topic=True)), (CLASSIC, Address("topic", topic=True))]


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
    box.wait(20)

    def told() -> list[tuple[str, str]]:
        return [(frame.command, frame.headers.get("id", "")) for frame in line.frames()]

    for number, token in enumerate(box.tokens[:19]):  # the last one would not wait
        subscription.settle([token], Outcome.ACCEPTED)
        if number == 0:
            eventually(lambda: ("ACK", "0") in told())  # the others wait from now on
    subscription.close()
    acknowledged = [("ACK", str(number)) for number in range(19)]
    assert told()[told().index(("ACK", "0")) :][:20] == [*acknowledged, ("UNSUBSCRIBE", peer.names[0])]


def test_what_is_accepted_while_the_close_waits_is_acknowledged(
    start: Start, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits for the copy of a dead letter."""
    monkeypatch.setattr(IoThread, "look_later", lambda thread, look: None)
    peer, copies = Subscribed(), list[tuple[Line, Frame]]()

    def heard(line: Line, frame: Frame) -> None:
        if frame.command == "SEND" and frame.headers["destination"] == "DLQ":
            copies.append((line, frame))
        else:
            peer.heard(line, frame)

    subscription, box = subscribe(connect(start(heard)).channel(False), Address("queue"), 100, window=100)
    eventually(lambda: len(peer.names) == 1)
    for number in range(3):
        peer.deliver(b"%d" % number)
    box.wait(3)
    subscription.settle(box.tokens[:1], Outcome.REJECTED, Answer())
    eventually(lambda: copies)
    closing = threading.Thread(target=subscription.close)
    closing.start()
    for token in box.tokens[1:]:
        subscription.settle([token], Outcome.ACCEPTED)
        time.sleep(0.05)  # sleep: lets the I/O thread write the first, so that the second waits for others
    answer(*copies[0])
    closing.join(10)
    assert peer.line is not None
    commands = [frame.command for frame in peer.line.frames]
    before = peer.line.frames[: commands.index("UNSUBSCRIBE")]
    assert sorted(frame.headers["id"] for frame in before if frame.command == "ACK") == ["0", "1", "2"]


def test_a_drain_waits_for_what_comes_behind_a_long_read(
    start: Start, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading many messages at once may take longer than a drain waits after a message."""
    monkeypatch.setattr(subscriptions, "_NEXT", 0.01)
    monkeypatch.setattr(subscriptions, "_FIRST", 0.01)
    monkeypatch.setattr(subscriptions, "_ANSWERS", 0)
    reading = threading.Event()
    decode = Decoder.decode

    def slow(decoder: Decoder, frame: Frame) -> Inbound:
        reading.set()
        time.sleep(0.005)  # sleep: 0.1 s for all of them
        return decode(decoder, frame)

    monkeypatch.setattr(Decoder, "decode", slow)
    peer = Subscribed()
    subscription, box = subscribe(connect(start(peer.heard)).channel(False), Address("queue"), 100, window=0)
    eventually(lambda: len(peer.names) == 1)
    peer.deliver(*[b"x"] * 20)
    assert reading.wait(10)
    peer.deliver(b"last")
    drained = Answer()
    subscription.drain(drained)
    assert drained.outcome(10) is None
    assert len(box.arrivals) == 21
