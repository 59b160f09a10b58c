"""Other Python queues in a file, with the same durability and the same 256 bytes, one message at a time."""

import importlib
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from bench.measuring import BODY, Figure, windows

__all__ = ["peers"]

_Acts = tuple[Callable[[], Any], Callable[[], Any]]


def peers(folder: Path, count: int) -> Iterator[Figure]:
    """The figures of the installed libraries."""
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


def _litequeue(folder: Path) -> _Acts:
    queue = importlib.import_module("litequeue").LiteQueue(str(folder / "lite.db"))
    queue.conn.execute("PRAGMA synchronous = FULL")
    return lambda: queue.put(BODY), lambda: queue.done(queue.pop().message_id)


def _persistqueue(folder: Path) -> _Acts:
    queue = importlib.import_module("persistqueue").SQLiteAckQueue(str(folder / "persist"), auto_commit=True)
    return lambda: queue.put(BODY), lambda: queue.ack(queue.get())


def _kombu(folder: Path) -> _Acts:
    # with SQLite's defaults: a rollback journal and synchronous = FULL
    queue = importlib.import_module("kombu").Connection(f"sqla+sqlite:///{folder}/kombu.db").SimpleQueue("bench")
    return lambda: queue.put(BODY), lambda: queue.get(block=False).ack()


def _timed(count: int, act: Callable[[], Any]) -> float:
    started = time.perf_counter()
    for _ in range(count):
        act()
    return count / (time.perf_counter() - started)
