"""Where a broker writes message after message, a moment without reading lets more of them come together."""

from typing import NamedTuple

import pytest

from jmsbridge.spi import Address
from jmsbridge.testing.suite.contract.support import Box, envelope, send, subscribe
from jmsbridge.testing.suite.support import eventually
from jmsbridge.transport.network.stream import ByteStream
from jmsbridge_stomp.link import Link
from jmsbridge_stomp.protocol.frames import Frame
from tests.stomp.faults.conftest import Connect, Start
from tests.stomp.faults.peer import CLASSIC, Line, Subscribed


class _Feeder(Subscribed):
    """Answers everything while ``answers``, and writes messages when it is told to."""

    answers = True

    def heard(self, line: Line, frame: Frame) -> None:
        if self.answers:
            super().heard(line, frame)

    def write(self, count: int) -> None:
        self.deliver(*count * [b"1"])


class _Stream(NamedTuple):
    """A consumer that is fed, its link, and how often reading paused."""

    peer: _Feeder
    link: Link
    box: Box
    paused: list[object]


@pytest.fixture
def stream(start: Start, connect: Connect, monkeypatch: pytest.MonkeyPatch) -> _Stream:
    peer, paused = _Feeder(), list[object]()
    link = connect(start(peer.heard, CLASSIC))
    _, box = subscribe(link.channel(False), Address("queue"), 300, window=300)
    eventually(lambda: peer.names)
    monkeypatch.setattr(ByteStream, "wait_for_more", lambda stream: paused.append(stream))
    return _Stream(peer, link, box, paused)


@pytest.mark.parametrize(
    ("counts", "pauses"),
    [([4, 4, 63], 2), ([3, 3, 3], 0), ([20, 1, 20, 1], 0), ([64, 64, 64], 0)],
    ids=["streams", "few", "bursts", "many already"],
)
def test_only_a_stream_is_read_in_larger_pieces(stream: _Stream, counts: list[int], pauses: int) -> None:
    for number, count in enumerate(counts, 1):
        stream.peer.write(count)
        stream.box.wait(sum(counts[:number]))
    eventually(lambda: len(stream.paused) == pauses)


def test_what_may_be_a_reply_is_read_at_once(stream: _Stream) -> None:
    """A message that was sent since the last read may be its request, or the reply to one that came."""
    channel = stream.link.channel(False)
    for number in range(1, 4):
        send(channel, envelope(Address("other")))
        stream.peer.write(10)
        stream.box.wait(10 * number)
    assert stream.paused == []


def test_an_awaited_answer_is_read_at_once(stream: _Stream) -> None:
    stream.peer.answers = False
    subscribe(stream.link.channel(False), Address("other"), 1)
    for number in range(1, 4):
        stream.peer.write(10)
        stream.box.wait(10 * number)
    assert stream.paused == []
    stream.peer.answers = True
