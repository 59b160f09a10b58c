import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

__all__ = ["Crew", "crew", "path"]

_ROOT = Path(__file__).parents[3]


class Crew:
    """Processes that work on one file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.logs = path.parent / "logs"
        self.logs.mkdir(exist_ok=True)
        self.alive: list[tuple[str, subprocess.Popen[bytes]]] = []
        self._pause = threading.Event()
        self._count = 0

    def start(self, role: str) -> subprocess.Popen[bytes]:
        self._count += 1
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(_ROOT), str(_ROOT / "backends")])}
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tests.embedded.file.worker",
                role,
                str(self.path),
                str(self._log(self._count, role)),
            ],
            cwd=_ROOT,
            env=environment,
        )
        self.alive.append((role, process))
        return process

    def _log(self, number: int, role: str) -> Path:
        return self.logs / f"{number:04}-{role}"

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        self.alive = [(role, one) for role, one in self.alive if one is not process]
        process.send_signal(signal.SIGKILL)
        process.wait(10.0)

    def words(self, first: str) -> list[list[str]]:
        """All log lines that begin with this word, without those that a kill truncated."""
        lines = [line for log in sorted(self.logs.iterdir()) for line in log.read_text().split("\n")[:-1]]
        return [line.split() for line in lines if line.startswith(f"{first} ") or line == first]

    def wait(self, predicate: Callable[[], object], timeout: float = 50.0) -> float:
        """Wait until it is true; return how long that took."""
        started = time.monotonic()
        while not predicate():
            assert time.monotonic() < started + timeout, "the condition did not become true in time"
            self._pause.wait(0.002)
        return time.monotonic() - started

    def pause(self, seconds: float) -> None:
        self._pause.wait(seconds)

    def end(self) -> None:
        for _, process in list(self.alive):
            self.kill(process)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "orders.db"


@pytest.fixture
def crew(path: Path) -> Iterator[Crew]:
    made = Crew(path)
    try:
        yield made
    finally:
        made.end()
