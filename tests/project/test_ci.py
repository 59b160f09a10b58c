"""What a submission must pass, in which order: `.ci/run` with a stand-in for make."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tools.laws.source import ROOT

# The check ends only when both have begun that run beside it; these end only after the check has ended, in this order.
MAKE = """\
#!/bin/sh
until_said() {
  for second in $(seq 300); do grep -qx "$1" "$LOG" && return; sleep 0.1; done
  echo "never: $1"; exit 9
}
echo "$1" >>"$LOG"
case "$1" in
  check) until_said brokers; until_said pythons ;;
  brokers) until_said "end of check" ;;
  pythons) until_said "end of brokers" ;;
esac
echo "end of $1" >>"$LOG"
echo "output of $1"
test "$1" != "$FAILING"
"""


def run(folder: Path, failing: str = "") -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """What the script printed, and what began and ended in which order."""
    (folder / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", folder / ".ci" / "run")
    (folder / "make").write_text(MAKE, encoding="utf-8")
    (folder / "make").chmod(0o755)
    environment = os.environ | {
        "PATH": f"{folder}:{os.environ['PATH']}",
        "LOG": str(folder / "log"),
        "FAILING": failing,
    }
    ran = subprocess.run(
        ["bash", folder / ".ci" / "run"], env=environment, capture_output=True, text=True, timeout=50, check=False
    )
    return ran, (folder / "log").read_text(encoding="utf-8").splitlines()


def test_brokers_and_pythons_are_fetched_beside_the_check_and_before_the_tests(tmp_path: Path) -> None:
    ran, log = run(tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert log[:2] == ["venv", "end of venv"]
    assert sorted(log[2:5]) == ["brokers", "check", "pythons"]
    assert log[5:9] == ["end of check", "end of brokers", "end of pythons", "test-pythons"]
    assert [each for each in log[9:] if not each.startswith("end")] == ["test", "test-brokers", "test-spark"]
    assert [ran.stdout.count(f"output of {each}") for each in ("brokers", "pythons")] == [1, 1]
    assert ran.stdout.splitlines()[-1] == "output of test-spark"


@pytest.mark.parametrize(
    "failing", ["venv", "check", "brokers", "pythons", "test-pythons", "test", "test-brokers", "test-spark"]
)
def test_a_target_that_fails_is_shown_and_ends_the_run(tmp_path: Path, failing: str) -> None:
    ran, log = run(tmp_path, failing)
    assert ran.returncode != 0
    assert ran.stdout.splitlines()[-1] == f"output of {failing}"
    # nothing begins afterwards; what ran aside meanwhile has ended
    assert log[-1] == ("end of pythons" if failing in ("check", "brokers") else f"end of {failing}")
