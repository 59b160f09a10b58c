"""The fault run on RabbitMQ, through cuts and kills: nothing confirmed is lost, nothing comes twice without a doubt."""

import random
from pathlib import Path

import pytest

from integration.faults.report import text
from integration.faults.run import Plan, Report, run
from integration.lab.errors import BrokerUnavailable
from integration.lab.fixtures import unavailable

pytestmark = pytest.mark.broker("rabbitmq")


def faults(folder: Path, plan: Plan) -> Report:
    try:
        return run(plan, folder)
    except BrokerUnavailable as error:
        unavailable(str(error))
        raise


@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    ("queue_type", "topic"),
    [("classic", False), ("quorum", False), ("classic", True)],
    ids=["classic", "quorum", "topic"],
)
def test_through_cuts_and_a_kill(tmp_path: Path, queue_type: str, topic: bool) -> None:
    options = f"queue_type={queue_type}"
    seed = random.randrange(1 << 30)
    plan = Plan("rabbitmq", 10_000, cuts=10, kills=1, seed=seed, topic=topic, options=options, restarts=3)
    report = faults(tmp_path, plan)
    assert report.ok, text(report)
    assert (len(report.disturbances), report.restarts) == (11, 3)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("queue_type", ["classic", "quorum"])
def test_through_many_cuts_and_kills(tmp_path: Path, queue_type: str) -> None:
    seed, options = random.randrange(1 << 30), f"queue_type={queue_type}"
    plan = Plan("rabbitmq", 100_000, cuts=50, kills=5, seed=seed, options=options, restarts=25)
    report = faults(tmp_path, plan)
    print(text(report))
    assert report.ok, text(report)
    assert (len(report.disturbances), report.restarts) == (55, 25)
