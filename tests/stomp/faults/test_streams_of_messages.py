"""Where a broker writes message after message, a moment without reading lets more of them come together."""

import pytest

from jmsbridge.spi import Address
from jmsbridge.testing.suite.contract.support import subscribe
from jmsbridge.testing.suite.support import eventually
from jmsbridge.transport.network.stream import ByteStream
from jmsbridge_stomp.protocol.frames import Frame, encode
from tests.stomp.faults.conftest import Connect, Start
from tests.stomp.faults.peer import CLASSIC, Line, answer


class _Feeder:
    """Answers everything, and writes messages when it is told to."""

    def __init__(self) -> None:
        self.name = ""
        self.answers = True
        self.line: Line | None = None

    def heard(self, line: Line, frame: Frame) -> None:
        if self.answers:
            answer(line, frame)
        if frame.command == "SUBSCRIBE" and frame.headers["destination"] == "/queue/queue":
            self.line, self.name = line, frame.headers["id"]

    def write(self, count: int) -> None:
        assert self.line is not None
        headers = {"subscription": self.name, "message-id": "1", "ack": "1"}
        self.line.raw(count * (encode("MESSAGE", headers.items(), b"x") + b"\n"))


@pytest.mark.parametrize(
    ("counts", "pauses"),
    [([8, 8, 63], 2), ([7, 7, 7], 0), ([20, 1, 20, 1], 0), ([64, 64, 64], 0)],
    ids=["streams", "few", "bursts", "many already"],
)
def test_only_a_stream_is_read_in_larger_pieces(
    start: Start, connect: Connect, monkeypatch: pytest.MonkeyPatch, counts: list[int], pauses: int
) -> None:
    paused: list[object] = []
    peer = _Feeder()
    link = connect(start(peer.heard, CLASSIC))
    _, box = subscribe(link.channel(False), Address("queue"), 300, window=300)
    eventually(lambda: peer.name)
    monkeypatch.setattr(ByteStream, "wait_for_more", lambda stream: paused.append(stream))
    for number, count in enumerate(counts, 1):
        peer.write(count)
        box.wait(sum(counts[:number]))
    eventually(lambda: len(paused) == pauses)


def test_an_awaited_answer_is_read_at_once(start: Start, connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    paused: list[object] = []
    peer = _Feeder()
    link = connect(start(peer.heard, CLASSIC))
    _, box = subscribe(link.channel(False), Address("queue"), 300, window=300)
    eventually(lambda: peer.name)
    monkeypatch.setattr(ByteStream, "wait_for_more", lambda stream: paused.append(stream))
    peer.answers = False
    subscribe(link.channel(False), Address("other"), 1)
    for number in range(1, 4):
        peer.write(10)
        box.wait(10 * number)
    assert paused == []
    peer.answers = True
