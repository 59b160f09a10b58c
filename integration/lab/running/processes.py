"""Operating-system processes that outlive the process that started them, identified by id and start time."""

import os
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Process", "inside", "kill_all", "myself", "spawn", "wait_gone"]

_PROC = Path("/proc")
_children: dict[int, subprocess.Popen[bytes]] = {}  # children of this process, to be reaped


@dataclass(frozen=True)
class Process:
    """One process; the start time distinguishes it from a later one with the same id."""

    pid: int
    started: str

    @property
    def alive(self) -> bool:
        """Whether it still runs; a zombie does not."""
        child = _children.get(self.pid)
        if child is None:
            return bool(self.started) and _look(self.pid) == self.started
        if child.poll() is None:
            return True  # a process whose threads are ending also looks like a zombie
        del _children[self.pid]
        return False

    def terminate(self) -> None:
        """SIGTERM; no error if it has ended."""
        if self.alive:
            with suppress(ProcessLookupError):  # it has ended meanwhile
                os.kill(self.pid, signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL, also to its process group; no error if it has ended."""
        if self.alive:
            for send in (os.killpg, os.kill):
                with suppress(ProcessLookupError):  # it does not lead a group, or has ended meanwhile
                    send(self.pid, signal.SIGKILL)


def spawn(command: Sequence[str | Path], env: Mapping[str, str], folder: Path, log: Path) -> Process:
    """Start a process in a new session and in `folder`, its output appended to `log`."""
    with log.open("ab") as output:
        child = subprocess.Popen(
            [str(part) for part in command],
            env=dict(env),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    _children[child.pid] = child
    return Process(child.pid, _look(child.pid))


def myself() -> Process:
    """The current process."""
    return Process(os.getpid(), _look(os.getpid()))


def wait_gone(processes: Iterable[Process], timeout: float) -> bool:
    """Wait until all have ended; False if the time was not enough."""
    deadline = time.monotonic() + timeout
    while any(process.alive for process in processes):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)  # sleep: only a child process could be waited for
    return True


def kill_all(processes: Iterable[Process], timeout: float = 10.0) -> bool:
    """SIGKILL all of them with their groups; False if one has not ended after `timeout` seconds."""
    every = list(processes)
    for process in every:
        process.kill()
    return wait_gone(every, timeout)


def inside(folder: Path) -> Iterator[Process]:
    """Every process of this user whose working directory is in a folder (Linux only)."""
    for entry in _PROC.iterdir() if _PROC.is_dir() else ():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with suppress(OSError):  # of another user, or ended meanwhile
                if (entry / "cwd").readlink().is_relative_to(folder):
                    yield Process(int(entry.name), _look(int(entry.name)))


def _look(pid: int) -> str:
    """The start time as text; empty if the process does not run."""
    if _PROC.is_dir():
        try:
            fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            return ""
        return "" if fields[0] in "ZX" else fields[19]
    listed = subprocess.run(["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    status, _, started = listed.stdout.strip().partition(" ")
    return "" if status.startswith("Z") else started.strip()
