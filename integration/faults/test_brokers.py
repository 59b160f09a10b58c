"""The fault run on real brokers with cuts and kills: no confirmed message is lost, duplicates only after a doubt."""

import importlib.util
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from integration.faults.brokers import ROWS, Row
from integration.faults.report import text
from integration.faults.run import Plan, Report, run
from integration.lab.errors import BrokerUnavailable
from integration.lab.fixtures import unavailable


def _runs(*, short: bool, rows: Iterable[Row] = ROWS) -> Iterator[object]:
    for row in rows:
        for topic in (False, True) if short and row.topic else (False,):
            name = f"{row.name}-topic" if topic else row.name
            yield pytest.param(row, topic, id=name, marks=pytest.mark.broker(row.broker))


def faults(folder: Path, row: Row, messages: int, **plan: Any) -> Report:
    if row.module is not None and importlib.util.find_spec(row.module) is None:
        unavailable(f"{row.name}: its client library {row.module} is not installed: pip install jmsbridge[brokers]")
    seed = random.randrange(1 << 30)
    try:
        return run(Plan(row.broker, messages, seed=seed, options=row.options, scheme=row.scheme, **plan), folder)
    except BrokerUnavailable as error:
        unavailable(str(error))
        raise


@pytest.mark.timeout(400)
@pytest.mark.parametrize(("row", "topic"), list(_runs(short=True)))
def test_through_cuts_and_a_kill(tmp_path: Path, row: Row, topic: bool) -> None:
    report = faults(tmp_path, row, row.short, topic=topic, cuts=10, kills=1, restarts=3)
    assert report.ok, text(report)
    assert (len(report.disturbances), report.restarts) == (11, 3)


@pytest.mark.timeout(400)
@pytest.mark.parametrize(("row", "topic"), list(_runs(short=False, rows=[row for row in ROWS if row.applications])))
def test_applications_through_cuts_and_a_kill(tmp_path: Path, row: Row, topic: bool) -> None:
    """Containers, a template and tasks as producers and consumers."""
    roles: dict[str, Any] = {
        "producers": ("template", "aio", "aio"),
        "consumers": ("container", "aio", "async_container"),
    }
    report = faults(tmp_path, row, min(row.short, 4_000), topic=topic, cuts=6, kills=1, restarts=2, **roles)
    assert report.ok, text(report)
    assert (len(report.disturbances), report.restarts) == (7, 2)


@pytest.mark.timeout(400)
@pytest.mark.parametrize(("row", "topic"), list(_runs(short=False, rows=[row for row in ROWS if row.applications])))
def test_worker_processes_through_kills_of_processes(tmp_path: Path, row: Row, topic: bool) -> None:
    """Of workers and of what supervises them, beside cuts and a kill of the broker."""
    roles: dict[str, Any] = {"producers": ("template", "async"), "consumers": ("processes", "container")}
    report = faults(tmp_path, row, min(row.short, 4_000), topic=topic, cuts=3, kills=1, restarts=1, deaths=3, **roles)
    assert report.ok, text(report)
    assert (len(report.disturbances), report.restarts) == (7, 1)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("row", "topic"), list(_runs(short=False)))
def test_through_many_cuts_and_kills(tmp_path: Path, row: Row, topic: bool) -> None:
    report = faults(tmp_path, row, 100_000, topic=topic, cuts=50, kills=5, restarts=25)
    print(text(report))
    assert report.ok, text(report)
    assert (len(report.disturbances), report.restarts) == (55, 25)
