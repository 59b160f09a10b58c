"""The compliance suite twenty times in a row, and twenty times with as many thread switches as possible.

Each run has another order; its seed is in the name of the test, and ``JMSBRIDGE_SEED=…`` makes all runs start from it.
"""

import os
import random
from pathlib import Path

import pytest

from tests.suites.repeated.runs import run_suite

RUNS = 20
WORKERS = min(8, 4 * (os.cpu_count() or 1))

_start = int(os.environ.get("JMSBRIDGE_SEED", random.SystemRandom().randrange(1 << 30)))


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", range(_start, _start + RUNS))
@pytest.mark.parametrize("switching", [False, True], ids=["plain", "switching"])
def test_the_suite_again(tmp_path: Path, switching: bool, seed: int) -> None:
    run = run_suite(tmp_path, seed, switching=switching, workers=WORKERS, timeout=290)
    run.assert_perfect()
