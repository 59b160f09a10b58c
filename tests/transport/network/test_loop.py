"""Both loops: tasks, timers, sockets, and waking from other threads."""

import os
import select
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from jmsbridge.testing.suite.support import eventually
from jmsbridge.transport.network.loop import EpollLoop, SelectorLoop, new_loop

_needs_epoll = pytest.mark.skipif(not hasattr(select, "epoll"), reason="this system has no epoll")
_KINDS = [pytest.param(EpollLoop, marks=_needs_epoll), SelectorLoop]


class Running:
    """A loop on a new thread."""

    def __init__(self, kind: type[EpollLoop] | type[SelectorLoop]) -> None:
        self.loop = kind()
        self.thread = threading.Thread(target=self.loop.start, daemon=True)
        self.thread.start()

    def do(self, task: Callable[[], None]) -> None:
        """Run it there, and wait for it."""
        done = threading.Event()

        def run() -> None:
            task()
            done.set()

        self.loop.add_callback_threadsafe(run)
        assert done.wait(5)

    def end(self) -> None:
        """Stop and close."""
        self.loop.add_callback_threadsafe(self.loop.stop)
        self.thread.join(5)
        assert not self.thread.is_alive()
        self.loop.close()


@pytest.fixture(params=_KINDS)
def running(request: pytest.FixtureRequest) -> Iterator[Running]:
    made = Running(request.param)
    yield made
    made.end()


@_needs_epoll
def test_a_system_with_epoll_gets_the_lean_loop() -> None:
    loop = new_loop()
    assert isinstance(loop, EpollLoop)
    loop.close()


@pytest.mark.parametrize("missing", [(select, "epoll"), (os, "eventfd")])
def test_a_system_without_epoll_gets_the_selectors_of_the_standard_library(
    monkeypatch: pytest.MonkeyPatch, missing: tuple[object, str]
) -> None:
    monkeypatch.delattr(*missing, raising=False)
    loop = new_loop()
    assert isinstance(loop, SelectorLoop)
    loop.close()


def test_tasks_of_every_thread_run_once_in_order(running: Running) -> None:
    seen: list[tuple[int, int]] = []

    def post(who: int) -> None:
        for number in range(2000):
            running.loop.add_callback_threadsafe(lambda number=number: seen.append((who, number)))  # type: ignore[misc]

    threads = [threading.Thread(target=post, args=(who,)) for who in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    running.do(lambda: None)
    assert len(seen) == 8000
    assert all([n for w, n in seen if w == who] == list(range(2000)) for who in range(4))


def test_a_task_from_a_task_runs_in_the_next_turn(running: Running) -> None:
    seen: list[str] = []
    done = threading.Event()

    def second() -> None:
        seen.append("second")
        done.set()

    def first() -> None:
        running.loop.add_callback_threadsafe(second)
        seen.append("first")

    running.loop.add_callback_threadsafe(first)
    assert done.wait(5)
    assert seen == ["first", "second"]


def test_a_sleeping_loop_is_woken(running: Running) -> None:
    """Without timers the loop sleeps without limit; ``do`` waits only a few seconds."""
    for _ in range(50):
        eventually(lambda: running.loop._asleep)
        running.do(lambda: None)


def test_a_timer_may_be_far_away(running: Running) -> None:
    def plan() -> None:
        running.loop.call_later(1e12, lambda: None)

    running.do(plan)
    eventually(lambda: running.loop._asleep)
    running.do(lambda: None)


def test_timers_run_in_order_and_cancelled_ones_do_not(running: Running) -> None:
    seen: list[str] = []
    done = threading.Event()

    def late() -> None:
        seen.append("late")
        done.set()

    def plan() -> None:
        running.loop.call_later(0.06, late)
        gone = running.loop.call_later(0.01, lambda: seen.append("never"))
        running.loop.call_later(0.02, lambda: seen.append("early"))
        running.loop.remove_timeout(gone)

    running.do(plan)
    assert done.wait(5)
    assert seen == ["early", "late"]


def test_sockets_are_read_when_there_is_something_and_when_they_break(running: Running) -> None:
    ours, theirs = socket.socketpair()
    got: list[bytes] = []
    over = threading.Event()

    def ready(fd: int, events: int) -> None:
        assert events & EpollLoop.READ
        data = ours.recv(100)
        got.append(data)
        if not data:
            running.loop.remove_handler(fd)
            over.set()

    with ours, theirs:
        running.do(lambda: running.loop.add_handler(ours.fileno(), ready, EpollLoop.READ))
        theirs.sendall(b"hello")
        theirs.shutdown(socket.SHUT_RDWR)
        assert over.wait(5)
    assert b"".join(got) == b"hello"


def test_the_awaited_events_can_change(running: Running) -> None:
    ours, theirs = socket.socketpair()
    writable = threading.Event()

    def ready(fd: int, events: int) -> None:
        if events & EpollLoop.WRITE:
            running.loop.update_handler(fd, EpollLoop.READ)
            writable.set()

    with ours, theirs:
        running.do(lambda: running.loop.add_handler(ours.fileno(), ready, EpollLoop.READ))
        assert not writable.is_set()
        running.do(lambda: running.loop.update_handler(ours.fileno(), EpollLoop.READ | EpollLoop.WRITE))
        assert writable.wait(5)
        running.do(lambda: running.loop.remove_handler(ours.fileno()))


def test_a_socket_may_wait_for_nothing_for_a_while(running: Running) -> None:
    got: list[bytes] = []
    ours, theirs = socket.socketpair()

    def watch(events: int) -> None:
        running.do(lambda: running.loop.update_handler(ours.fileno(), events))

    with ours, theirs:
        running.do(lambda: running.loop.add_handler(ours.fileno(), lambda *_: got.append(ours.recv(9)), EpollLoop.READ))
        for _ in range(2):
            watch(0)
            theirs.sendall(b"x")
            running.do(lambda: None)
            assert got == []
        watch(EpollLoop.READ)
        eventually(lambda: got == [b"xx"])
        watch(0)
        running.do(lambda: running.loop.remove_handler(ours.fileno()))


@pytest.mark.parametrize("kind", _KINDS)
def test_nothing_is_left_behind_and_nothing_runs_after_the_end(
    kind: type[EpollLoop] | type[SelectorLoop], monkeypatch: pytest.MonkeyPatch
) -> None:
    made, closed, close = Running(kind), Counter[int](), os.close

    def counted(fd: int) -> None:
        closed[fd] += 1
        close(fd)

    monkeypatch.setattr(os, "close", counted)
    made.end()
    made.loop.close()
    made.loop.add_callback_threadsafe(lambda: pytest.fail("it runs"))
    if isinstance(made.loop, EpollLoop):
        assert made.loop._epoll.closed
        assert closed[made.loop._wake] == 1
    else:
        assert made.loop._selector.get_map() is None
        assert [made.loop._reading.fileno(), made.loop._writing.fileno()] == [-1, -1]


def test_many_wake_ups_that_are_not_read_yet_do_not_block(running: Running) -> None:
    seen: list[int] = []

    def wake() -> None:
        for _ in range(100_000):
            running.loop._wake_poll()
        seen.append(1)

    running.do(wake)
    running.do(lambda: None)
    assert seen == [1]
