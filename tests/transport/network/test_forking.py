"""Forks, and platforms without them."""

import os
import subprocess
import sys

import pytest

from jmsbridge.transport.network.forking import at_fork


def test_without_fork_nothing_is_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "register_at_fork", raising=False)
    assert at_fork(after_in_child=lambda: None) is None  # type: ignore[func-returns-value]


_PROGRAM = """
import os, sys
from jmsbridge.transport.network.forking import at_fork

at_fork(before=lambda: print("before", flush=True), after_in_child=lambda: print("child", flush=True))
if os.fork():
    os.wait()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_the_hook_runs_in_the_child() -> None:
    done = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, timeout=50, check=True)
    assert done.stdout.split() == ["before", "child"]
