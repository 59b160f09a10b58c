"""The compliance suite once, with as many thread switches as possible."""

import random
import sys
import threading
from pathlib import Path

import pytest

from jmsbridge.core.runtime.locks import OrderedLock, Rank
from tests.suites.repeated.runs import run_suite
from tools import switching


@pytest.mark.timeout(280)
def test_the_suite_passes_when_threads_switch_all_the_time(tmp_path: Path) -> None:
    seed = random.SystemRandom().randrange(1 << 31)
    print(f"order and choices: --randomly-seed={seed}")
    run = run_suite(tmp_path, seed, switching=True, workers=4, timeout=270)
    run.assert_perfect()


def test_the_plugin_switches_and_ends(pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch) -> None:
    plain, interval = threading.Lock, sys.getswitchinterval()
    monkeypatch.setenv("JMSBRIDGE_DEBUG_LOCKS", "yield")
    switching.pytest_configure(pytestconfig)
    try:
        assert isinstance(threading.Lock(), switching.YieldingLock)
        assert sys.getswitchinterval() == pytest.approx(switching.INTERVAL)
    finally:
        switching.pytest_unconfigure(pytestconfig)
    assert threading.Lock is plain
    assert sys.getswitchinterval() == pytest.approx(interval)


def test_the_plugin_needs_the_locks_of_the_core_too(
    pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JMSBRIDGE_DEBUG_LOCKS", raising=False)
    with pytest.raises(pytest.UsageError, match="JMSBRIDGE_DEBUG_LOCKS=yield"):
        switching.pytest_configure(pytestconfig)


def test_a_yielding_lock_is_a_lock() -> None:
    lock = switching.YieldingLock()
    with lock:
        assert lock.locked()
        assert not lock.acquire(blocking=False)
    assert not lock.locked()


def test_a_lock_out_of_order_is_noticed() -> None:
    outer, inner = OrderedLock(Rank.SESSION), OrderedLock(Rank.LEAF, yielding=True)
    with outer, inner:
        pass
    with inner, pytest.raises(AssertionError, match="lock order"):
        outer.acquire()
    assert outer.acquire(blocking=False)
    outer.release()
