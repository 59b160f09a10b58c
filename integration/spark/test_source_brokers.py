"""The crash matrix on real brokers, where also the broker itself gets SIGKILL."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from integration.lab.broker import Broker
from integration.lab.fixtures import StartBroker
from integration.spark.brokers import CRASHED
from integration.spark.killing import PATIENCE, Job
from integration.spark.observed import POINTS
from jmsbridge import UnsupportedFeatureException

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(600),
    pytest.mark.filterwarnings("ignore::jmsbridge.errors.EmulationWarning"),  # of the test's own transactions
]

SENT, BATCH = 300, 100


@pytest.fixture(params=[pytest.param(name, marks=pytest.mark.broker(name)) for name in CRASHED])
def broker(request: pytest.FixtureRequest, own_broker: StartBroker) -> Broker:
    return own_broker(str(request.param))


@pytest.fixture
def job(tmp_path: Path, broker: Broker) -> Iterator[Job]:
    login = {}
    if broker.login:
        secret = tmp_path / "secret"
        secret.write_text(broker.password, encoding="utf-8")
        login = {"user": broker.user, "passwordFile": str(secret)}
    made = Job(tmp_path, broker.url(user=None), batch=BATCH, **login)
    made.send(range(SENT))
    yield made
    made.kill()


def run_all(spark: Any, job: Job) -> None:
    for _ in range(2):  # some come back after the broker has counted them for the first run
        job.run(spark)


@pytest.mark.parametrize("point", POINTS)
def test_killed_and_started_again_each_message_is_one_row(spark: Any, job: Job, point: str) -> None:
    job.kill_at(point)
    run_all(spark, job)
    job.assert_exactly_once(spark, SENT)


@pytest.mark.parametrize("point", [point for point in POINTS if point != "in a task's read"])
def test_the_source_process_alone_is_killed(spark: Any, job: Job, point: str) -> None:
    job.source_dies(spark, point)
    run_all(spark, job)
    job.assert_exactly_once(spark, SENT)


def test_a_worker_alone_is_killed_and_spark_repeats_its_task(spark: Any, job: Job) -> None:
    assert sum(job.run(spark, observedPoint="in a task's read", observedFate="dies")) == SENT
    assert (job.folder / "reached").exists()
    job.assert_exactly_once(spark, SENT)


@pytest.mark.parametrize("first", ["on disk, not acknowledged", "acknowledged, not marked"])
@pytest.mark.parametrize("second", ["on disk, not acknowledged", "low is written, segment not deleted"])
def test_two_crashes(spark: Any, job: Job, first: str, second: str) -> None:
    """The second one, if the broker can move messages, with new ones before those that came back."""
    job.kill_at(first)
    job.send(range(SENT, SENT + 2 * BATCH))
    with suppress(UnsupportedFeatureException):
        job.to_tail(f"n < {SENT}")
    job.kill_at(second)
    run_all(spark, job)
    job.assert_exactly_once(spark, SENT + 2 * BATCH)


@pytest.mark.parametrize("point", ["received, not in the log", "on disk, not acknowledged", "acknowledged, not marked"])
def test_the_source_is_killed_while_another_consumer_takes_some(spark: Any, job: Job, point: str) -> None:
    job.kill_at(point)
    taken = job.take(BATCH // 2)
    run_all(spark, job)
    job.assert_exactly_once(spark, SENT, besides=taken)


@pytest.mark.parametrize("source_lives", [True, False])
def test_the_broker_is_killed_between_an_acknowledgement_and_the_next_segment(
    spark: Any, job: Job, broker: Broker, source_lives: bool
) -> None:
    """What it had not recorded comes back. A query that fails for it is started again, as users do."""
    running = job.start_to("received, not in the log", "waits")
    if not source_lives:
        job.kill()
    broker.restart(kill=True)
    (job.folder / "go").touch()
    running.communicate(timeout=PATIENCE)
    run_all(spark, job)
    job.assert_exactly_once(spark, SENT)
