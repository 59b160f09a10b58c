"""Thousands of real signals at random times: no message is lost or duplicated, and no thread is stuck."""

from pathlib import Path

import pytest

from tests.core.interrupts.runs import SHORT, run_storm


def _url(kind: str, folder: Path) -> str:
    urls = {"memory": "embedded:", "file": f"embedded:{folder / 'storm.db'}"}
    return urls.get(kind, "embedded:?send_confirmation=group")


@pytest.mark.timeout(180)
@pytest.mark.parametrize("kind", ["memory", "file"])
def test_interrupted_calls_lose_nothing(kind: str, tmp_path: Path) -> None:
    run_storm(_url(kind, tmp_path), SHORT)


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", ["memory", "groups", "file"])
def test_interrupted_calls_lose_nothing_for_minutes(kind: str, tmp_path: Path) -> None:
    run_storm(_url(kind, tmp_path), 200.0)
