"""The crash matrix: each process of a real job gets SIGKILL at a named point, and the job is started again.

On an embedded file broker; other brokers are in ``test_source_brokers.py``. Rows = unique = sent, and nothing is left.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from integration.spark.killing import Job
from integration.spark.observed import POINTS

pytestmark = [pytest.mark.server, pytest.mark.timeout(400)]

SENT, BATCH = 300, 100
SECOND = f"n >= {BATCH} AND n < {2 * BATCH}"
"""Selects the segment that a job holds at most points."""
SHORT = {
    "received, not in the log",
    "on disk, not acknowledged",
    "acknowledged, not marked",
    "offset logged, not planned",
    "in a task's read",
    "batch finished, not yet told",
}


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    made = Job(tmp_path, f"embedded:{tmp_path / 'broker.db'}", batch=BATCH)
    made.send(range(SENT))
    yield made
    made.kill()


@pytest.mark.parametrize(
    "point", [pytest.param(each, marks=() if each in SHORT else pytest.mark.long) for each in POINTS]
)
def test_killed_and_started_again_each_message_is_one_row(spark: Any, job: Job, point: str) -> None:
    """The broker requeues at the head."""
    job.kill_at(point)
    job.run(spark)
    job.assert_exactly_once(spark, SENT)


@pytest.mark.long
@pytest.mark.parametrize("point", POINTS)
def test_killed_with_requeue_at_the_tail(spark: Any, job: Job, point: str) -> None:
    job.kill_at(point)
    job.to_tail(SECOND)
    job.run(spark)
    job.assert_exactly_once(spark, SENT)


@pytest.mark.long
@pytest.mark.parametrize("point", POINTS)
def test_killed_while_another_consumer_takes_some(spark: Any, job: Job, point: str) -> None:
    """Taken from a segment that is on disk, they are as if half of it had been acknowledged."""
    job.kill_at(point)
    job.send(range(SENT, SENT + BATCH))
    taken = job.take(BATCH // 2)
    job.run(spark)
    job.assert_exactly_once(spark, SENT + BATCH, besides=taken)


@pytest.mark.long
@pytest.mark.parametrize("first", POINTS)
@pytest.mark.parametrize("second", ["on disk, not acknowledged", "low is written, segment not deleted"])
def test_two_crashes(spark: Any, job: Job, first: str, second: str) -> None:
    """The second one, with new messages before those that came back, also when the first one's segment is deleted."""
    job.kill_at(first)
    job.send(range(SENT, SENT + 2 * BATCH))
    job.to_tail(f"n < {SENT}")
    job.kill_at(second)
    job.to_tail(f"n < {SENT}")
    job.run(spark)
    job.assert_exactly_once(spark, SENT + 2 * BATCH)
