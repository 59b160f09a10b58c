"""The crash matrix on real brokers, where also the broker itself gets SIGKILL."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from integration.lab.broker import Broker
from integration.lab.fixtures import StartBroker
from integration.spark.brokers import CRASHED
from integration.spark.killing import PATIENCE, Job
from integration.spark.observed import POINTS

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


@pytest.mark.parametrize("point", POINTS)
def test_killed_and_started_again_each_message_is_one_row(spark: Any, job: Job, point: str) -> None:
    job.kill_at(point)
    for _ in range(2):  # some come back after the broker has counted them for the first run
        job.run(spark)
    job.assert_exactly_once(spark, SENT)


@pytest.mark.parametrize("point", ["received, not in the log", "on disk, not acknowledged", "acknowledged, not marked"])
def test_the_source_is_killed_while_another_consumer_takes_some(spark: Any, job: Job, point: str) -> None:
    job.kill_at(point)
    taken = job.take(BATCH // 2)
    for _ in range(2):  # some come back after the broker has counted them for the first run
        job.run(spark)
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
    for _ in range(2):  # some come back after the broker has counted them for the first run
        job.run(spark)
    job.assert_exactly_once(spark, SENT)
