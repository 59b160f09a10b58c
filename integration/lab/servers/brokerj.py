"""Qpid Broker-J, from its module jars, with messages in Derby: its distribution wants a store that Maven has not."""

from pathlib import Path
from typing import ClassVar

from integration.lab.admin.rest import Rest, quoted
from integration.lab.fetching import maven
from integration.lab.fetching.install import Say, install
from integration.lab.fetching.java import check_java, machine
from integration.lab.running import probes
from integration.lab.servers.server import Run, Server, render
from integration.lab.table import CLIENT_CERTIFICATES, KINDS, Kind

__all__ = ["BrokerJ"]

_MODULES = (
    *("core", "plugins-amqp-1-0-protocol", "plugins-derby-store", "plugins-memory-store"),
    *("plugins-logging-logback", "plugins-management-http"),
)
_OF_THE_CONSOLE = ("dojo", "dgrid", "dstore")  # what a browser would load: half of the download
_KEPT = ("DLQ",)


class BrokerJ(Server):
    """Qpid Broker-J."""

    kind: ClassVar[Kind] = KINDS["brokerj"]

    def fetch(self, say: Say) -> Path:
        """Its jars, and the one with its main program, without the store that this names."""

        def make(aside: Path, folder: Path) -> None:
            check_java()
            say("jars")
            own = [f"org.apache.qpid:qpid-broker-{module}:{self.kind.version}" for module in _MODULES]
            maven.copy_with_dependencies([*own, "commons-cli:commons-cli:1.11.0"], aside / "lib")
            main = maven.copy(f"org.apache.qpid:qpid-broker:{self.kind.version}:jar", aside)
            main.rename(aside / "lib" / main.name)
            for file in (aside / "lib").iterdir():
                if file.name.startswith(_OF_THE_CONSOLE):
                    file.unlink()

        return install(self.place, make)

    def files(self, run: Run) -> dict[str, str]:
        """Its configuration, read at each start, and that of its virtual host, which it then keeps with its data."""
        if CLIENT_CERTIFICATES in run.options:
            return render("brokerj", run, login="certificates", clients="needClientAuth")
        return render("brokerj", run, login="passwords", clients="wantClientAuth")

    def command(self, run: Run) -> list[str | Path]:
        """Java, without the script that would start it."""
        return [
            *machine(run),
            f"-DQPID_WORK={run.data}",
            f"-Dderby.system.durability={'default' if run.sync else 'test'}",
            f"-Dderby.stream.error.file={run.folder}/logs/derby.log",
            *("-cp", f"{run.home}/lib/*"),
            *("org.apache.qpid.server.Main", "-st", "Memory", "-icp", run.etc / "broker.json"),
        ]

    def probes(self, run: Run) -> dict[str, probes.Probe]:
        """One for each listener; all of them answer before clients are admitted."""
        tls, ports = run.certificates, run.ports
        return {
            "amqp": probes.amqp_1_0(ports["amqp"]),
            "amqps": probes.amqp_1_0(ports["amqps"], tls),
            "admin": lambda: _active(run.rest),
        }

    def purge(self, run: Run) -> None:
        """Delete every queue, those of subscriptions too, but the one for dead letters, which is emptied."""
        rest = run.rest
        for queue in rest.get("/api/latest/queue/jb/jb"):
            place = f"/api/latest/queue/jb/jb/{quoted(queue['name'])}"
            if queue["name"] in _KEPT:
                rest.post(f"{place}/clearQueue", {})
            else:
                rest.delete(place)


def _active(rest: Rest) -> str:
    state = rest.get("/api/latest/virtualhost/jb/jb")["state"]
    return "" if state == "ACTIVE" else f"the virtual host is {state}"
