"""Running ``storm.py`` as a separate program."""

import os
import random
import re
import subprocess
import sys
from pathlib import Path

__all__ = ["SHORT", "run_storm"]

_PROGRAM = Path(__file__).with_name("storm.py")
SHORT = 15.0
"""Seconds of a run in ``make test``."""
_LEAST = 50  # signals per second; hundreds on an idle machine
_PATIENCE = 120.0  # seconds for the rest: starting, receiving the remaining messages, closing


def run_storm(url: str, seconds: float) -> None:
    """Run it for this time; ``JMSBRIDGE_SEED`` repeats a run. Prints a summary; AssertionError if it failed."""
    seed = os.environ.get("JMSBRIDGE_SEED", str(random.SystemRandom().randrange(1 << 30)))
    run = subprocess.run(
        [sys.executable, str(_PROGRAM), url, str(seconds), seed],
        capture_output=True,
        text=True,
        timeout=seconds + _PATIENCE,
        check=False,
    )
    print(run.stdout)
    assert run.returncode == 0, f"seed {seed}\n{run.stdout[-6000:]}\n{run.stderr[-3000:]}"
    raised = re.search(r"(\d+) raised", run.stdout)
    assert raised is not None, run.stdout
    assert int(raised[1]) > seconds * _LEAST, run.stdout
