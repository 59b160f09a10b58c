"""Requests over one socket: who gets which answer, and what is in doubt when the link ends."""

import socket
import threading
from collections.abc import Iterator

import pytest

from jmsbridge.spi import BackendError, ClientIdRefused, ConnectFailed, Endpoint, LinkLost
from jmsbridge.testing.harness import LinkLog
from jmsbridge.testing.suite.contract.support import Answer
from jmsbridge.testing.suite.support import eventually
from jmsbridge.transport.network.link_life import Done
from jmsbridge.transport.network.requests import Requests


class Lines:
    """A protocol of lines: ``-`` begins a refusal, ``!`` the end, ``*`` an unsolicited line."""

    def __init__(self) -> None:
        self.ends: list[LinkLost] = []
        self._rest = b""

    def read(self, data: bytes) -> Iterator[object]:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            kind, text = line[:1], line[1:].decode()
            if kind != b"*":
                yield {b"-": BackendError, b"!": LinkLost, b"?": ClientIdRefused}.get(kind, str)(text)

    def ended(self, error: LinkLost) -> None:
        self.ends.append(error)


class World:
    """A link, and the broker's end of its socket."""

    def __init__(self, greeting: bytes = b"+welcome\n") -> None:
        self.log, self.lines = LinkLog(), Lines()
        here, self.broker = socket.socketpair()
        self.broker.settimeout(10)
        endpoint = Endpoint(scheme="test", connect_timeout=10.0, close_timeout=0.2)
        self.requests = Requests("jmsbridge-test-io", "Test", endpoint, self.log, self.lines)
        self.broker.sendall(greeting)
        try:
            self.requests.open(here, self._begin)
        except BackendError:
            self.broker.close()
            raise

    def _begin(self, done: Done) -> None:
        self.requests.write(b"hello\n", done)

    def hear(self, expected: bytes) -> None:
        """Check that the broker reads exactly this."""
        heard = b""
        while len(heard) < len(expected):
            heard += self.broker.recv(1 << 16)
        assert heard == expected


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    made.hear(b"hello\n")
    yield made
    made.requests.close(b"")
    made.broker.close()


def test_each_request_gets_its_answer(world: World) -> None:
    first, second, third = Answer(), Answer(), Answer()
    for answer, request in ((first, b"a\n"), (second, b"b\n"), (third, b"c\n")):
        world.requests.post(request, answer)
    world.hear(b"a\nb\nc\n")
    world.broker.sendall(b"*unasked\n+1\n-no\n+")
    assert first.outcome() is None
    assert str(second.outcome()) == "no"
    assert not third.is_answered(0.0)
    world.broker.sendall(b"3\n")
    assert third.outcome() is None


def test_a_request_returns_the_answer_of_the_broker(world: World) -> None:
    def answer() -> None:
        for question, said in ((b"how many\n", b"+42\n"), (b"again\n", b"-never\n")):
            world.hear(question)
            world.broker.sendall(said)

    broker = threading.Thread(target=answer)
    broker.start()
    assert world.requests.ask(b"how many\n", "counting") == "42"
    with pytest.raises(BackendError, match="never"):
        world.requests.ask(b"again\n", "counting")
    broker.join()


def test_a_request_larger_than_the_buffer_is_written_as_the_broker_reads(world: World) -> None:
    request = b"x" * (1 << 22) + b"\n"
    world.requests.post(request, answer := Answer())
    world.hear(request)
    world.broker.sendall(b"+\n")
    assert answer.outcome() is None


def test_a_request_without_any_byte_written_is_not_in_doubt(world: World) -> None:
    answers = [Answer() for _ in range(3)]
    for answer in answers:
        world.requests.post(b"x" * (1 << 22), answer)
    assert world.broker.recv(1) == b"x"
    world.broker.close()
    errors = [answer.outcome() for answer in answers]
    assert [error is not None and error.in_doubt for error in errors] == [True, False, False]
    assert [type(error) for error in errors] == [LinkLost] * 3


def test_the_end_is_reported_once_after_every_answer(world: World) -> None:
    world.requests.post(b"a\n", early := Answer())
    world.requests.post(b"b\n", late := Answer())
    world.hear(b"a\nb\n")
    world.broker.sendall(b"!over\n")
    eventually(lambda: world.log.losses)
    assert str(early.outcome(0)) == "over"
    error = late.outcome(0)
    assert error is not None
    assert error.in_doubt
    world.requests.post(b"c\n", after := Answer())
    refused = after.outcome(0)
    assert isinstance(refused, LinkLost)
    assert not refused.in_doubt
    with pytest.raises(LinkLost):
        world.requests.post(b"d\n", None)
    assert [str(each) for each in world.lines.ends] == ["over"]
    assert len(world.log.losses) == 1


def test_close_waits_for_a_silent_broker_no_longer_than_it_may(world: World) -> None:
    world.requests.close(b"bye\n")
    world.hear(b"bye\n")
    assert world.broker.recv(1) == b""
    assert world.log.losses == []


@pytest.mark.parametrize(("greeting", "error"), [(b"?taken\n", ClientIdRefused), (b"!no\n", ConnectFailed)])
def test_a_refused_link_leaves_no_thread(greeting: bytes, error: type[BackendError]) -> None:
    before = threading.active_count()
    with pytest.raises(error):
        World(greeting)
    assert threading.active_count() == before
