"""Positions on a broker that gives no answer: that is an error, and never looks like a topic without messages."""

from collections.abc import Callable

import pytest

from jmsbridge.spi import Address, BackendError
from jmsbridge.testing.suite.contract.support import envelope, send
from jmsbridge_pulsar.link import Link
from tests.pulsar.server.answering import answer
from tests.pulsar.server.server import Line, Server
from tests.pulsar.server.wire import Command, Kind

Connect = Callable[..., Link]

QUEUE = Address("q")


def _cut(line: Line, heard: Command) -> None:
    line.cut()


def _refuse(line: Line, heard: Command) -> None:
    line.write(Kind.ERROR, f1=heard.fields.number(2), f2=1, f3="not now")


def _instead(reply: Callable[[Line, Command], None], *kinds: int) -> Callable[[Line, Command], None]:
    """Replies so to these commands, and sends no message, since the library need not ask whether there is one then."""

    def heard(line: Line, heard: Command) -> None:
        if heard.kind in kinds:
            reply(line, heard)
        elif heard.kind != Kind.FLOW:
            answer(line, heard)

    return heard


@pytest.mark.parametrize("reply", [_cut, _refuse])
@pytest.mark.parametrize(("verb", "kind"), [("first", Kind.LAST_ID), ("last", Kind.LAST_ID), ("last", Kind.SEEK)])
def test_the_ends_of_a_lane(
    server: Server, connect: Connect, verb: str, reply: Callable[[Line, Command], None], kind: int
) -> None:
    link = connect(server)
    send(link.channel(False), envelope(QUEUE, "one"))
    server.heard = _instead(reply, kind)
    with pytest.raises(BackendError):
        getattr(link, verb)(QUEUE, "0")


@pytest.mark.parametrize("reply", [_cut, _refuse])
def test_skipping(server: Server, connect: Connect, reply: Callable[[Line, Command], None]) -> None:
    link = connect(server)
    send(link.channel(False), envelope(QUEUE, "one"))
    server.heard = _instead(reply, Kind.LAST_ID)
    with pytest.raises(BackendError):
        link.skip(QUEUE, "0", "-1:-1:-1", 9)
