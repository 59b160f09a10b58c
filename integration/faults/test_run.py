"""Fault runs without faults, on the embedded broker: processes, ledgers, director and report work together."""

from pathlib import Path

import msgspec
import pytest

from integration.faults.report import BROKEN, text
from integration.faults.run import FaultRunError, Plan, Report, run
from integration.faults.verdict import Verdict


def test_a_small_run_keeps_its_promises(tmp_path: Path) -> None:
    plan = Plan(f"embedded:{tmp_path / 'broker.db'}", 400, cuts=0, consumers=("receive", "transacted"))
    report = run(plan, tmp_path)
    assert report.failures == []
    assert report.verdict.counts == {}
    assert (report.verdict.messages, report.verdict.confirmed, report.verdict.received) == (400, 400, 400)
    assert "kept" in text(report)


def test_a_topic_with_a_shared_durable_subscription(tmp_path: Path) -> None:
    plan = Plan(f"embedded:{tmp_path / 'broker.db'}", 100, cuts=0, producers=("sync",), consumers=("client", "receive"))
    report = run(msgspec.structs.replace(plan, topic=True), tmp_path)
    assert report.failures == []
    assert (report.verdict.counts, report.verdict.received) == ({}, 100)


def test_consumers_that_are_replaced_during_the_run(tmp_path: Path) -> None:
    plan = Plan(f"embedded:{tmp_path / 'broker.db'}", 400, cuts=0, restarts=3, seed=1)
    report = run(plan, tmp_path)
    assert report.failures == []
    assert (report.restarts, report.verdict.counts) == (3, {})
    assert (report.verdict.messages, report.verdict.confirmed, report.verdict.received) == (400, 400, 400)
    assert "3 restart of all consumers" in text(report)
    assert len(list(tmp_path.glob("c*.ledger"))) == 4 * 4


def test_worker_processes_that_are_killed(tmp_path: Path) -> None:
    plan = Plan(f"embedded:{tmp_path / 'broker.db'}", 400, cuts=0, consumers=("processes",), deaths=2)
    report = run(plan, tmp_path)
    assert report.failures == []
    assert report.verdict.counts == {}
    assert sorted(one.kind for one in report.disturbances) == ["supervisor", "worker"]


def test_a_failed_process_is_reported_and_no_process_is_left(tmp_path: Path) -> None:
    plan = Plan(f"embedded:{tmp_path / 'broker.db'}", 10, cuts=0, producers=("sync",), consumers=("unheard-of",))
    report = run(plan, tmp_path)
    assert "c0 ended with 1: KeyError: 'unheard-of'" in report.failures
    assert not report.ok
    assert text(report).startswith("unfinished")
    assert "failed: c0" in text(report)


@pytest.mark.parametrize(("ended_early", "result"), [(True, "unfinished"), (False, BROKEN)])
def test_what_nobody_received_is_lost_unless_a_process_failed(ended_early: bool, result: str) -> None:
    verdict = Verdict(counts={"lost": 1}, broken={"lost": ["p0:1 call 1"]})
    report = Report(Plan("embedded:"), 1.0, [], verdict, ["no progress for 90 s"], ended_early=ended_early)
    assert not report.ok
    assert text(report).startswith(result)


@pytest.mark.parametrize("plan", [Plan("embedded:", cuts=1), Plan("acme://127.0.0.1:1", cuts=0, kills=1)])
def test_impossible_plans_are_refused(plan: Plan, tmp_path: Path) -> None:
    with pytest.raises(FaultRunError, match=r"no cut and no kill|only a broker that this run started"):
        run(plan, tmp_path)
