"""The state file of a started broker, with which any process can find, use and end it."""

import json
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from integration.lab.errors import BrokerFailed
from integration.lab.running import docker, places
from integration.lab.running.ports import wait_free
from integration.lab.running.processes import Process, inside, kill_all, myself

__all__ = ["State", "every_state", "load", "remove", "sweep"]

_FILE = "state.json"
_OWNERS = "owners"
_OPTIONS = "options"


@dataclass(frozen=True)
class State:
    """One started broker. It ends some time after the last of its owners; without any it stays up."""

    instance: str
    name: str
    home: str
    ports: dict[str, int]
    sync: bool
    processes: tuple[Process, ...] = field(default=())

    @property
    def folder(self) -> Path:
        """Its private folder."""
        return places.runs() / self.instance

    @property
    def options(self) -> tuple[str, ...]:
        """Those of its kind that it was started with."""
        file = self.folder / _OPTIONS
        return tuple(file.read_text().split()) if file.exists() else ()

    def choose(self, options: Iterable[str]) -> None:
        """Record the options with which it is started.

        They are in a separate file: an older launcher, from another checkout with the same cache, would not
        know them, and removes a broker whose state it cannot read.
        """
        (self.folder / _OPTIONS).write_text(" ".join(options))

    def own(self) -> None:
        """Add this process to its owners."""
        self._mark(myself()).parent.mkdir(mode=0o700, exist_ok=True)
        self._mark(myself()).touch()

    def disown(self) -> bool:
        """Remove this process from its owners; True if no running owner is left."""
        self._mark(myself()).unlink(missing_ok=True)
        return self.abandoned

    @property
    def abandoned(self) -> bool:
        """Whether it had owners, and none of them runs."""
        marks = self.folder / _OWNERS
        return marks.is_dir() and not any(_owner(mark.name).alive for mark in marks.iterdir())

    @property
    def contained(self) -> bool:
        """Whether Docker runs it."""
        return self.home == docker.CONTAINER

    @property
    def running(self) -> bool:
        """Whether the broker's process runs."""
        if self.contained:
            return bool(docker.compose(self.folder, "ps", "--status", "running", "--quiet").strip())
        return bool(self.processes) and self.processes[-1].alive

    def save(self) -> None:
        """Write the file atomically."""
        path = self.folder / _FILE
        aside = path.with_suffix(".part")
        aside.write_text(json.dumps(_plain(self), indent=1))
        aside.replace(path)

    def with_processes(self, *processes: Process) -> "State":
        """The same with other processes, saved."""
        changed = replace(self, processes=processes)
        changed.save()
        return changed

    def with_sync(self, sync: bool) -> "State":
        """The same with that setting, saved; it applies from the next start on."""
        changed = replace(self, sync=sync)
        changed.save()
        return changed

    def kill(self) -> None:
        """SIGKILL every process that belongs to it, and wait until its ports are free."""
        if self.contained and (self.folder / "compose.yaml").exists():
            docker.compose(self.folder, "kill")
        while found := {process for process in (*self.processes, *inside(self.folder)) if process.alive}:
            if not kill_all(found):
                raise BrokerFailed(f"{self.instance}: a process survived SIGKILL")
        wait_free(self.ports.values())

    def _mark(self, owner: Process) -> Path:
        return self.folder / _OWNERS / f"{owner.pid} {owner.started}"


def load(instance: str) -> State | None:
    """The state of an instance; None if there is none or it cannot be read."""
    try:
        fields: dict[str, Any] = json.loads((places.runs() / instance / _FILE).read_text())
        fields["processes"] = tuple(Process(**process) for process in fields["processes"])
        return State(**fields)
    except (FileNotFoundError, ValueError, KeyError, TypeError):  # no file, not JSON, or of another version
        return None


def every_state() -> list[State]:
    """The states of all brokers."""
    found = (load(folder.name) for folder in sorted(places.runs().iterdir()) if folder.is_dir())
    return [state for state in found if state is not None]


def remove(state: State) -> None:
    """End its remaining processes, and remove its state and data."""
    if state.contained and (state.folder / "compose.yaml").exists():
        docker.compose(state.folder, "down", "--volumes")
    else:
        state.kill()
    shutil.rmtree(state.folder, ignore_errors=True)


def sweep() -> list[str]:
    """Remove brokers whose owners have ended and folders without a state; return their names."""
    swept: list[str] = []
    containers: list[State] = []
    with places.file_lock("runs"):
        for folder in sorted(places.runs().iterdir()):
            state = load(folder.name)
            if state is None:
                kill_all(inside(folder))
                shutil.rmtree(folder, ignore_errors=True)
            elif state.abandoned and state.contained:  # may take minutes, so not while holding the lock
                state.own()  # so that only this process ends it; if this process is killed, the next one does
                containers.append(state)
            elif state.abandoned:
                remove(state)
            else:
                continue
            swept.append(folder.name)
    for state in containers:
        remove(state)
    return swept


def _owner(mark: str) -> Process:
    pid, _, started = mark.partition(" ")
    return Process(int(pid), started)


def _plain(state: State) -> dict[str, Any]:
    return {
        "instance": state.instance,
        "name": state.name,
        "home": state.home,
        "ports": state.ports,
        "sync": state.sync,
        "processes": [{"pid": one.pid, "started": one.started} for one in state.processes],
    }
