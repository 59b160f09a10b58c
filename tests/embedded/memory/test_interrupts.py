"""Interrupted verbs of the memory broker, in a separate process, because it may hang or crash."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[3]


def run(seconds: float) -> None:
    seed = random.SystemRandom().randrange(1 << 30)
    command = [sys.executable, "-m", "tests.embedded.memory.interrupted", str(seconds), str(seed)]
    found = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, timeout=seconds + 120, check=False)
    print(f"seed {seed}: {found.stdout}")
    assert (found.returncode, found.stderr) == (0, "")


def test_signals_in_any_verb_lose_and_repeat_no_message() -> None:
    """JMSBRIDGE_INTERRUPTED_SECONDS=300 makes it run longer."""
    run(float(os.environ.get("JMSBRIDGE_INTERRUPTED_SECONDS", "4")))


@pytest.mark.long
@pytest.mark.timeout(900)
def test_signals_in_any_verb_for_ten_minutes() -> None:
    run(600)
