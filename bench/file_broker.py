"""Rates of the broker in a file, fsync on, and of other Python queues in a file: ``python -m bench.file_broker``.

The peers are ``persist-queue``, ``litequeue`` and kombu's SQLAlchemy transport, where they are installed, with the same
durability (``synchronous = FULL``) and the same 256 bytes; they have no headers, no types and no acknowledgement modes.
"""

import gc
import multiprocessing
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import jmsbridge
import jmsbridge_embedded
from bench.file_peers import peers
from bench.measuring import BODY, WINDOWS, Figure, figure_of, in_turn, resident, windows
from jmsbridge import AUTO_ACKNOWLEDGE, DUPS_OK_ACKNOWLEDGE, Connection, Message, Queue
from jmsbridge.spi import registry

__all__ = ["figures"]

_PATIENCE = 300.0
_ROUND = 100
_QUEUE = Queue("bench")
_TIMES = 10
"""The required rate of asynchronous sends, relative to sends confirmed one at a time."""
_KEPT = 0.7
"""The required rate with a backlog, relative to that without."""
_SHARED = 0.5
"""The required rate of two processes, relative to that of one."""
_GROWTH = 10.0  # MiB


class _Counter:
    """A listener that counts to a number."""

    def __init__(self, count: int) -> None:
        self._left = count
        self._failed: Exception | None = None
        self._done = threading.Event()

    def on_completion(self, message: Message) -> None:
        self._left -= 1
        if not self._left:
            self._done.set()

    def on_exception(self, message: Message, error: Exception) -> None:
        self._failed = error
        self._done.set()

    def wait_done(self) -> None:
        if not self._done.wait(_PATIENCE) or self._failed:
            raise RuntimeError(f"the window did not end: {self._failed or 'no answer'}")


def figures(count: int, backlog: int, moved: int) -> Iterator[Figure]:
    """All figures with their required values; compared ones are measured in turn, window by window."""
    if "embedded" not in registry.names():
        registry.register("embedded", jmsbridge_embedded.backend)
    with tempfile.TemporaryDirectory() as folder:
        empty, full = Path(folder) / "empty.db", Path(folder) / "full.db"
        with jmsbridge.connect(f"embedded:{full}") as connection:
            _send_async(connection, _QUEUE, backlog)
        yield windows("open with a backlog", "s", 1.0, lambda: _open(full), more=False)
        yield _memory(empty, full, count, backlog)
        with jmsbridge.connect(f"embedded:{empty}") as one, jmsbridge.connect(f"embedded:{full}") as other:
            one.start()
            other.start()
            yield from _rates(one, other, count, f", {backlog:,} waiting")
            yield from _moves(one, str(empty), moved)
        yield from peers(Path(folder), count // 25)


def _rates(empty: Connection, full: Connection, count: int, label: str) -> Iterator[Figure]:
    single = 0.0
    for name, bar, number, act in (
        ("confirmed one at a time", None, count // 10, _send_sync),
        ("asynchronous sends", 20_000, count, _send_async),
        (f"transactions of {_ROUND}", 20_000, count, _send_transacted),
        ("receive, AUTO", 10_000, count, _receive_auto),
        ("receive, DUPS_OK", 25_000, count, _receive_dups_ok),
    ):
        first, second = in_turn(partial(_rate, empty, number, act), partial(_rate, full, number, act))
        least = max(bar or 0, _TIMES * single) if act is _send_async else bar
        made = figure_of(name, "messages/s", first, least)
        yield made
        yield figure_of(f"{name}{label}", "messages/s", second, bar)
        yield _share_of(f"{name}: with a backlog", first, second, _KEPT)
        single = single or made.median


def _share_of(name: str, first: list[float], second: list[float], bar: float) -> Figure:
    """Compare each window with the one before it, so that the load of the machine affects both."""
    return figure_of(name, "of the other rate", [two / one for one, two in zip(first, second, strict=True)], bar)


def _rate(connection: Connection, count: int, act: Callable[[Connection, Queue, int], None]) -> float:
    """Messages per second; sent messages are received afterwards, and vice versa."""
    takes = act in (_receive_auto, _receive_dups_ok)
    if takes:
        _send_async(connection, _QUEUE, count)
    started = time.perf_counter()
    act(connection, _QUEUE, count)
    seconds = time.perf_counter() - started
    if not takes:
        _receive_dups_ok(connection, _QUEUE, count)
    return count / seconds


def _send_sync(connection: Connection, queue: Queue, count: int) -> None:
    with connection.create_session() as session:
        producer = session.create_producer(queue)
        for _ in range(count):
            producer.send(session.create_text_message(BODY))


def _send_async(connection: Connection, queue: Queue, count: int) -> None:
    with connection.create_session() as session:
        producer, counter = session.create_producer(queue), _Counter(count)
        for _ in range(count):
            producer.send(session.create_text_message(BODY), completion_listener=counter)
        counter.wait_done()


def _send_transacted(connection: Connection, queue: Queue, count: int) -> None:
    with connection.create_session(True) as session:
        producer = session.create_producer(queue)
        for _ in range(count // _ROUND):
            for _ in range(_ROUND):
                producer.send(session.create_text_message(BODY))
            session.commit()


def _receive_auto(connection: Connection, queue: Queue, count: int) -> None:
    _receive(connection, queue, count, AUTO_ACKNOWLEDGE)


def _receive_dups_ok(connection: Connection, queue: Queue, count: int) -> None:
    _receive(connection, queue, count, DUPS_OK_ACKNOWLEDGE)


def _receive(connection: Connection, queue: Queue, count: int, mode: int) -> None:
    with connection.create_session(False, mode) as session:
        consumer = session.create_consumer(queue)
        for _ in range(count):
            if consumer.receive(timeout=_PATIENCE) is None:
                raise RuntimeError("a message is missing")


def _move(connection: Connection, queue: Queue, count: int) -> float:
    """Send and receive at once; messages per second."""
    started = time.perf_counter()
    sender = threading.Thread(target=_send_async, args=(connection, queue, count))
    sender.start()
    _receive_dups_ok(connection, queue, count)
    sender.join(_PATIENCE)
    return count / (time.perf_counter() - started)


def _moves(connection: Connection, path: str, count: int) -> Iterator[Figure]:
    queue = Queue("moved")
    alone, shared = in_turn(partial(_move, connection, queue, count), partial(_share, connection, path, queue, count))
    yield figure_of(f"{count:,} moved by one process", "messages/s", alone)
    yield figure_of(f"{count:,} moved by two processes", "messages/s", shared)
    yield _share_of("moved by two processes", alone, shared, _SHARED)


def _share(connection: Connection, path: str, queue: Queue, count: int) -> float:
    """Another process sends, this one receives; the start of the process is not counted."""
    context = multiprocessing.get_context("spawn")
    ready, go = context.Event(), context.Event()
    other = context.Process(target=_other, args=(path, queue.queue_name, count, ready, go))
    other.start()
    if not ready.wait(_PATIENCE):
        raise RuntimeError("the other process did not start")
    started = time.perf_counter()
    go.set()
    _receive_dups_ok(connection, queue, count)
    seconds = time.perf_counter() - started
    other.join(_PATIENCE)
    with connection.create_session() as session:
        if session.create_consumer(queue).receive_no_wait() is not None:
            raise RuntimeError("a message came twice")
    return count / seconds


def _other(path: str, queue: str, count: int, ready: Any, go: Any) -> None:
    if "embedded" not in registry.names():
        registry.register("embedded", jmsbridge_embedded.backend)
    with jmsbridge.connect(f"embedded:{path}") as connection:
        connection.start()
        ready.set()
        go.wait(_PATIENCE)
        _send_async(connection, Queue(queue), count)


def _open(path: Path) -> float:
    """Seconds until the first message of the backlog is received."""
    started = time.perf_counter()
    with jmsbridge.connect(f"embedded:{path}") as connection, connection.create_session(True) as session:
        connection.start()
        if session.create_consumer(_QUEUE).receive(timeout=_PATIENCE) is None:
            raise RuntimeError("the backlog is gone")
        return time.perf_counter() - started


def _memory(empty: Path, full: Path, count: int, backlog: int) -> Figure:
    """Additional MiB of a process for the same work because of the backlog."""
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        pairs = [[pool.apply(_size_after, (str(path), count)) for path in (empty, full)] for _ in range(WINDOWS)]
    name = f"memory, {backlog:,} waiting, more than without"
    return figure_of(name, "MiB", [second - first for first, second in pairs], _GROWTH, more=False)


def _size_after(path: str, count: int) -> float:
    if "embedded" not in registry.names():
        registry.register("embedded", jmsbridge_embedded.backend)
    with jmsbridge.connect(f"embedded:{path}") as connection:
        connection.start()
        _send_async(connection, _QUEUE, count)
        _receive_auto(connection, _QUEUE, count)
        gc.collect()
        return resident()


def _main(arguments: list[str]) -> int:
    share = 10 if "--quick" in arguments else 1
    for figure in figures(50_000 // share, 1_000_000 // share, 100_000 // share):
        bar = "" if figure.bar is None else f"  required {figure.bar:,g}: {'met' if figure.met else 'MISSED'}"
        print(f"{figure.name:48} {figure.median:12,.2f} {figure.unit}{bar}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
