"""Tasks as consumers in real jobs: the order of Spark's calls, killed at points of their own, and one worker alone."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from integration.networked.schemes import Scheme, rows
from integration.spark.killing import PATIENCE, Job
from integration.spark.observed import IN_TASKS, Observed

pytestmark = [pytest.mark.server, pytest.mark.timeout(400)]

SENT, BATCH = 300, 90
DISTRIBUTED = {"distributed": "true", "receivers": "3"}  # one more than workers, so that one has two tasks
OF_THE_DRIVER = ["batch finished, not yet told", "low is written, segment not deleted"]
SHORT = {"between two tasks", "staged, not acknowledged", "acknowledged, not reported"}
EACH = [pytest.param(each, marks=() if each in SHORT else pytest.mark.long) for each in [*IN_TASKS, *OF_THE_DRIVER]]


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    made = Job(tmp_path, f"embedded:{tmp_path / 'broker.db'}", batch=BATCH, **DISTRIBUTED)
    made.send(range(SENT))
    yield made
    made.kill()


def test_each_run_receives_what_is_new_and_spark_calls_in_the_known_order(spark: Any, job: Job) -> None:
    """A Spark that calls in another order needs a look at ``distributed.py``."""
    assert job.run(spark) == [BATCH, BATCH, BATCH, SENT - 3 * BATCH]
    assert job.calls() == [
        *("prepareForTriggerAvailableNow", "getDefaultReadLimit", "initialOffset", "latestOffset"),
        *("initialOffset", "partitions"),
        *(["latestOffset", "commit", "partitions"] * 3),
        "latestOffset",  # nothing new: the end, without a commit of the last batch
    ]
    job.send(range(SENT, SENT + 20))
    assert job.run(spark) == [20]
    job.assert_exactly_once(spark, SENT + 20)


@pytest.mark.parametrize("point", EACH)
def test_killed_and_started_again_each_message_is_one_row(spark: Any, job: Job, point: str) -> None:
    job.kill_at(point)
    job.run(spark)
    job.assert_exactly_once(spark, SENT)


@pytest.mark.parametrize(
    "point",
    [pytest.param(each, marks=() if each == "staged, not acknowledged" else pytest.mark.long) for each in IN_TASKS],
)
def test_one_worker_is_killed_alone_and_spark_repeats_its_task(spark: Any, job: Job, point: str) -> None:
    assert sum(job.run(spark, observedPoint=point, observedFate="dies")) == SENT
    assert (job.folder / "reached").exists()
    job.assert_exactly_once(spark, SENT)


def run_batches(spark: Any, job: Job, act: Callable[[Any, int], None]) -> None:
    spark.dataSource.register(Observed)
    writer = spark.readStream.format("observed").options(**job.options()).load().writeStream.foreachBatch(act)
    query = writer.option("checkpointLocation", f"{job.folder}/checkpoint").trigger(availableNow=True).start()
    assert query.awaitTermination(PATIENCE)


def test_an_action_that_reads_a_part_of_a_batch_leaves_the_rest_in_the_queue(spark: Any, job: Job) -> None:
    seen: list[str] = []

    def act(batch: Any, number: int) -> None:
        if number == 0:
            seen.extend(row.body for row in batch.take(1))
        elif number > 1:  # of the second batch no task runs
            seen.extend(row.body for row in batch.collect())

    run_batches(spark, job, act)
    assert len(seen) == len(set(seen)) == SENT - BATCH // 3 + 1
    assert job.left() == 0


def test_two_actions_on_a_batch_see_the_same_rows(spark: Any, job: Job) -> None:
    seen: list[list[list[str]]] = []

    def twice(batch: Any, _: int) -> None:
        seen.append([sorted(row.body for row in batch.collect()) for _ in range(2)])

    run_batches(spark, job, twice)
    assert all(first == second for first, second in seen)
    assert sorted(body for first, _ in seen for body in first) == sorted(f"text {number}" for number in range(SENT))
    assert job.left() == 0


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::jmsbridge.errors.EmulationWarning")  # of the test's own transactions
@pytest.mark.parametrize("scheme", rows())
def test_killed_and_started_again_on_each_broker(
    spark: Any, tmp_path: Path, request: pytest.FixtureRequest, scheme: Scheme
) -> None:
    broker = request.getfixturevalue(scheme.broker)
    login = {"clientOptions": json.dumps(scheme.options)}
    if broker.login:
        password = tmp_path / "password"
        password.write_text(broker.password, encoding="utf-8")
        login |= {"user": broker.user, "passwordFile": str(password)}
    queue = f"distributed-{os.getpid()}-{os.urandom(3).hex()}"
    job = Job(tmp_path, broker.url(scheme.plain, user=None), queue, BATCH, **login, **DISTRIBUTED)
    job.send(range(SENT))
    try:
        job.kill_at("staged, not acknowledged")
        job.run(spark)
        job.assert_exactly_once(spark, SENT)
    finally:
        job.kill()
