"""When the messages of a socket are read together, see ``ByteStream.gather``."""

import pytest

from jmsbridge.spi import Address, Outcome
from jmsbridge.testing.suite.contract.support import Answer, subscribe
from jmsbridge.transport.network.stream import ByteStream
from jmsbridge_stomp.protocol.frames import Frame, encode
from tests.stomp.faults.conftest import Connect, Start
from tests.stomp.faults.peer import Line, answer

QUEUE = Address("queue")


def _five(name: str, first: int) -> bytes:
    numbers = map(str, range(first, first + 5))
    headers = [{"subscription": name, "message-id": f"1,{number}", "ack": number} for number in numbers]
    return b"".join(encode("MESSAGE", each.items()) + b"\n" for each in headers)


def test_messages_are_read_together_unless_an_answer_is_awaited(
    start: Start, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    gathered: list[tuple[int, int]] = []
    monkeypatch.setattr(ByteStream, "gather", lambda _, *seen: gathered.append(seen))
    name = ""

    def heard(line: Line, frame: Frame) -> None:
        nonlocal name
        if frame.command == "SUBSCRIBE" and frame.headers["destination"].endswith("queue"):
            name = frame.headers["id"]
            answer(line, frame)
            line.raw(_five(name, 1))
        elif frame.command == "ACK":  # without an answer
            line.raw(_five(name, 6))
        else:
            answer(line, frame)

    subscription, box = subscribe(connect(start(heard)).channel(False), QUEUE, 10)
    box.wait(5)
    assert gathered in ([(5, 250)], [(6, 250)])  # perhaps with the answer to SUBSCRIBE
    subscription.settle(box.tokens[:1], Outcome.ACCEPTED, Answer())
    box.wait(10)
    assert len(gathered) == 1
