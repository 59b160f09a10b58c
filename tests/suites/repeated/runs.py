"""One complete run of the compliance suite on the embedded broker, in separate processes."""

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

from tools.laws.source import ROOT

SLOWEST = 10.0  # seconds that a case may take


@dataclass(frozen=True)
class Run:
    """The result of a run."""

    returned: int
    output: str
    cases: dict[str, float]
    """Each case with its seconds, setup and teardown included."""

    @property
    def compliance(self) -> str:
        """The line of the summary that counts native, emulated and refused cases."""
        found = re.search(r"^embedded: .*$", self.output, re.MULTILINE)
        return found[0] if found else ""

    @property
    def slow(self) -> dict[str, float]:
        """Cases that took too long."""
        return {name: seconds for name, seconds in self.cases.items() if seconds > SLOWEST}

    def assert_perfect(self) -> None:
        """Check that every case ran, natively and quickly."""
        assert self.returned == 0, self.output[-6000:]
        assert re.fullmatch(r"embedded: \d+ native, 0 emulated, 0 refused", self.compliance), self.output[-3000:]
        assert len(self.cases) >= 250
        assert self.slow == {}


def run_suite(folder: Path, seed: int, *, switching: bool, workers: int, timeout: float) -> Run:
    """Run every case once, in the order that the seed gives; ``switching`` provokes races."""
    report = folder / "report.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-n", str(workers), "-p", "randomly", f"--randomly-seed={seed}"]
    command += ["-p", "no:cacheprovider", f"--junit-xml={report}", f"--timeout={SLOWEST}"]  # shows where it hangs
    command += ["tests/suites/memory"]
    # The new run must not inherit the settings of this one.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "JMSBRIDGE"))}
    if switching:
        command += ["-p", "tools.switching"]
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=timeout)
    return Run(ran.returncode, ran.stdout + ran.stderr, _cases(report))


def _cases(report: Path) -> dict[str, float]:
    if not report.is_file():
        return {}
    cases = ElementTree.parse(report).iter("testcase")
    return {str(case.get("name")): float(case.get("time", "inf")) for case in cases}
