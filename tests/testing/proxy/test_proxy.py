"""The fault proxy injects exactly the documented faults."""

import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from jmsbridge.testing.proxy import Direction, End, FaultProxy
from jmsbridge.testing.suite.support import LONG, eventually

Connect = Callable[[FaultProxy], socket.socket]


class Echo:
    """An echo server that records how each connection ended."""

    def __init__(self) -> None:
        self.received: list[bytes] = []
        self.ends: list[str] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def _accept(self) -> None:
        while True:
            try:
                one, _ = self._listener.accept()
            except OSError:  # closed
                return
            self._threads.append(threading.Thread(target=self._serve, args=(one, len(self.received)), daemon=True))
            self.received.append(b"")
            self._threads[-1].start()

    def _serve(self, one: socket.socket, number: int) -> None:
        with one:
            try:
                while data := one.recv(65536):
                    self.received[number] += data
                    one.sendall(data)
                self.ends.append("close")
            except OSError:
                self.ends.append("reset")

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(LONG)


@pytest.fixture
def echo() -> Iterator[Echo]:
    made = Echo()
    yield made
    made.close()


@pytest.fixture
def proxy(echo: Echo) -> Iterator[FaultProxy]:
    with FaultProxy("127.0.0.1", echo.port) as made:
        yield made


@pytest.fixture
def connect() -> Iterator[Connect]:
    opened: list[socket.socket] = []

    def make(proxy: FaultProxy) -> socket.socket:
        opened.append(socket.create_connection((proxy.host, proxy.port), LONG))
        return opened[-1]

    yield make
    for one in opened:
        one.close()


def read(one: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        piece = one.recv(count - len(data))
        assert piece, f"ended after {len(data)} of {count} bytes"
        data += piece
    return data


def assert_reset(one: socket.socket) -> None:
    with pytest.raises(ConnectionResetError):
        one.recv(1)


def test_bytes_pass_in_order_and_a_half_close_is_passed_on(proxy: FaultProxy, echo: Echo, connect: Connect) -> None:
    one = connect(proxy)
    sent = bytes(range(256)) * 4000

    def send() -> None:
        one.sendall(sent)
        one.shutdown(socket.SHUT_WR)

    sender = threading.Thread(target=send)
    sender.start()
    assert read(one, len(sent)) == sent
    assert one.recv(1) == b""
    sender.join(LONG)
    eventually(lambda: echo.ends == ["close"] and proxy.connections == 0)


def test_many_connections_at_once(proxy: FaultProxy, connect: Connect) -> None:
    ones = [connect(proxy) for _ in range(50)]
    for number, one in enumerate(ones):
        one.sendall(b"%03d" % number)
    assert [read(one, 3) for one in ones] == [b"%03d" % number for number in range(50)]
    assert proxy.connections == 50
    assert proxy.accepted == 50


def test_delay_is_per_direction_and_does_not_add_up(proxy: FaultProxy, connect: Connect) -> None:
    one = connect(proxy)
    proxy.delay = 0.5
    started = time.monotonic()
    for number in range(20):
        one.sendall(b"x")
        eventually(lambda count=number + 1: proxy.passed(Direction.OUT) == count)  # type: ignore[misc]
    assert read(one, 20) == b"x" * 20
    took = time.monotonic() - started
    assert 0.5 <= took < 4.0  # ten seconds if the delays added up, five if they added up in one direction


def test_a_shorter_delay_overtakes_nothing(proxy: FaultProxy, connect: Connect) -> None:
    one = connect(proxy)
    proxy.delay = 0.2
    one.sendall(b"first")
    eventually(lambda: proxy.passed(Direction.OUT) == 5)
    proxy.delay = 0.0
    one.sendall(b"second")
    assert read(one, 11) == b"firstsecond"


def test_bandwidth_is_kept(proxy: FaultProxy, connect: Connect) -> None:
    one = connect(proxy)
    proxy.bandwidth = 1_000_000
    started = time.monotonic()
    sender = threading.Thread(target=one.sendall, args=(bytes(300_000),))
    sender.start()
    assert read(one, 300_000) == bytes(300_000)
    took = time.monotonic() - started
    sender.join(LONG)
    assert took > 0.29


def test_buffered_bytes_are_bounded(proxy: FaultProxy, connect: Connect) -> None:
    """A client that sends to a network that is too slow for it is slowed down."""
    one = connect(proxy)
    proxy.bandwidth = 1000
    one.settimeout(0.5)
    started = time.monotonic()
    with pytest.raises(TimeoutError):
        one.sendall(bytes(100_000_000))
    assert proxy.passed(Direction.OUT) < 1000 * (time.monotonic() - started) + 200


def test_cut_now(proxy: FaultProxy, echo: Echo, connect: Connect) -> None:
    ones = [connect(proxy), connect(proxy)]
    for one in ones:
        one.sendall(b"here")
        assert read(one, 4) == b"here"
    assert proxy.cut() == 2
    for one in ones:
        assert_reset(one)
    again = connect(proxy)
    again.sendall(b"again")
    assert read(again, 5) == b"again"
    eventually(lambda: echo.ends == ["reset", "reset"])


def test_cut_as_a_program_that_closes(proxy: FaultProxy, echo: Echo, connect: Connect) -> None:
    one = connect(proxy)
    one.sendall(b"here")
    assert read(one, 4) == b"here"
    proxy.cut(End.CLOSE)
    assert one.recv(1) == b""
    eventually(lambda: echo.ends == ["close"])


@pytest.mark.parametrize("delay", [0.0, 0.02])
def test_cut_after_exactly_so_many_bytes_out_once(
    proxy: FaultProxy, echo: Echo, connect: Connect, delay: float
) -> None:
    proxy.delay = delay
    proxy.cut_after(7)
    one = connect(proxy)
    one.sendall(b"0123456789")
    eventually(lambda: echo.ends == ["reset"])
    assert echo.received == [b"0123456"]
    again = connect(proxy)
    again.sendall(b"0123456789")
    assert read(again, 10) == b"0123456789"


def test_cut_after_exactly_so_many_bytes_in(proxy: FaultProxy, connect: Connect) -> None:
    one = connect(proxy)
    one.sendall(b"before")
    assert read(one, 6) == b"before"
    proxy.cut_after(4, Direction.IN, how=End.CLOSE)  # counting starts now
    one.sendall(b"0123456789")
    assert read(one, 4) == b"0123"
    assert one.recv(1) == b""


def test_cut_after_of_one_connection_only(proxy: FaultProxy, connect: Connect) -> None:
    proxy.cut_after(2, connection=2)
    first, second = connect(proxy), connect(proxy)
    first.sendall(b"abc")
    assert read(first, 3) == b"abc"
    second.sendall(b"abc")
    assert_reset(second)


def test_cut_after_zero_bytes_cuts_an_existing_connection(proxy: FaultProxy, connect: Connect) -> None:
    ones = [connect(proxy) for _ in range(3)]
    for one in ones:
        one.sendall(b"a")
        assert read(one, 1) == b"a"
    proxy.cut_after(0)
    assert (proxy.connections, proxy.cuts) == (2, 1)
    again = connect(proxy)
    again.sendall(b"again")
    assert read(again, 5) == b"again"


def test_cut_now_counts_a_connection_with_a_pending_cut_once(proxy: FaultProxy, connect: Connect) -> None:
    proxy.delay = 2 * LONG  # the bytes that it read are still on their way, so the pending cut has not happened
    proxy.cut_after(3)
    one = connect(proxy)
    one.sendall(b"abc")
    eventually(lambda: proxy.passed(Direction.OUT) == 3)
    assert proxy.cut() == 1
    assert proxy.cuts == 1
    assert_reset(one)


def test_half_open_then_resumed(proxy: FaultProxy, echo: Echo, connect: Connect) -> None:
    old = connect(proxy)
    old.sendall(b"a")
    assert read(old, 1) == b"a"
    proxy.stall()
    new = connect(proxy)  # accepted nevertheless
    for one in (old, new):
        one.sendall(b"b")
        one.settimeout(0.1)
        with pytest.raises(TimeoutError):
            one.recv(1)
        one.settimeout(LONG)
    proxy.resume()
    assert read(old, 1) == b"b"
    assert read(new, 1) == b"b"


@pytest.mark.parametrize("direction", [Direction.OUT, Direction.IN, None])
def test_frozen_connections_pass_nothing_in_a_direction(
    proxy: FaultProxy, echo: Echo, connect: Connect, direction: Direction | None
) -> None:
    frozen = connect(proxy)
    frozen.sendall(b"a")
    assert read(frozen, 1) == b"a"
    before = proxy.passed(Direction.OUT)
    proxy.freeze(direction)
    frozen.sendall(b"b")
    frozen.settimeout(0.1)
    with pytest.raises(TimeoutError):
        frozen.recv(1)
    frozen.settimeout(LONG)
    assert (proxy.passed(Direction.OUT) > before) == (direction is Direction.IN)
    free = connect(proxy)
    free.sendall(b"c")
    assert read(free, 1) == b"c"
    proxy.resume()
    assert read(frozen, 1) == b"b"


def test_frozen_connections_can_be_cut(proxy: FaultProxy, echo: Echo, connect: Connect) -> None:
    one = connect(proxy)
    one.sendall(b"a")
    assert read(one, 1) == b"a"
    proxy.freeze()
    proxy.cut()
    assert_reset(one)


def test_half_open_can_be_cut(proxy: FaultProxy, connect: Connect) -> None:
    proxy.stall()
    one = connect(proxy)
    eventually(lambda: proxy.connections == 1)
    assert proxy.cut() == 1
    assert_reset(one)


def test_refuse_and_resume_on_the_same_port(proxy: FaultProxy, connect: Connect) -> None:
    old = connect(proxy)
    proxy.refuse()
    with pytest.raises(ConnectionRefusedError):
        connect(proxy)
    old.sendall(b"old")
    assert read(old, 3) == b"old"
    proxy.resume()
    new = connect(proxy)
    new.sendall(b"new")
    assert read(new, 3) == b"new"


def test_refuse_keeps_connections_that_the_proxy_has_not_looked_at_yet(echo: Echo, connect: Connect) -> None:
    for _ in range(50):
        with FaultProxy("127.0.0.1", echo.port) as proxy:
            early = connect(proxy)
            proxy.refuse()
            early.sendall(b"early")
            assert read(early, 5) == b"early"


def test_a_broker_that_is_not_there_ends_the_connection(connect: Connect) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with (
            FaultProxy("127.0.0.1", unused.getsockname()[1]) as proxy,
            pytest.raises(ConnectionResetError),  # raised by connect, or by the first read
        ):
            connect(proxy).recv(1)


def test_watch_sees_everything_and_may_cut(echo: Echo, connect: Connect) -> None:
    seen: list[tuple[int, Direction, bytes]] = []

    def watch(number: int, direction: Direction, data: bytes) -> None:
        seen.append((number, direction, data))
        if b"cut" in data:
            watched.cut()

    with FaultProxy("127.0.0.1", echo.port, watch=watch) as watched:
        one = connect(watched)
        one.sendall(b"hello")
        assert read(one, 5) == b"hello"
        one.sendall(b"cut")
        assert_reset(one)
    assert seen == [(1, Direction.OUT, b"hello"), (1, Direction.IN, b"hello"), (1, Direction.OUT, b"cut")]


def test_close_ends_everything_and_is_idempotent(echo: Echo, connect: Connect) -> None:
    before = threading.active_count()
    proxy = FaultProxy("127.0.0.1", echo.port)
    one = connect(proxy)
    one.sendall(b"x")
    assert read(one, 1) == b"x"
    proxy.close()
    proxy.close()
    assert_reset(one)
    with pytest.raises(RuntimeError, match="is closed"):
        proxy.cut()
    eventually(lambda: threading.active_count() <= before)


def test_a_hundred_megabytes_cost_less_than_a_second_of_the_processor(connect: Connect) -> None:
    """The best of five, including the test's own threads that read and write. A tenth of that is usual."""
    total = 60_000_000
    door = socket.create_server(("127.0.0.1", 0))
    with door, FaultProxy("127.0.0.1", door.getsockname()[1]) as proxy:
        one = connect(proxy)
        other, _ = door.accept()
        with other:
            assert max(_rate(one, other, total) for _ in range(5)) > 100_000_000


def _rate(one: socket.socket, other: socket.socket, total: int) -> float:
    """Bytes per second of CPU time, which does not depend on other programs."""
    piece = bytes(262_144)
    room = memoryview(bytearray(262_144))

    def send() -> None:
        for _ in range(total // len(piece)):
            one.sendall(piece)

    started = time.process_time()
    sender = threading.Thread(target=send)
    sender.start()
    left = total // len(piece) * len(piece)
    while left:
        left -= other.recv_into(room[: min(left, len(room))])
    sender.join(LONG)
    return total / (time.process_time() - started)
