"""What is written down about a started broker, so that any process can find, use and end it."""

import json
import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from integration.brokers import places
from integration.brokers.errors import BrokerFailed
from integration.brokers.ports import wait_free
from integration.brokers.processes import Process, inside, kill_all

__all__ = ["State", "every_state", "load", "remove", "sweep"]

_FILE = "state.json"


@dataclass(frozen=True)
class State:
    """One started broker. With an owner it ends with that process at the latest, without one it stays up."""

    instance: str
    name: str
    home: str
    ports: dict[str, int]
    sync: bool
    owner: Process | None
    processes: tuple[Process, ...] = field(default=())

    @property
    def folder(self) -> Path:
        """Its private folder."""
        return places.runs() / self.instance

    @property
    def running(self) -> bool:
        """Whether the broker's process is there."""
        return bool(self.processes) and self.processes[-1].alive

    def save(self) -> None:
        """Write it down, in one step."""
        path = self.folder / _FILE
        aside = path.with_suffix(".part")
        aside.write_text(json.dumps(_plain(self), indent=1))
        aside.replace(path)

    def with_processes(self, *processes: Process) -> "State":
        """The same with other processes, written down."""
        changed = replace(self, processes=processes)
        changed.save()
        return changed

    def kill(self) -> None:
        """SIGKILL every process that belongs to it, and wait until its ports are free."""
        if not kill_all({*self.processes, *inside(self.folder)}):
            raise BrokerFailed(f"{self.instance}: a process survived SIGKILL")
        wait_free(self.ports.values())


def load(instance: str) -> State | None:
    """What is written down about an instance, or None."""
    try:
        fields: dict[str, Any] = json.loads((places.runs() / instance / _FILE).read_text())
    except FileNotFoundError:
        return None
    owner = fields["owner"]
    fields["owner"] = None if owner is None else Process(**owner)
    fields["processes"] = tuple(Process(**process) for process in fields["processes"])
    return State(**fields)


def every_state() -> list[State]:
    """Every broker that is written down."""
    found = (load(folder.name) for folder in sorted(places.runs().iterdir()) if folder.is_dir())
    return [state for state in found if state is not None]


def remove(state: State) -> None:
    """End what is left of it and forget it, with its data."""
    state.kill()
    shutil.rmtree(state.folder, ignore_errors=True)


def sweep() -> list[str]:
    """Remove what a killed process left behind, and name it: brokers whose owner is gone, folders without a state."""
    swept: list[str] = []
    with places.file_lock("runs"):
        for folder in sorted(places.runs().iterdir()):
            state = load(folder.name)
            if state is None:
                kill_all(inside(folder))
                shutil.rmtree(folder, ignore_errors=True)
            elif state.owner is not None and not state.owner.alive:
                remove(state)
            else:
                continue
            swept.append(folder.name)
    return swept


def _plain(state: State) -> dict[str, Any]:
    def process(one: Process) -> dict[str, Any]:
        return {"pid": one.pid, "started": one.started}

    return {
        "instance": state.instance,
        "name": state.name,
        "home": state.home,
        "ports": state.ports,
        "sync": state.sync,
        "owner": None if state.owner is None else process(state.owner),
        "processes": [process(one) for one in state.processes],
    }
