"""Closing while the file is locked takes at most ``close_timeout``; the threads end later by themselves."""

import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

import jmsbridge
from jmsbridge import Queue
from jmsbridge.testing.suite.support import LONG, eventually, text_of

QUEUE = Queue("orders")


def own_threads(earlier: set[threading.Thread]) -> list[threading.Thread]:
    """The threads of embedded brokers that were started since then."""
    return [each for each in set(threading.enumerate()) - earlier if each.name.startswith("jmsbridge-embedded")]


@pytest.mark.timeout(120)
def test_closing_on_a_locked_file_takes_one_close_timeout(tmp_path: Path) -> None:
    path = tmp_path / "orders.db"
    earlier = set(threading.enumerate())  # Another test of this process may have left threads that are about to end.
    connection = jmsbridge.connect(f"embedded:{path}", close_timeout=0.5)
    connection.start()
    for _ in range(3):
        session = connection.create_session(session_mode=jmsbridge.CLIENT_ACKNOWLEDGE)
        for _ in range(2):
            session.create_consumer(QUEUE)
        session.create_producer(QUEUE).send("m")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        before = time.monotonic()
        connection.close()
        took = time.monotonic() - before
        other.execute("ROLLBACK")
    assert took < 3.0
    eventually(lambda: not own_threads(earlier))
    with jmsbridge.connect(f"embedded:{path}") as again:
        again.start()
        consumer = again.create_session().create_consumer(QUEUE)
        assert [text_of(consumer.receive(timeout=LONG)) for _ in range(3)] == ["m", "m", "m"]
