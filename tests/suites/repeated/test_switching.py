"""The compliance suite once, with as many thread switches as possible."""

import random
import sys
import threading
from pathlib import Path

import pytest

from jmsbridge.core.runtime.locks import Rank, ranked
from tests.suites.repeated.runs import run_suite
from tools import switching
from tools.invariants import OrderedLock


@pytest.mark.timeout(280)
def test_the_suite_passes_when_threads_switch_all_the_time(tmp_path: Path) -> None:
    seed = random.SystemRandom().randrange(1 << 31)
    print(f"order and choices: --randomly-seed={seed}")
    run = run_suite(tmp_path, seed, switching=True, workers=4, timeout=270)
    run.assert_perfect()


def test_the_plugin_switches_and_ends(pytestconfig: pytest.Config) -> None:
    plain, interval = threading.Lock, sys.getswitchinterval()
    switching.pytest_configure(pytestconfig)
    try:
        assert isinstance(threading.Lock(), switching.YieldingLock)
        assert isinstance(ranked(Rank.LEAF), OrderedLock)
        assert sys.getswitchinterval() == pytest.approx(switching.INTERVAL)
    finally:
        switching.pytest_unconfigure(pytestconfig)
    assert threading.Lock is plain
    assert isinstance(ranked(Rank.LEAF), type(plain()))
    assert sys.getswitchinterval() == pytest.approx(interval)


def test_a_yielding_lock_is_a_lock() -> None:
    lock = switching.YieldingLock()
    with lock:
        assert lock.locked()
        assert not lock.acquire(blocking=False)
    assert not lock.locked()
