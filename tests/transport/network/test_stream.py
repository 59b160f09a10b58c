"""A TCP connection on the loop: which address it takes, and what it says was written. Real sockets, real TLS."""

import contextlib
import socket
import ssl
import threading
import time
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
import trustme

from jmsbridge.testing.suite.support import eventually
from jmsbridge.transport.network import stream
from jmsbridge.transport.network.loop import new_loop
from jmsbridge.transport.network.stream import ByteStream

PATIENCE = 10.0


class World:
    """A stream on a loop of its own."""

    def __init__(self) -> None:
        self.loop = new_loop()
        self.got = bytearray()
        self.errors: list[BaseException] = []
        self.opened = threading.Event()
        self.emptied = threading.Event()
        self.problem: BaseException | None = None
        self.stream = ByteStream(self.loop, self._received, self.emptied.set, self.errors.append)
        self._thread = threading.Thread(target=self.loop.start, name="stream", daemon=True)
        self._thread.start()

    def _received(self, data: bytes) -> None:
        self.got += data

    def _answer(self, problem: BaseException | None) -> None:
        self.problem = problem
        self.opened.set()

    def do(self, task: Any) -> Any:
        """Run this on the loop's thread."""
        results: list[Any] = []
        done = threading.Event()

        def run() -> None:
            results.append(task())
            done.set()

        self.loop.add_callback_threadsafe(run)
        assert done.wait(PATIENCE)
        return results[0]

    def connect(self, host: str, port: int, tls: ssl.SSLContext | None = None, patience: float = PATIENCE) -> None:
        """Connect, and wait for the answer."""
        deadline = time.monotonic() + patience
        self.do(lambda: self.stream.connect(host, port, tls, host, deadline, self._answer))
        assert self.opened.wait(patience + 1)

    def stop(self) -> None:
        self.do(self.stream.close)
        self.loop.add_callback_threadsafe(self.loop.stop)
        self._thread.join(PATIENCE)
        self.loop.close()


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    made.stop()


@pytest.fixture
def contexts() -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Of a server called ``localhost``, and of a client that trusts it."""
    authority = trustme.CA()
    server, client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context()
    authority.issue_cert("localhost").configure_cert(server)
    authority.configure_trust(client)
    return server, client


@pytest.fixture
def silent() -> Iterator[int]:
    """A port of 127.0.0.1 that drops every attempt to connect, because its queue is full."""
    with contextlib.ExitStack() as stack:
        full = stack.enter_context(socket.socket())
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                waiting.connect(full.getsockname())
        yield full.getsockname()[1]


def resolve(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    """Give every name these addresses."""

    def look_up(host: str, port: int, **_: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)


def test_an_address_that_does_not_answer_leaves_time_for_the_next(
    world: World, silent: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolve(monkeypatch, "127.0.0.1", "127.0.0.2")
    with socket.create_server(("127.0.0.2", silent)):
        world.connect("both.example", silent, patience=2.0)
    assert world.problem is None


def test_if_no_address_answers_the_error_names_the_last(
    world: World, silent: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolve(monkeypatch, "127.0.0.1", "127.0.0.1")
    began = time.monotonic()
    world.connect("none.example", silent, patience=0.6)
    assert isinstance(world.problem, TimeoutError)
    assert "127.0.0.1" in str(world.problem)
    assert 0.5 < time.monotonic() - began < 1.5


class Server:
    """One connection, which is read only when a test says so."""

    def __init__(self, context: ssl.SSLContext | None) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._context = context
        self._reads = threading.Event()
        self.got = bytearray()
        self.socket: socket.socket | None = None
        self._thread = threading.Thread(target=self._run, name="server", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        made, _ = self._listener.accept()
        made.settimeout(PATIENCE)
        with contextlib.suppress(OSError):
            self.socket = self._context.wrap_socket(made, server_side=True) if self._context is not None else made
            self._reads.wait(PATIENCE)
            while data := self.socket.recv(1 << 16):
                self.got += data

    def read_all(self) -> bytearray:
        """Everything up to the end of the connection."""
        self._reads.set()
        self._thread.join(PATIENCE)
        return self.got

    def close(self) -> None:
        self._reads.set()
        self._listener.close()
        if self.socket is not None:
            with contextlib.suppress(OSError):
                self.socket.shutdown(socket.SHUT_RDWR)  # ends what the thread reads
            self.socket.close()
        self._thread.join(PATIENCE)


@pytest.fixture(params=["plain", "tls"])
def server(request: pytest.FixtureRequest, contexts: tuple[ssl.SSLContext, ssl.SSLContext]) -> Iterator[Server]:
    made = Server(contexts[0] if request.param == "tls" else None)
    yield made
    made.close()


def client_of(server: Server, contexts: tuple[ssl.SSLContext, ssl.SSLContext]) -> ssl.SSLContext | None:
    return contexts[1] if server._context is not None else None


def test_written_is_what_the_other_side_can_read(
    world: World, server: Server, contexts: tuple[ssl.SSLContext, ssl.SSLContext]
) -> None:
    """Neither more, which would confirm what was not sent, nor less, which would call it certainly not sent."""
    world.connect("localhost", server.port, client_of(server, contexts))
    assert world.problem is None
    whole = bytes(range(256)) * 4096
    while not world.do(lambda: world.stream.backlog):
        world.do(lambda: world.stream.write(whole))
    world.do(lambda: world.stream.write(whole))
    world.do(world.stream.close)
    assert len(server.read_all()) == world.stream.written > 0


def test_what_a_full_socket_did_not_take_is_written_later(
    world: World, server: Server, contexts: tuple[ssl.SSLContext, ssl.SSLContext]
) -> None:
    world.connect("localhost", server.port, client_of(server, contexts))
    data = bytes(range(251)) * 40_000
    world.do(lambda: world.stream.write(data))
    world.do(lambda: world.stream.write(data))
    server._reads.set()
    assert world.emptied.wait(PATIENCE)
    assert world.do(lambda: (world.stream.backlog, world.stream.written)) == (0, 2 * len(data))
    world.do(world.stream.close)
    assert server.read_all() == data + data


@pytest.mark.parametrize(("count", "size"), [(3, 5_000_000), (900, 10_000), (70_000, 100)])
def test_parts_are_written_in_order(
    world: World, server: Server, contexts: tuple[ssl.SSLContext, ssl.SSLContext], count: int, size: int
) -> None:
    """Parts of which the socket takes some, or some of one, and more than the kernel takes in a call."""
    world.connect("localhost", server.port, client_of(server, contexts))
    parts = [(number % 251).to_bytes() * size for number in range(count)]
    world.do(lambda: world.stream.write(*parts))
    server._reads.set()
    eventually(lambda: world.do(lambda: world.stream.written) == count * size)
    world.do(world.stream.close)
    assert server.read_all() == b"".join(parts)


def test_what_arrives_and_the_end(
    world: World, server: Server, contexts: tuple[ssl.SSLContext, ssl.SSLContext]
) -> None:
    world.connect("localhost", server.port, client_of(server, contexts))
    eventually(lambda: server.socket is not None)
    assert server.socket is not None
    data = bytes(range(251)) * 10_000
    server.socket.sendall(data)
    eventually(lambda: len(world.got) == len(data))
    assert world.got == data
    server.socket.shutdown(socket.SHUT_RDWR)
    eventually(lambda: world.errors)
    assert "closed" in str(world.errors[0])
    assert len(world.errors) == 1


def test_what_is_not_read_keeps_the_other_side_waiting(
    world: World, server: Server, contexts: tuple[ssl.SSLContext, ssl.SSLContext]
) -> None:
    """Writing goes on meanwhile, and nothing is lost."""
    world.connect("localhost", server.port, client_of(server, contexts))
    eventually(lambda: server.socket is not None)
    assert server.socket is not None
    world.do(lambda: world.stream.hold(True))
    data = bytes(range(251)) * 200_000
    sending = threading.Thread(target=server.socket.sendall, args=(data,), daemon=True)
    sending.start()
    world.do(lambda: world.stream.write(b"goes on"))
    eventually(lambda: world.do(lambda: world.stream.written) == 7)
    sending.join(0.3)
    assert sending.is_alive()
    assert world.got == b""
    world.do(lambda: world.stream.hold(False))
    sending.join(PATIENCE)
    eventually(lambda: len(world.got) == len(data), PATIENCE)
    assert world.got == data


def test_a_certificate_that_is_not_trusted(world: World, contexts: tuple[ssl.SSLContext, ssl.SSLContext]) -> None:
    server = Server(contexts[0])
    world.connect("localhost", server.port, ssl.create_default_context())
    server.close()
    assert isinstance(world.problem, ssl.SSLCertVerificationError)
    assert world.errors == []


def test_tls_to_a_server_without(world: World) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        world.do(
            lambda: world.stream.connect(
                "localhost", listener.getsockname()[1], ssl.create_default_context(), "localhost",
                time.monotonic() + PATIENCE, world._answer,
            )
        )  # fmt: skip
        made, _ = listener.accept()
        made.close()
        assert world.opened.wait(PATIENCE)
    assert isinstance(world.problem, OSError)
    assert world.errors == []


class _Clock:
    """Stands for the time at which answers are counted."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("paces", "owed", "together", "rests"),
    [
        ([0.001, 0.001], 1000, False, True),
        ([0.001, 0.001], 31, False, False),
        ([0.5, 0.5], 2, True, True),
        ([0.5, 0.5], 1, True, False),
        ([0.000001, 0.000001], 1000, False, False),
        ([0.000001, 0.001], 1000, False, False),
        ([0.001], 1000, False, False),
    ],
    ids=["slow", "few", "few of a transaction", "the last one", "fast", "slow once", "unknown"],
)
def test_a_rest_while_answers_come_slowly_and_nobody_waits(
    world: World, monkeypatch: pytest.MonkeyPatch, paces: list[float], owed: int, together: bool, rests: bool
) -> None:
    """What comes meanwhile is read at its end; what is written is written at once."""
    clock = _Clock()
    monkeypatch.setattr(stream, "time", clock)
    monkeypatch.setattr(stream, "_REST", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as server:
        world.connect(*server.getsockname())
        other, _ = server.accept()
        with other:
            world.do(lambda: world.stream.rest(1, owed, together=together))
            for pace in paces:
                clock.now += 300 * pace
                world.do(lambda: world.stream.rest(300, owed, together=together))
            began = time.monotonic()
            world.do(lambda: world.stream.write(b"question"))
            assert other.recv(100) == b"question"
            other.sendall(b"answer")
            eventually(lambda: world.got == b"answer")
            assert (time.monotonic() - began >= 0.25) == rests


@pytest.mark.parametrize(("size", "waits"), [(1000, True), (40_000, False)])
def test_waiting_for_more_unless_much_came(
    world: World, monkeypatch: pytest.MonkeyPatch, size: int, waits: bool
) -> None:
    monkeypatch.setattr(stream, "_MOMENT", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as server:
        world.connect(*server.getsockname())
        other, _ = server.accept()
        with other:
            world.do(lambda: world.stream.hold(True))
            other.sendall(bytes(size))
            time.sleep(0.1)  # sleep: until all of it can be read at once
            world.do(lambda: world.stream.hold(False))
            eventually(lambda: len(world.got) == size)
            began = time.monotonic()
            world.do(world.stream.wait_for_more)
            other.sendall(b"more")
            eventually(lambda: world.got.endswith(b"more"))
            assert (time.monotonic() - began >= 0.25) == waits


def test_a_closed_stream_that_rests(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "_REST", 0.05)
    clock = _Clock()
    monkeypatch.setattr(stream, "time", clock)
    with socket.create_server(("127.0.0.1", 0)) as server:
        world.connect(*server.getsockname())
        for _ in range(3):
            clock.now += 1.0
            world.do(lambda: world.stream.rest(1, 1000))
        world.do(world.stream.close)
        ended = threading.Event()
        world.do(lambda: world.loop.call_later(0.1, ended.set))
        assert ended.wait(PATIENCE)
    assert world.errors == []


def test_many_streams_of_one_loop_read_into_the_same_memory(world: World) -> None:
    """Over STOMP each session that sends has a socket: 2,000 of them took 500 MB."""

    def make() -> ByteStream:
        return ByteStream(world.loop, world.got.extend, world.emptied.set, world.errors.append)

    make()
    tracemalloc.start()
    try:
        streams = [make() for _ in range(50)]
        assert tracemalloc.get_traced_memory()[0] < len(streams) * 10_000
    finally:
        tracemalloc.stop()
