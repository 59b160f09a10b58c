"""The streaming reader on the embedded file broker, asked as Spark asks it, without Spark's own processes."""

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql.streaming.datasource import ReadMaxRows

import jmsbridge
from jmsbridge.spark.distributed import Claimed, DistributedReader
from jmsbridge.spark.log import LogError
from jmsbridge.spark.options import read_options
from jmsbridge.spark.receiving import PATIENCE
from jmsbridge.spark.stream import JmsStreamReader


def send(url: str, queue: str, *texts: str) -> None:
    with jmsbridge.connect(url) as connection:
        session = connection.create_session()
        producer = session.create_producer(session.create_queue(queue))
        for text in texts:
            producer.send(session.create_text_message(text))


@contextmanager
def reading(url: str, folder: Path, **given: str) -> Iterator[JmsStreamReader]:
    options = read_options({"url": url, "walPath": str(folder / "log"), "receiveTimeout": "20ms", **given})
    reader = (DistributedReader if options.distributed else JmsStreamReader)(options, ["destination", "body"])
    try:
        yield reader
    finally:
        reader.stop()


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"embedded:{tmp_path / 'broker.db'}"


def test_a_small_batch_waits_for_more_messages(url: str, tmp_path: Path) -> None:
    send(url, "orders", "1", "2")
    with reading(url, tmp_path, queue="orders", minMessagesPerTrigger="3") as reader:
        start = reader.initialOffset()
        deadline = time.monotonic() + 10
        while (reader.reportLatestOffset() or {"received": 0})["received"] < 2:
            assert time.monotonic() < deadline
            assert reader.latestOffset(start) == start
        assert reader.latestOffset(start) == start
        send(url, "orders", "3")
        while (end := reader.latestOffset(start)) == start:
            assert time.monotonic() < deadline
        assert end["lanes"] == {"0": 3}


def test_a_small_batch_does_not_wait_for_ever(url: str, tmp_path: Path) -> None:
    send(url, "orders", "1", "2")
    with reading(url, tmp_path, queue="orders", minMessagesPerTrigger="3", maxTriggerDelay="300ms") as reader:
        start, begun = reader.initialOffset(), time.monotonic()
        while (end := reader.latestOffset(start)) == start:
            assert time.monotonic() < begun + 10
        assert time.monotonic() - begun >= 0.3
        assert end["lanes"] == {"0": 2}


def test_the_last_batch_of_available_now_does_not_wait(url: str, tmp_path: Path) -> None:
    send(url, "orders", "1", "2")
    with reading(url, tmp_path, queue="orders", minMessagesPerTrigger="3") as reader:
        reader.prepareForTriggerAvailableNow()
        assert reader.latestOffset(reader.initialOffset())["lanes"] == {"0": 2}


def test_available_now_gives_whole_batches_and_then_the_rest(url: str, tmp_path: Path) -> None:
    """A segment has 10 messages here; a batch of one segment each would cost Spark more than its rows."""
    send(url, "orders", *map(str, range(60)))
    with reading(url, tmp_path, queue="orders", maxMessagesPerTrigger="10") as reader:
        reader.prepareForTriggerAvailableNow()
        offsets = [reader.initialOffset()]
        while len(offsets) < 10 and (len(offsets) < 2 or offsets[-1] != offsets[-2]):
            offsets.append(reader.latestOffset(offsets[-1], ReadMaxRows(25)))
    assert [each["lanes"]["0"] for each in offsets] == [0, 25, 50, 60, 60]


def test_a_batch_that_a_limit_cuts_does_not_wait(url: str, tmp_path: Path) -> None:
    send(url, "orders", *["x" * 100] * 10)
    limits = {"minMessagesPerTrigger": "8", "maxBytesPerTrigger": "1"}
    with reading(url, tmp_path, queue="orders", **limits) as reader:
        start, deadline = reader.initialOffset(), time.monotonic() + 10
        while (end := reader.latestOffset(start)) == start:
            assert time.monotonic() < deadline
        assert end["lanes"] == {"0": 1}


@pytest.mark.parametrize(
    ("given", "limit"),
    [({"maxMessagesPerTrigger": "1"}, ReadMaxRows(1)), ({"maxBytesPerTrigger": "1"}, None)],
)
def test_a_batch_of_one_row_is_of_each_lane_in_its_turn(
    given: dict[str, str], limit: ReadMaxRows | None, url: str, tmp_path: Path
) -> None:
    for queue in "abcd":
        send(url, queue, "1", "2")
    with reading(url, tmp_path, subscribe="a,b,c,d", **given) as reader:
        start, deadline = reader.initialOffset(), time.monotonic() + 30
        served: set[str] = set()
        while len(served) < 4:
            assert time.monotonic() < deadline
            lanes = reader.latestOffset(start, limit)["lanes"]
            assert sum(lanes.values()) <= 1
            served |= {number for number, end in lanes.items() if end}


@pytest.mark.parametrize("distributed", [False, True])
def test_a_checkpoint_of_another_log_goes_on_with_this_one(url: str, tmp_path: Path, distributed: bool) -> None:
    lost = {"v": 1, "log": "of another folder", "lanes": {"0": 70}}
    later = lost | {"lanes": {"0": 90}}
    given = {"queue": "orders", "distributed": str(distributed).lower()}
    send(url, "orders", "1", "2")
    with reading(url, tmp_path, **given) as reader, pytest.raises(LogError, match="belong together"):
        reader.partitions(lost, later)
    with reading(url, tmp_path, **given, failOnDataLoss="false") as reader:
        reader.prepareForTriggerAvailableNow()
        assert reader.partitions(lost, later) == []  # the batch that had not ended
        end = reader.latestOffset(later)
        reader.commit(later)
        texts = [
            row["body"]
            for part in reader.partitions(later, end)
            for rows in reader.read(part)
            for row in rows.to_pylist()
        ]
        assert texts == [b"1", b"2"]
        assert reader.latestOffset(end) == end
        report = reader.reportLatestOffset()
        assert report is not None
        assert "of another folder" in report["losses"][0]


def test_tasks_of_available_now_wait_for_a_slow_broker_whose_depth_is_unknown(url: str, tmp_path: Path) -> None:
    """Each opens a consumer: one that got nothing within ``receiveTimeout`` ended the run before its queue was read."""
    send(url, "orders", "1", "2")
    given = {"queue": "orders", "selector": "JMSPriority > 0", "distributed": "true", "maxMessagesPerTrigger": "1"}
    with reading(url, tmp_path, **given) as reader:
        reader.prepareForTriggerAvailableNow()
        at = reader.initialOffset()
        for _ in range(2):
            end = reader.latestOffset(at)
            (task,) = reader.partitions(at, end)
            assert isinstance(task, Claimed)
            assert task.claim.patience == PATIENCE
            assert sum(batch.num_rows for batch in reader.read(task)) == 1
            at = end


def test_an_older_checkpoint_fails_before_more_is_received(url: str, tmp_path: Path) -> None:
    """As from a backup: what came now would stay in the log of a query that cannot go on."""
    send(url, "orders", "1")
    with reading(url, tmp_path, queue="orders") as reader:
        reader.prepareForTriggerAvailableNow()
        older = reader.initialOffset()
        reader.commit(reader.latestOffset(older))
    send(url, "orders", "2")
    with reading(url, tmp_path, queue="orders") as reader, pytest.raises(LogError, match="were deleted"):
        reader.latestOffset(older)
    with jmsbridge.connect(url) as connection:
        assert connection.admin.depth(jmsbridge.Queue("orders")) == 1


@pytest.mark.parametrize(("before", "after"), [({}, {"idProperty": "b"}), ({"idProperty": "a"}, {"idProperty": "b"})])
def test_ids_of_another_kind_are_refused(
    before: dict[str, str], after: dict[str, str], url: str, tmp_path: Path
) -> None:
    """Those that the log has kept would not be known again."""
    send(url, "orders", "1")
    for given in (before, before):
        with reading(url, tmp_path, queue="orders", **given) as reader:
            reader.prepareForTriggerAvailableNow()
            assert reader.latestOffset(reader.initialOffset())["lanes"] == {"0": 1}
    for given in (after, {} if before else after):
        with (
            reading(url, tmp_path, queue="orders", **given) as reader,
            pytest.raises(LogError, match="is of another source"),
        ):
            reader.initialOffset()


def test_a_log_that_goes_on_with_another_broker_says_so(
    url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for each in (url, f"{url}.restored"):
        with reading(each, tmp_path, queue="orders") as reader:
            assert reader.initialOffset()["lanes"] == {"0": 0}
    assert "If that is another broker" in caplog.text


def test_a_lane_of_the_checkpoint_that_the_log_lacks(url: str, tmp_path: Path) -> None:
    """It is not made anew where there are fewer receivers than before."""
    send(url, "orders", "1", "2")
    with reading(url, tmp_path, queue="orders", receivers="2") as reader:
        start, at = reader.initialOffset(), reader.initialOffset()
        deadline = time.monotonic() + 20
        while sum(at["lanes"].values()) < 2:
            assert time.monotonic() < deadline
            at = reader.latestOffset(at)
    shutil.rmtree(tmp_path / "log" / "lane-1")
    with reading(url, tmp_path, queue="orders") as reader, pytest.raises(LogError, match=r"lane 1 is missing in .*log"):
        reader.partitions(start, at)
    with reading(url, tmp_path, queue="orders", failOnDataLoss="false") as reader:
        rows = [row for part in reader.partitions(start, at) for rows in reader.read(part) for row in rows.to_pylist()]
        assert len(rows) == at["lanes"]["0"]


def test_several_queues_are_one_stream(url: str, tmp_path: Path) -> None:
    send(url, "a", "1", "2", "3")
    send(url, "b", "4", "5")
    with reading(url, tmp_path, subscribe="a,b", receivers="2") as reader:
        reader.prepareForTriggerAvailableNow()
        start = at = reader.initialOffset()
        rows = []
        while (end := reader.latestOffset(at)) != at:
            for part in reader.partitions(at, end):
                rows += [row for batch in reader.read(part) for row in batch.to_pylist()]
            at = end
        assert at != start
        found = sorted((row["destination"], row["body"].decode()) for row in rows)
        assert found == [("queue:a", "1"), ("queue:a", "2"), ("queue:a", "3"), ("queue:b", "4"), ("queue:b", "5")]


_LOADED = """
import sys
from jmsbridge.spark.options import read_options
from jmsbridge.spark.stream import JmsStreamReader
reader = JmsStreamReader(read_options({"url": sys.argv[1], "walPath": sys.argv[2], "queue": "orders"}), ["body"])
print("pandas" in sys.modules)
reader.initialOffset()
print("pandas" in sys.modules)
reader.stop()
"""


def test_pandas_is_loaded_before_anything_is_received_and_not_by_copies_of_the_reader(url: str, tmp_path: Path) -> None:
    """A receiver would stand still for a second with its first messages in hand, until pyarrow has loaded it."""
    line = [sys.executable, "-c", _LOADED, url, str(tmp_path / "log")]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["False", "True"]
