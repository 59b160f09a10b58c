"""Acknowledgements may wait for others for a moment, but not where someone could notice."""

import pytest

from jmsbridge.spi import Address, Mode, Outcome
from jmsbridge.testing.suite.contract.support import subscribe
from jmsbridge.testing.suite.support import eventually
from jmsbridge.transport.network import io_thread
from tests.stomp.faults.conftest import Connect, Start
from tests.stomp.faults.peer import CLASSIC, Peer, Subscribed


@pytest.fixture(autouse=True)
def _a_long_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(io_thread, "_TICK", 60.0)


def _acknowledged(peer: Peer) -> list[str]:
    return [frame.headers["id"] for frame in peer.frames() if frame.command == "ACK"]


def test_the_last_message_that_was_received_is_acknowledged_at_once(start: Start, connect: Connect) -> None:
    """Who receives all and then browses the queue, or counts its messages, finds none."""
    broker = Subscribed()
    peer = start(broker.heard, CLASSIC)
    subscription, box = subscribe(connect(peer).channel(False), Address("queue"), 100, window=100)
    eventually(lambda: broker.names)
    broker.deliver(b"0", b"1", b"2")
    box.wait(3)
    for number, token in enumerate(box.tokens):
        subscription.settle([token], Outcome.ACCEPTED)
        if number == 0:
            eventually(lambda: _acknowledged(peer) == ["0"])  # the others wait from now on
    eventually(lambda: _acknowledged(peer) == ["0", "1", "2"])


def test_a_browser_does_not_overtake_what_was_acknowledged(start: Start, connect: Connect) -> None:
    broker = Subscribed()
    peer = start(broker.heard, CLASSIC)
    channel = connect(peer).channel(False)
    subscription, box = subscribe(channel, Address("queue"), 100, window=100)
    eventually(lambda: broker.names)
    broker.deliver(b"0", b"1", b"2")
    box.wait(3)
    subscription.settle(box.tokens[:1], Outcome.ACCEPTED)
    eventually(lambda: _acknowledged(peer) == ["0"])
    subscription.settle(box.tokens[1:2], Outcome.ACCEPTED)  # one more is unsettled, so this one waits for it
    subscribe(channel, Address("queue"), 10, mode=Mode.BROWSE)
    eventually(lambda: len(broker.names) == 2)
    frames = peer.frames()
    browse = next(number for number, frame in enumerate(frames) if "browser" in frame.headers)
    assert _acknowledged(peer) == [frame.headers["id"] for frame in frames[:browse] if frame.command == "ACK"]
    assert _acknowledged(peer) == ["0", "1"]
