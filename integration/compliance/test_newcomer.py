"""The example of the README and the demo run unchanged on every broker: only the configuration differs."""

import os
import re
import subprocess
import sys
from pathlib import Path

from jmsbridge.testing import Harness

ROOT = Path(__file__).resolve().parents[2]


def run(harness: Harness, *command: str) -> str:
    """Run a new Python, which gets the broker from the environment; return its output."""
    paths = f"{ROOT}{os.pathsep}{ROOT / 'backends'}"
    environment = {**os.environ, "JMSBRIDGE_URL": harness.url, "PYTHONPATH": paths, "COLUMNS": "200"}
    ran = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, env=environment, timeout=90, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_the_example_of_the_readme(harness: Harness) -> None:
    example = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert example is not None
    assert run(harness, "-c", example[1]) == "two of everything\n"


def test_the_demo(harness: Harness, tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.py").write_text("one\ntwo\n\nfour" * 5, encoding="utf-8")
    assert run(harness, "-m", "jmsbridge.demo", str(tmp_path)).count("identical") == 5
