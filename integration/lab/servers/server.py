"""The interface that each kind of broker implements."""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import ClassVar

from integration.lab.admin.rest import Rest
from integration.lab.certificates import Certificates
from integration.lab.fetching.install import Say, installed
from integration.lab.running.probes import Probe
from integration.lab.table import HOST, PASSWORD, USER, Kind

__all__ = ["Run", "Server", "Starter", "render"]

_TEMPLATES = Path(__file__).parent / "templates"

Starter = Callable[[Sequence[str | Path], dict[str, str]], None]
"""Starts one process: its command and its environment."""


@dataclass(frozen=True)
class Run:
    """One started broker, for the methods of its kind."""

    home: Path
    """The folder of the installation, shared by all."""
    folder: Path
    """The private folder of this broker: configuration, data, logs."""
    ports: dict[str, int]
    sync: bool
    """Whether confirmed messages must be on the disk."""

    options: tuple[str, ...] = ()
    """The options with which it is started."""

    host: str = HOST
    """The address to listen on, which is another one in a container."""

    @property
    def etc(self) -> Path:
        """Its configuration."""
        return self.folder / "etc"

    @property
    def data(self) -> Path:
        """Its data."""
        return self.folder / "data"

    @property
    def tls(self) -> Path:
        """Its certificates."""
        return self.folder / "tls"

    @property
    def certificates(self) -> Certificates:
        """The paths of its certificates."""
        return Certificates.of(self.tls)

    @property
    def rest(self) -> Rest:
        """Its administration over HTTP."""
        return Rest(f"http://{HOST}:{self.ports['admin']}", USER, PASSWORD)

    def environment(self, **more: str | Path) -> dict[str, str]:
        """The environment of its processes: private home and temporary folder, no settings of Java."""
        kept = {key: os.environ[key] for key in ("PATH", "JAVA_HOME") if key in os.environ}
        own = {"HOME": self.folder, "TMPDIR": self.folder / "tmp", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
        return kept | {key: str(value) for key, value in {**own, **more}.items()}


class Server(ABC):
    """One kind of broker: how to fetch, configure, start, ask and empty it. It holds no state."""

    kind: ClassVar[Kind]
    start_timeout: ClassVar[float] = 120.0
    stop_timeout: ClassVar[float] = 15.0

    def installed(self) -> Path | None:
        """The folder where it is installed, or None."""
        return installed(self.place)

    @abstractmethod
    def fetch(self, say: Say) -> Path:
        """Install it for this user unless it is installed; BrokerUnavailable if that is impossible here."""

    @property
    def place(self) -> str:
        """The name of its installation."""
        return f"{self.kind.name}-{self.kind.version}"

    @abstractmethod
    def files(self, run: Run) -> dict[str, str]:
        """Its configuration: file name to text."""

    @abstractmethod
    def command(self, run: Run) -> list[str | Path]:
        """The command that runs the broker."""

    def launch(self, run: Run, start: Starter) -> None:
        """Start its processes, the broker itself last."""
        start(self.command(run), run.environment())

    @abstractmethod
    def probes(self, run: Run) -> dict[str, Probe]:
        """A readiness probe for each listener."""

    @abstractmethod
    def purge(self, run: Run) -> None:
        """Remove every destination and message that clients created."""


def render(name: str, run: Run, **more: str) -> dict[str, str]:
    """The templates of a broker, filled in with ports, folders, login and the given values."""
    ports = {listener: str(port) for listener, port in run.ports.items()}
    places = {"host": run.host, "etc": str(run.etc), "data": str(run.data), "tls": str(run.tls)}
    values = {**ports, **places, "user": USER, "password": PASSWORD, **more}
    found = sorted((_TEMPLATES / name).iterdir())
    return {path.name: Template(path.read_text()).substitute(values) for path in found}
