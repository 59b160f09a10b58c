"""Receivers on the embedded file broker, without Spark: into the log, killed at named points, and again."""

import gc
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

import jmsbridge
from jmsbridge.spark import receiving
from jmsbridge.spark.log import Log
from jmsbridge.spark.options import ReadOptions, read_options
from jmsbridge.spark.receiving import Drain
from jmsbridge.spark.schema import batch_of, id_of
from jmsbridge.spark.slices import rows_of, slices

SENT = 60
QUEUE = jmsbridge.Queue("orders")


@pytest.fixture
def options(tmp_path: Path) -> ReadOptions:
    url = f"embedded:{tmp_path / 'broker.db'}"
    with jmsbridge.connect(url) as connection:
        session = connection.create_session(True)
        producer = session.create_producer(QUEUE)
        for number in range(SENT):
            message = session.create_text_message(f"body {number}")
            message.set_int_property("n", number)
            producer.send(message)
        session.commit()
    given = {"url": url, "queue": "orders", "walPath": str(tmp_path / "log"), "maxMessagesPerTrigger": "20"}
    return read_options(given)


def drained(options: ReadOptions) -> Log:
    """The log after a run that ends when the queue is empty; Spark's part is to say that it has planned all."""
    journal = Log(Path(str(options.wal_path)), {}, options.receivers, options.dedup_retention)
    drain = Drain(options, journal)
    drain.start(available_now=True)
    try:
        deadline = time.monotonic() + 30
        while not (drain.is_finished() and drain.depth() == 0):
            assert time.monotonic() < deadline
            assert drain.error is None
            drain.wait_news({}, time.monotonic() + 0.05)
            drain.advance({lane.number: lane.end for lane in journal.lanes})
    finally:
        drain.stop()
        journal.close()
    return journal


def rows(journal: Log, columns: Sequence[str], *, inline: bool = False) -> list[dict[str, Any]]:
    start = {lane.number: lane.low for lane in journal.lanes}
    end = {lane.number: lane.end for lane in journal.lanes}
    return list(_rows(slices(journal, start, end, 4, inline=inline), columns))


def _rows(tasks: Any, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    for task in tasks:
        for part in task:
            yield from rows_of(part, columns, "text", "fail").to_pylist()


@pytest.mark.parametrize("inline", [False, True])
def test_every_message_is_a_row_in_order(options: ReadOptions, inline: bool) -> None:
    got = rows(drained(options), ["offset", "body", "properties", "propertyTypes"], inline=inline)
    assert [row["offset"] for row in got] == list(range(SENT))
    assert [row["body"] for row in got] == [f"body {number}" for number in range(SENT)]
    assert got[7]["properties"] == [("n", "7")]
    assert got[7]["propertyTypes"] == [("n", "int")]


def test_an_empty_text_identifies_nothing(by_reference: ReadOptions) -> None:
    got = rows(drained(by_reference), ["body"])
    assert [row["body"] for row in got] == ["None", "''", "'x'", "''"]


def test_the_bytes_of_a_segment_are_those_of_its_properties_too(
    options: ReadOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of a segment is one batch of Arrow, whose columns have an end."""
    monkeypatch.setattr(receiving, "_SEGMENT_BYTES", 4 * len("body 0n" + "8 bytes."))
    (lane,) = drained(options).lanes
    assert max(segment.rows for segment in lane.segments) == 4


def test_tasks_have_about_equal_shares(options: ReadOptions) -> None:
    journal = drained(options)
    tasks = slices(journal, {0: 5}, {0: 47}, 4, inline=False)
    assert [sum(part.count for part in task) for task in tasks] == [11, 11, 11, 9]


def test_messages_are_in_no_cycles_so_that_seldom_searches_keep_none_of_them(options: ReadOptions) -> None:
    with jmsbridge.connect(options.url) as connection:
        connection.start()
        session = connection.create_session(True)
        consumer = session.create_consumer(QUEUE)
        gc.collect()
        gc.disable()
        others = {id(each) for each in gc.get_objects()}  # messages of other tests
        try:
            got = [message for _ in range(SENT) if (message := consumer.receive(timeout=5))]
            assert len(got) == batch_of(got, [id_of(message, None) for message in got]).num_rows == SENT
            session.commit()
            kind = type(got.pop())
            del got, message
            assert not [each for each in gc.get_objects() if type(each) is kind and id(each) not in others]
        finally:
            gc.enable()


def test_the_search_for_cycles_is_as_before_when_receivers_have_stopped(options: ReadOptions) -> None:
    before = gc.get_threshold()
    drained(options)
    assert gc.get_threshold() == before


class TestAvailableNow:
    @pytest.fixture
    def drain(self, options: ReadOptions) -> Iterator[Drain]:
        journal = Log(Path(str(options.wal_path)), {}, 1, 3600.0)
        begun = Drain(options, journal)
        begun.start(available_now=True)
        yield begun
        begun.stop()
        journal.close()

    def test_ends_with_what_there_was_though_others_go_on_sending(self, options: ReadOptions, drain: Drain) -> None:
        with jmsbridge.connect(options.url) as connection:
            session = connection.create_session()
            session.create_producer(QUEUE).send(session.create_text_message("later"))
        deadline = time.monotonic() + 20
        while not drain.is_finished():
            assert time.monotonic() < deadline
            drain.wait_news({}, time.monotonic() + 0.05)
            drain.advance({lane.number: lane.end for lane in drain.log.lanes})
        assert drain.log.lanes[0].end == SENT
        assert drain.depth() == 1

    def test_what_comes_again_in_a_run_is_no_progress_to_its_end(self, drain: Drain) -> None:
        drain.stop()
        drain.receivers[0].quiet_since, drain.places[0].rows = None, 0
        drain.receivers[0]._report(SENT - 20, 20, 0, quiet=False)
        assert not drain.is_finished()
        drain.receivers[0]._report(20, 0, 0, quiet=False)
        assert drain.is_finished()

    def test_what_others_send_to_one_queue_is_no_progress_of_another(self, options: ReadOptions) -> None:
        def send(queue: str, count: int) -> None:
            with jmsbridge.connect(options.url) as connection:
                session = connection.create_session(True)
                for number in range(count):
                    session.create_producer(jmsbridge.Queue(queue)).send(session.create_text_message(f"{number}"))
                session.commit()

        two = msgspec.structs.replace(options, queue=None, subscribe="a,b", max_messages_per_trigger=5)
        send("a", 5)
        send("b", 50)
        journal = Log(Path(str(options.wal_path)), {}, 2, 3600.0)
        drain = Drain(two, journal)
        drain.start(available_now=True)
        send("a", 100)
        deadline = time.monotonic() + 30
        while not drain.is_finished():
            assert time.monotonic() < deadline
            drain.wait_news({}, time.monotonic() + 0.05)
            drain.advance({lane.number: lane.end for lane in journal.lanes})
        drain.stop()
        journal.close()
        assert [lane.end for lane in journal.lanes] == [5, 50]

    def test_waits_for_the_first_message_of_a_topic(self, options: ReadOptions) -> None:
        """No depth says that there is none, and the broker may be far away."""
        given = {"topic": "news", "subscriptionName": "s", "clientId": "c", "walPath": str(options.wal_path)}
        journal = Log(Path(str(options.wal_path)), {}, 1, 3600.0)
        drain = Drain(read_options(given | {"url": options.url, "receiveTimeout": "10ms"}), journal)
        drain.start(available_now=True)
        time.sleep(0.5)  # sleep: the receiver has looked many times
        assert drain.receivers[0].quiet_since is not None
        assert not drain.is_finished()
        with jmsbridge.connect(options.url) as connection:
            session = connection.create_session()
            session.create_producer(jmsbridge.Topic("news")).send(session.create_text_message("first"))
        assert drain.wait_news({}, time.monotonic() + 20)
        deadline = time.monotonic() + 1.5
        while not drain.is_finished():
            assert time.monotonic() < deadline
        drain.stop()
        journal.close()


KILLED = """
import os, signal, sys
from pathlib import Path
from jmsbridge import Session
from jmsbridge.spark import log, ids, receiving, options
from jmsbridge.spark.log import Log

die = lambda *a, **k: os.kill(os.getpid(), signal.SIGKILL)
point = sys.argv[1]
if point == "received": Log.append = die
elif point == "written": log.os.link = die
elif point == "on disk": Session.commit = die
elif point == "acknowledged": ids.KeptIds.acknowledged = die
given = dict(zip(sys.argv[2::2], sys.argv[3::2]))
chosen = options.read_options(given)
drain = receiving.Drain(chosen, Log(Path(given["walPath"]), {}, 1, 3600.0))
drain.start(available_now=True)
drain.receivers[0].join(30)
"""


@pytest.mark.parametrize("point", ["received", "written", "on disk", "acknowledged"])
def test_killed_and_started_again(options: ReadOptions, point: str) -> None:
    given = ["url", options.url, "queue", "orders", "walPath", str(options.wal_path), "maxMessagesPerTrigger", "20"]
    killed = subprocess.run([sys.executable, "-c", KILLED, point, *given], timeout=50, check=False)
    assert killed.returncode == -9
    got = [row["messageId"] for row in rows(drained(options), ["messageId"])]
    assert len(got) == len(set(got)) == SENT
