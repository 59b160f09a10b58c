"""Real signals at random moments, thousands of them: nothing is lost, nothing comes twice, nobody is stuck."""

from pathlib import Path

import pytest

from tests.core.interrupts.runs import SHORT, run_storm


def _url(kind: str, folder: Path) -> str:
    return "embedded:" if kind == "memory" else f"embedded:{folder / 'storm.db'}"


@pytest.mark.timeout(180)
@pytest.mark.parametrize("kind", ["memory", "file"])
def test_calls_that_are_interrupted_lose_nothing(kind: str, tmp_path: Path) -> None:
    run_storm(_url(kind, tmp_path), SHORT)


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", ["memory", "file"])
def test_calls_that_are_interrupted_for_minutes_lose_nothing(kind: str, tmp_path: Path) -> None:
    run_storm(_url(kind, tmp_path), 200.0)
