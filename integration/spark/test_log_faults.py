"""Faults of the log in real queries: loud, with the path in the text that users see, and no message is lost."""

import re
import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadMaxRows
from pyspark.sql.types import StructType

import jmsbridge
from integration.spark.killing import PATIENCE, Job
from jmsbridge.spark.log import LogError
from jmsbridge.spark.source import JmsDataSource

pytestmark = [pytest.mark.server, pytest.mark.timeout(300)]

SENT, BATCH = 300, 100


@pytest.fixture
def job(tmp_path: Path) -> Job:
    made = Job(tmp_path, f"embedded:{tmp_path / 'broker.db'}", batch=BATCH)
    made.send(range(SENT))
    return made


def reached(job: Job) -> None:
    deadline = time.monotonic() + PATIENCE
    while not (job.folder / "reached").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)  # sleep: a file of another process wakes nobody


def fails(spark: Any, job: Job, text: str, **options: Any) -> None:
    with pytest.raises(Exception, match=text):
        job.run(spark, **options)


def dies(spark: Any, job: Job, point: str) -> None:
    with pytest.raises(Exception):  # noqa: B017 - Spark has no type and no text for it
        job.run(spark, observedPoint=point, observedFate="dies")
    reached(job)


def segment(job: Job, start: int) -> Path:
    return job.folder / "log" / "lane-0" / f"{start:020}.arrow"


def test_a_full_disk_ends_the_query_and_acknowledges_nothing(spark: Any, job: Job) -> None:
    query = job.begin(spark, observedPoint="received, not in the log", observedFate="waits")
    reached(job)
    full = segment(job, BATCH).with_suffix(".new")
    full.symlink_to("/dev/full")
    (job.folder / "go").touch()
    path = re.escape(str(segment(job, BATCH)))
    with pytest.raises(Exception, match=rf"cannot write {path}: No space left on device"):
        query.awaitTermination(PATIENCE)
    job.run(spark)  # there is space again
    job.assert_exactly_once(spark, SENT)


def test_a_torn_segment(spark: Any, job: Job) -> None:
    dies(spark, job, "offset logged, not planned")
    torn, whole = segment(job, BATCH), segment(job, BATCH).read_bytes()
    torn.write_bytes(whole[:-40])
    fails(spark, job, rf"the segment {re.escape(str(torn))} is damaged")
    torn.write_bytes(whole)  # as from a backup
    job.run(spark)
    job.assert_exactly_once(spark, SENT)


def test_a_missing_segment(spark: Any, job: Job) -> None:
    dies(spark, job, "offset logged, not planned")
    missing, aside = segment(job, BATCH), job.folder / "aside"
    missing.rename(aside)
    fails(
        spark, job, rf"rows {BATCH} to {2 * BATCH} (are missing in|of) |but the checkpoint has rows until {2 * BATCH}"
    )
    aside.rename(missing)
    job.run(spark)
    job.assert_exactly_once(spark, SENT)


def test_a_lost_low_of_an_emptied_log_fails_before_more_is_received(job: Job) -> None:
    """Rows would get numbers that the checkpoint has passed, and never be read."""
    schema = StructType().add("body", "string")
    given = {name: value for name, value in job.options().items() if not name.startswith("observed")}
    readers: list[Any] = [JmsDataSource(given).streamReader(schema) for _ in range(2)]
    at, deadline = None, time.monotonic() + PATIENCE
    while at is None or at["lanes"]["0"] < SENT:
        assert time.monotonic() < deadline
        at = readers[0].latestOffset(at, ReadMaxRows(BATCH))
    readers[0].commit(at)
    readers[0].stop()
    assert job.left() == 0
    (job.folder / "log" / "lane-0" / "low").unlink()
    job.send(range(SENT, SENT + 10))
    with pytest.raises(LogError, match=rf"ends at row 0, but the checkpoint has rows until {SENT}"):
        readers[1].latestOffset(at, ReadMaxRows(BATCH))
    readers[1].stop()
    assert job.left() == 10


def test_a_lost_folder_of_the_log(spark: Any, job: Job) -> None:
    job.run(spark)
    (job.folder / "log").rename(job.folder / "log.lost")
    job.send(range(SENT, SENT + 10))
    fails(spark, job, "checkpoint and walPath belong together")
    (job.folder / "log").rename(job.folder / "log.new")
    (job.folder / "log.lost").rename(job.folder / "log")
    job.run(spark)
    job.assert_exactly_once(spark, SENT + 10)


def test_the_log_of_another_source(spark: Any, job: Job) -> None:
    job.run(spark)
    fails(spark, job, rf"the log in {re.escape(str(job.folder))}/log is of another source", queue="invoices")
    job.assert_exactly_once(spark, SENT)


def test_two_drivers_at_once(spark: Any, job: Job, tmp_path: Path) -> None:
    query = job.begin(spark, observedPoint="received, not in the log", observedFate="waits")
    reached(job)
    other = Job(tmp_path / "other", job.url, batch=BATCH)
    other.folder.mkdir()
    fails(
        spark,
        other,
        r"another query uses the log in .*each query needs a walPath of its own",
        walPath=f"{tmp_path}/log",
    )
    (job.folder / "go").touch()
    assert query.awaitTermination(PATIENCE)
    job.assert_exactly_once(spark, SENT)


def test_a_body_that_is_no_text_goes_where_decode_errors_says_and_is_never_missing(spark: Any, job: Job) -> None:
    with job.connect() as connection:
        session = connection.create_session()
        bad = session.create_bytes_message()
        bad.write_bytes(b"\xff\xfe")
        session.create_producer(jmsbridge.Queue("orders")).send(bad)
    fails(spark, job, 'a body is not text .*decodeErrors="null" makes it null, bodyFormat="binary" keeps its bytes')
    job.run(spark, decodeErrors="null")
    rows = job.rows(spark)
    assert rows.pop(None) == 1  # type: ignore[call-overload]
    assert rows == {f"text {number}": 1 for number in range(SENT)}
    assert job.left() == 0
