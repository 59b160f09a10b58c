"""What the launcher asks of each kind of broker."""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from integration.brokers.certificates import Certificates
from integration.brokers.install import Say
from integration.brokers.probes import Probe
from integration.brokers.table import Kind

__all__ = ["Run", "Server", "Starter"]

Starter = Callable[[Sequence[str | Path], dict[str, str]], None]
"""Starts one process: its command and its environment."""


@dataclass(frozen=True)
class Run:
    """One started broker, as its kind sees it."""

    home: Path
    """The installation, shared by all."""
    folder: Path
    """The private folder of this one: configuration, data, logs."""
    ports: dict[str, int]
    sync: bool
    """Whether what was confirmed is on the disk."""

    @property
    def certificates(self) -> Certificates:
        """Where this one's certificates are."""
        return Certificates.of(self.folder / "tls")

    def environment(self, **more: str | Path) -> dict[str, str]:
        """The environment of its processes: a private home and temporary folder, nothing that would configure Java."""
        kept = {key: os.environ[key] for key in ("PATH", "JAVA_HOME") if key in os.environ}
        own = {"HOME": self.folder, "TMPDIR": self.folder / "tmp", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
        return kept | {key: str(value) for key, value in {**own, **more}.items()}


class Server(ABC):
    """One kind of broker: how to fetch, configure, start, ask and empty it. It holds no state."""

    kind: ClassVar[Kind]
    start_timeout: ClassVar[float] = 60.0
    stop_timeout: ClassVar[float] = 15.0

    @abstractmethod
    def installed(self) -> Path | None:
        """Where it is installed, or None."""

    @abstractmethod
    def fetch(self, say: Say) -> Path:
        """Install it for this user, unless it is; BrokerUnavailable where this machine cannot have it."""

    @abstractmethod
    def configure(self, run: Run) -> None:
        """Write its configuration."""

    @abstractmethod
    def launch(self, run: Run, start: Starter) -> None:
        """Start its processes, the broker itself last."""

    @abstractmethod
    def probes(self, run: Run) -> dict[str, Probe]:
        """A readiness question for each listener."""

    @abstractmethod
    def purge(self, run: Run) -> None:
        """Remove every destination and message that a client made."""
