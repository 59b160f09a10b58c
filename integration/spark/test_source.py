"""The streaming source in one session of Spark, on an embedded file broker: what survives if only a part of it dies."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadMaxRows
from pyspark.sql.types import StructType

from integration.spark.killing import Job
from integration.spark.observed import POINTS
from jmsbridge.spark.source import JmsDataSource

pytestmark = [pytest.mark.server, pytest.mark.timeout(300)]

SENT, BATCH = 300, 100


@pytest.fixture
def job(tmp_path: Path) -> Job:
    made = Job(tmp_path, f"embedded:{tmp_path / 'broker.db'}", batch=BATCH)
    made.send(range(SENT))
    return made


def test_each_run_reads_what_is_new_and_spark_calls_in_the_known_order(spark: Any, job: Job) -> None:
    """A Spark that calls in another order needs a look at ``stream.py``."""
    assert job.run(spark) == [BATCH] * 3
    assert job.calls() == [
        *("prepareForTriggerAvailableNow", "getDefaultReadLimit", "initialOffset", "latestOffset"),
        *("initialOffset", "partitions"),
        *("latestOffset", "commit", "partitions"),
        *("latestOffset", "commit", "partitions"),
        "latestOffset",  # nothing new: the end, without a commit of the last batch
    ]
    job.send(range(SENT, SENT + 20))
    assert job.run(spark) == [20]
    job.assert_exactly_once(spark, SENT + 20)


@pytest.mark.parametrize("point", [point for point in POINTS if point != "in a task's read"])
def test_the_source_process_alone_is_killed(spark: Any, job: Job, point: str) -> None:
    job.source_dies(spark, point)
    job.run(spark)
    job.assert_exactly_once(spark, SENT)


def test_a_worker_alone_is_killed_and_spark_repeats_its_task(spark: Any, job: Job) -> None:
    assert job.run(spark, observedPoint="in a task's read", observedFate="dies") == [BATCH] * 3
    assert (job.folder / "reached").exists()
    job.assert_exactly_once(spark, SENT)


@pytest.mark.parametrize("point", ["on disk, not acknowledged", "acknowledged, not marked"])
@pytest.mark.parametrize("head", [True, False], ids=["head", "tail"])
def test_requeued_at_head_or_tail_while_another_consumer_takes_some(
    spark: Any, job: Job, point: str, head: bool
) -> None:
    job.source_dies(spark, point)
    job.send(range(SENT, SENT + BATCH))
    if not head:
        job.to_tail(f"n < {SENT}")
    taken = job.take(BATCH // 2)
    job.run(spark)
    job.assert_exactly_once(spark, SENT + BATCH, besides=taken)


def test_two_crashes(spark: Any, job: Job) -> None:
    """An unacknowledged segment, then its deletion before its messages come back: their ids outlive it."""
    job.source_dies(spark, "on disk, not acknowledged")
    job.send(range(SENT, SENT + 2 * BATCH))
    job.to_tail(f"n < {SENT}")
    job.source_dies(spark, "segment deleted, its mark not")
    job.to_tail(f"n < {SENT}")
    job.run(spark)
    job.assert_exactly_once(spark, SENT + 2 * BATCH)


def test_a_run_goes_on_behind_messages_that_are_all_in_the_log(spark: Any, job: Job) -> None:
    """AvailableNow ended here once: a segment of messages that came again is no news, and no empty queue either."""
    job.source_dies(spark, "on disk, not acknowledged", observedBefore=0)
    assert sum(job.run(spark)) >= SENT - BATCH
    job.assert_exactly_once(spark, SENT)


def test_a_batch_that_is_written_but_not_noted_is_not_written_again(spark: Any, job: Job) -> None:
    job.run(spark)
    noted = sorted((job.folder / "checkpoint" / "commits").glob("[0-9]*"))[-1]
    noted.unlink()
    (noted.parent / f".{noted.name}.crc").unlink()
    job.send(range(SENT, SENT + 20))
    assert sum(job.run(spark)) == 20  # the sink has a note of its own, and does not read the batch again
    job.assert_exactly_once(spark, SENT + 20)


def test_a_run_ends_though_messages_keep_coming(job: Job) -> None:
    """It stood still once: it had what there was at its start, and waited for an empty queue."""
    given = {name: value for name, value in job.options().items() if not name.startswith("observed")}
    reader: Any = JmsDataSource(given).streamReader(StructType().add("body", "string"))
    reader.prepareForTriggerAvailableNow()
    at = reader.latestOffset(None, ReadMaxRows(BATCH))
    job.send(range(SENT, SENT + 10))
    while (end := reader.latestOffset(at, ReadMaxRows(BATCH))) is not at:
        at = end
    reader.stop()
    assert at["lanes"] == {"0": SENT}
    assert job.left() == 10
