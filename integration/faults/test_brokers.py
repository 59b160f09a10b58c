"""The fault run on real brokers with cuts and kills: no confirmed message is lost, duplicates only after a doubt."""

import importlib.util
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.faults.brokers import BROKERS
from integration.faults.report import text
from integration.faults.run import Plan, Report, run
from integration.lab.errors import BrokerUnavailable
from integration.lab.fixtures import unavailable


def _runs(*, short: bool) -> Iterator[object]:
    for broker, row in BROKERS.items():
        for kind, options in row.runs.items():
            for topic in (False, True) if short and kind in row.topics else (False,):
                name = f"{broker}-{kind}-topic" if topic else f"{broker}-{kind}"
                yield pytest.param(broker, options, topic, id=name, marks=pytest.mark.broker(broker))


def faults(folder: Path, plan: Plan) -> Report:
    module = BROKERS[plan.broker].module
    if module is not None and importlib.util.find_spec(module) is None:
        unavailable(f"{plan.broker}: the client library {module} is not installed: pip install jmsbridge[amqp]")
    try:
        return run(plan, folder)
    except BrokerUnavailable as error:
        unavailable(str(error))
        raise


@pytest.mark.timeout(400)
@pytest.mark.parametrize(("broker", "options", "topic"), list(_runs(short=True)))
def test_through_cuts_and_a_kill(tmp_path: Path, broker: str, options: str, topic: bool) -> None:
    seed = random.randrange(1 << 30)
    plan = Plan(broker, BROKERS[broker].short, cuts=10, kills=1, seed=seed, topic=topic, options=options, restarts=3)
    report = faults(tmp_path, plan)
    assert report.ok, text(report)
    assert (len(report.disturbances), report.restarts) == (11, 3)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("broker", "options", "topic"), list(_runs(short=False)))
def test_through_many_cuts_and_kills(tmp_path: Path, broker: str, options: str, topic: bool) -> None:
    seed = random.randrange(1 << 30)
    plan = Plan(broker, 100_000, cuts=50, kills=5, seed=seed, topic=topic, options=options, restarts=25)
    report = faults(tmp_path, plan)
    print(text(report))
    assert report.ok, text(report)
    assert (len(report.disturbances), report.restarts) == (55, 25)
