"""A broker in a container, for JMSBRIDGE_BROKERS=docker: the same ports, users and settings."""

from collections.abc import Iterator

from integration.lab.broker import Broker
from integration.lab.running import docker
from integration.lab.running.probes import Probe
from integration.lab.servers.server import Run

__all__ = ["Contained"]


class Contained(Broker):
    """One real broker that Docker runs; its data are in a volume, which is removed with it."""

    def terminate(self) -> None:
        """Shut it down cleanly; data stay."""
        docker.compose(self.folder, "stop")

    def ctl(self, *arguments: str) -> str:
        """Run its command-line tool in the container; return the output."""
        return docker.compose(self.folder, "exec", "--no-TTY", self.kind.name, self._need_ctl(), *arguments)

    def log(self) -> str:
        """Its whole output."""
        return docker.compose(self.folder, "logs", "--no-color", "--no-log-prefix")

    def follow(self, lines: int) -> Iterator[str]:
        """The last lines of its output, then new lines, until it is stopped."""
        shown = ["--no-color", "--no-log-prefix", "--tail", str(lines)]
        yield from docker.follow(self.folder, "logs", "--follow", *shown)

    def _bring_up(self, run: Run) -> None:
        self._configure(docker.container_run(self.ports, sync=run.sync, server=self._server))
        text = docker.compose_text({self._server: (self.ports, run.etc, run.tls)})
        (run.folder / "compose.yaml").write_text(text)
        docker.compose(self.folder, "up", "--detach")

    def _probes(self) -> dict[str, Probe]:
        offered = docker.published(self._server, self.ports)
        return {name: probe for name, probe in super()._probes().items() if name not in self.ports or name in offered}
