"""The link is lost while one consumer has a message in hand, and another one gets it: it is one row, never none or two.

On the embedded file broker, which gives a message that comes again to the first of two consumers.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest

import jmsbridge
import jmsbridge.spark.log as log_module
import jmsbridge_embedded
from jmsbridge.spark import staging
from jmsbridge.spark.log import Log, LogError
from jmsbridge.spark.options import ReadOptions, read_options
from jmsbridge.spark.receiving import Drain
from jmsbridge.spark.slices import rows_of, slices
from jmsbridge.spark.staging import Claim, staged

QUEUE = jmsbridge.Queue("orders")


@pytest.fixture
def options(tmp_path: Path) -> ReadOptions:
    given = {"url": f"embedded:{tmp_path / 'broker.db'}", "queue": "orders", "walPath": str(tmp_path / "log")}
    return read_options(given | {"receivers": "2", "receiveTimeout": "100ms", "jms.reconnectDelay": "10ms"})


@pytest.fixture
def journal(options: ReadOptions) -> Iterator[Log]:
    opened = Log(Path(str(options.wal_path)), {}, 2, 3600.0)
    yield opened
    opened.close()
    for each in list(staging._connections._open):
        staging._connections.forget(each)


@pytest.fixture
def drain(options: ReadOptions, journal: Log) -> Iterator[Drain]:
    begun = Drain(options, journal)
    begun.start(available_now=False)
    yield begun
    begun.stop()


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)  # sleep: the log wakes only the receivers


def send(options: ReadOptions, text: str) -> None:
    with jmsbridge.connect(options.url) as connection:
        session = connection.create_session()
        session.create_producer(QUEUE).send(session.create_text_message(text))


def left(options: ReadOptions) -> list[str]:
    with jmsbridge.connect(options.url) as connection:
        browser = connection.create_session().create_browser(QUEUE)
        return [str(message.get_body(str)) for message in browser]


def cut(options: ReadOptions) -> None:
    jmsbridge_embedded.cut(path=options.url.removeprefix("embedded:"))


def rows(journal: Log) -> Counter[str]:
    start, end = {lane.number: 0 for lane in journal.lanes}, {lane.number: lane.end for lane in journal.lanes}
    parts = [part for task in slices(journal, start, end, 1, inline=False) for part in task]
    return Counter(str(row["body"]) for part in parts for row in rows_of(part, ["body"], "text", "fail").to_pylist())


def give_to_second(drain: Drain) -> None:
    """Send two messages, of which the second receiver gets the second."""
    send(drain.options, "first")
    wait_for(lambda: drain.log.lanes[0].end == 1)
    send(drain.options, "second")


def test_a_write_that_fails_after_another_receiver_has_got_the_message(
    drain: Drain, options: ReadOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, writing, disk_is_full = log_module.publish, threading.Event(), threading.Event()

    def failing(path: Path, batch: Any, new: Path) -> int:
        if path.parent.name == "lane-0":
            return plain(path, batch, new)
        writing.set()
        assert disk_is_full.wait(20)
        raise LogError(f"cannot write {path}: No space left on device")

    monkeypatch.setattr(log_module, "publish", failing)
    give_to_second(drain)
    assert writing.wait(20)
    cut(options)
    time.sleep(1)  # sleep: until the first receiver has it, and has done with it what it does
    disk_is_full.set()
    wait_for(lambda: drain.error is not None)
    drain.receivers[1].join(20)
    drain.stop()
    assert rows(drain.log) + Counter(left(options)) == Counter({"first": 1, "second": 1})


@pytest.mark.parametrize("waits", [(0.1, 2.0), (2.0, 1.0)])
def test_both_have_the_message_in_hand(drain: Drain, options: ReadOptions, waits: tuple[float, float]) -> None:
    """The one that does not wait as long for more messages writes first."""
    for receiver, seconds in zip(drain.receivers, waits, strict=True):
        receiver._options = msgspec.structs.replace(options, receive_timeout=seconds)
    give_to_second(drain)
    time.sleep(0.3)  # sleep: until the second receiver has it, which nothing shows
    cut(options)
    wait_for(lambda: drain.received >= 3)
    assert rows(drain.log) == Counter({"first": 1, "second": 1})
    assert left(options) == []


def taken(options: ReadOptions, journal: Log, lane: int, patience: float) -> list[str]:
    """The rows of a task, which waits for so many seconds for more messages."""
    chosen = msgspec.structs.replace(options, receive_timeout=patience)
    part = staged(Claim(str(journal.folder), journal.uuid, lane, 0, 20, 1.0), chosen)
    return [str(body) for body in rows_of(part, ["body"], "text", "fail").column(0).to_pylist()]


@pytest.mark.parametrize("waits", [(2.0, 0.1), (2.0, 3.0), (2.0, 1.4)])
def test_two_tasks_have_the_messages_in_hand(options: ReadOptions, journal: Log, waits: tuple[float, float]) -> None:
    """The broker gives the first link up while its task, and its client, know nothing of it; both tasks go on."""
    sent = [f"text {number}" for number in range(10)]
    for text in sent:
        send(options, text)
    with ThreadPoolExecutor() as pool:
        first = pool.submit(taken, options, journal, 0, waits[0])
        wait_for(lambda: len(staging._connections._open) == 1)
        time.sleep(0.5)  # sleep: until it has all messages, and waits for more
        [(connection, _)] = staging._connections._open.values()
        link: Any = connection._core.supervisor.link
        link.access.call(lambda batch: link.end(batch, "the broker gives it up", death=True))
        second = pool.submit(taken, options, journal, 1, waits[1])
        found = first.result(30) + second.result(30)
    assert sorted(found) == sent
    assert left(options) == []
