"""Rates of the broker in a file, fsync on, beside Python's usual queues in a file: ``python -m bench.file_broker``.

The peers are ``persist-queue``, ``litequeue`` and kombu's SQLAlchemy transport, where they are installed, with the same
durability (``synchronous = FULL``) and the same 256 bytes; they have no headers, no types and no acknowledgement modes.
"""

import importlib
import itertools
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
from bench.measuring import BODY, Figure, windows
from jmsbridge import Connection, Message, Queue
from jmsbridge.session import AUTO_ACKNOWLEDGE, DUPS_OK_ACKNOWLEDGE
from jmsbridge.spi import registry

__all__ = ["figures"]

_PATIENCE = 300.0
_ROUND = 100
_names = itertools.count(1)


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


def figures(count: int, backlog: int) -> Iterator[Figure]:
    """All figures, with what is asked for."""
    if "embedded" not in registry.names():
        registry.register("embedded", jmsbridge_embedded.backend)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.db"
        with jmsbridge.connect(f"embedded:{path}") as connection:
            connection.start()
            yield from _rates(connection, count, "")
            yield from _two_processes(connection, str(path), count)
            _send_async(connection, Queue("backlog"), backlog)
        yield windows("open with a backlog", "s", 1.0, lambda: _open(path), more=False)
        with jmsbridge.connect(f"embedded:{path}") as connection:
            connection.start()
            yield from _rates(connection, count, f", {backlog:,} waiting", Queue("backlog"))
        yield from _peers(Path(folder), count // 10)


def _rates(connection: Connection, count: int, label: str, queue: Queue | None = None) -> Iterator[Figure]:
    def measure(name: str, bar: float | None, number: int, act: Callable[[Connection, Queue, int], None]) -> Figure:
        return windows(f"{name}{label}", "messages/s", bar, lambda: _rate(connection, queue, number, act))

    yield measure("confirmed one at a time", None, count // 10, _send_sync)
    yield measure("asynchronous sends", 20_000, count, _send_async)
    yield measure(f"transactions of {_ROUND}", 20_000, count, _send_transacted)
    yield measure("receive, AUTO", 10_000, count, _receive_auto)
    yield measure("receive, DUPS_OK", 25_000, count, _receive_dups_ok)


def _rate(
    connection: Connection, queue: Queue | None, count: int, act: Callable[[Connection, Queue, int], None]
) -> float:
    """Messages per second; what is sent is received afterwards, and the other way round."""
    place = queue or Queue(f"bench.{next(_names)}")
    takes = act in (_receive_auto, _receive_dups_ok)
    if takes:
        _send_async(connection, place, count)
    started = time.perf_counter()
    act(connection, place, count)
    seconds = time.perf_counter() - started
    if not takes:
        _receive_dups_ok(connection, place, count)
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


def _two_processes(connection: Connection, path: str, count: int) -> Iterator[Figure]:
    alone = windows("moved by one process", "messages/s", None, lambda: _move(connection, Queue("moved"), count))
    yield alone
    yield windows(
        "moved by two processes",
        "messages/s",
        alone.median / 2,
        lambda: _share(connection, path, Queue("moved"), count),
    )


def _share(connection: Connection, path: str, queue: Queue, count: int) -> float:
    """Another process sends, this one receives; what it takes to start it is not counted."""
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
    """Seconds until the first message of the backlog is there."""
    started = time.perf_counter()
    with jmsbridge.connect(f"embedded:{path}") as connection, connection.create_session(True) as session:
        connection.start()
        if session.create_consumer(Queue("backlog")).receive(timeout=_PATIENCE) is None:
            raise RuntimeError("the backlog is gone")
        return time.perf_counter() - started


def _peers(folder: Path, count: int) -> Iterator[Figure]:
    for name, module, peer in (
        ("litequeue", "litequeue", _litequeue),
        ("persist-queue", "persistqueue", _persistqueue),
        ("kombu, SQLAlchemy", "kombu.transport.sqlalchemy", _kombu),
    ):
        try:
            importlib.import_module(module)
        except ImportError:
            print(f"{name} is not installed: pip install 'jmsbridge[bench]'", file=sys.stderr)
            continue
        put, take = peer(folder)
        yield windows(f"{name}: put", "messages/s", None, partial(_timed, count, put))
        yield windows(f"{name}: take and acknowledge", "messages/s", None, partial(_timed, count, take))


_Acts = tuple[Callable[[], Any], Callable[[], Any]]


def _litequeue(folder: Path) -> _Acts:
    queue = importlib.import_module("litequeue").LiteQueue(str(folder / "lite.db"))
    queue.conn.execute("PRAGMA synchronous = FULL")
    return lambda: queue.put(BODY), lambda: queue.done(queue.pop().message_id)


def _persistqueue(folder: Path) -> _Acts:
    queue = importlib.import_module("persistqueue").SQLiteAckQueue(str(folder / "persist"), auto_commit=True)
    return lambda: queue.put(BODY), lambda: queue.ack(queue.get())


def _kombu(folder: Path) -> _Acts:
    # SQLite's own defaults below it: a rollback journal and synchronous = FULL
    queue = importlib.import_module("kombu").Connection(f"sqla+sqlite:///{folder}/kombu.db").SimpleQueue("bench")
    return lambda: queue.put(BODY), lambda: queue.get(block=False).ack()


def _timed(count: int, act: Callable[[], Any]) -> float:
    started = time.perf_counter()
    for _ in range(count):
        act()
    return count / (time.perf_counter() - started)


def _main(arguments: list[str]) -> int:
    share = 10 if "--quick" in arguments else 1
    for figure in figures(20_000 // share, 1_000_000 // share):
        bar = "" if figure.bar is None else f"  asked for {figure.bar:,.0f}: {'met' if figure.met else 'MISSED'}"
        print(f"{figure.name:48} {figure.median:12,.2f} {figure.unit}{bar}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
