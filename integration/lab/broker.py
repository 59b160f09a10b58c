"""A started broker, as tests and the command line use it."""

import shutil
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from urllib.parse import quote

from integration.lab.admin.rest import Rest
from integration.lab.certificates import Certificates, make_certificates
from integration.lab.errors import BrokerError, BrokerFailed
from integration.lab.running import state
from integration.lab.running.probes import Probe, wait_ready
from integration.lab.running.processes import spawn, wait_gone
from integration.lab.running.state import State
from integration.lab.servers.activemq import ActiveMQ
from integration.lab.servers.artemis import Artemis
from integration.lab.servers.brokerj import BrokerJ
from integration.lab.servers.pulsar import Pulsar
from integration.lab.servers.rabbitmq import RabbitMQ, RabbitMQ3, rabbitmqctl
from integration.lab.servers.server import Run, Server
from integration.lab.table import CLIENT_CERTIFICATES, HOST, LOGINS, PASSWORD, USER, Kind, kind

__all__ = ["SERVERS", "Broker", "last_lines"]

SERVERS: dict[str, Server] = {
    server.kind.name: server for server in (RabbitMQ(), RabbitMQ3(), ActiveMQ(), Artemis(), BrokerJ(), Pulsar())
}


class Broker:
    """One real broker on this machine. Calls block; errors are BrokerError. As a context manager it stops."""

    user = USER
    password = PASSWORD

    def __init__(self, written: State) -> None:
        self._state = written

    def __repr__(self) -> str:
        return f"Broker({self.instance!r}, {self.url(user=None)!r})"

    def __enter__(self) -> "Broker":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def instance(self) -> str:
        """Its name among the brokers that run."""
        return self._state.instance

    @property
    def kind(self) -> Kind:
        """Its row in the table of brokers."""
        return kind(self._state.name)

    @property
    def title(self) -> str:
        """Name and version, for people."""
        return f"{self.kind.title} ({self.kind.version})"

    @property
    def folder(self) -> Path:
        """Its private folder: configuration, data, logs."""
        return self._state.folder

    @property
    def ports(self) -> dict[str, int]:
        """Listener to port; the same after a restart."""
        return dict(self._state.ports)

    @property
    def running(self) -> bool:
        """Whether its process exists."""
        return self._state.running

    @property
    def sync(self) -> bool:
        """Whether it was started to confirm only messages that are on the disk."""
        return self._state.sync

    @property
    def options(self) -> tuple[str, ...]:
        """The options with which it was started."""
        return self._state.options

    @property
    def login(self) -> bool:
        """Whether clients log in."""
        return self.kind.login or not {LOGINS, CLIENT_CERTIFICATES}.isdisjoint(self.options)

    @property
    def certificates(self) -> Certificates:
        """Its certificate authority, and a client certificate that logs in as `user` (EXTERNAL)."""
        return self._run.certificates

    @property
    def admin(self) -> Rest:
        """The broker's administration over HTTP: `broker.admin.get("/api/queues")`."""
        login = (USER, PASSWORD) if self.login else (None, "")
        return Rest(f"http://{HOST}:{self._state.ports['admin']}", *login)

    def url(
        self, scheme: str | None = None, *, user: str | None = USER, password: str | None = PASSWORD, path: str = ""
    ) -> str:
        """A URL of that scheme, by default the kind's first one; `user=None` leaves out the login.

        Schemes with TLS name localhost, which is what the certificate says.
        """
        wanted = scheme or next(iter(self.kind.schemes))
        listener = self.kind.schemes.get(wanted)
        if listener is None:
            raise ValueError(f"{self.kind.title} has no {wanted}; it has {', '.join(self.kind.schemes)}")
        secret = "" if password is None else f":{quote(password, safe='')}"
        login = "" if user is None or not self.login else f"{quote(user, safe='')}{secret}@"
        host = "localhost" if wanted.endswith(("s", "+ssl")) else HOST
        return f"{wanted}://{login}{host}:{self._state.ports[listener]}{path}"

    def kill(self) -> None:
        """SIGKILL, which clients see like a power cut. Data stay; `restart` starts it again."""
        self._state.kill()

    def terminate(self) -> None:
        """Shut it down cleanly; data stay."""
        if not self._state.running:
            return self._state.kill()
        self._state.processes[-1].terminate()
        wait_gone(self._state.processes[-1:], self._server.stop_timeout)
        return self._state.kill()

    def restart(self, *, kill: bool = False, sync: bool | None = None) -> None:
        """End it if it runs, with SIGKILL if `kill`, start it again and wait until it is ready: same ports, same data.

        `sync` is as for `start`; None leaves it as it was.
        """
        if kill:
            self.kill()
        else:
            self.terminate()
        if sync is not None:
            self._state = self._state.with_sync(sync)
        self.launch()

    def stop(self) -> None:
        """End it at once, and remove its data and files. Idempotent."""
        written = state.load(self.instance)  # another process may have started it again
        if written is not None:
            state.remove(written)

    def purge(self) -> None:
        """Remove every destination and message that clients created; close the clients first."""
        self._server.purge(self._run)

    def ctl(self, *arguments: str) -> str:
        """Run rabbitmqctl and return its output: `broker.ctl("eval", …)`. RabbitMQ only."""
        self._need_ctl()
        return rabbitmqctl(self._run, *arguments)

    def _need_ctl(self) -> str:
        """The name of the tool in an installation; BrokerError for a broker without one."""
        if not isinstance(self._server, RabbitMQ):
            raise BrokerError(f"{self.kind.title} has no rabbitmqctl")
        return "rabbitmqctl"

    def log(self) -> str:
        """Its whole output."""
        return self.log_file.read_text(errors="replace") if self.log_file.exists() else ""

    def follow(self, lines: int) -> Iterator[str]:
        """The last lines of its output, then new output piece by piece, until it is stopped."""
        with self.log_file.open(errors="replace") as file:
            yield last_lines(file.read(), lines)
            while self.log_file.exists():
                yield file.read()
                time.sleep(0.2)  # sleep: a growing file gives no notification

    @property
    def log_file(self) -> Path:
        """The file of its output."""
        return self._state.folder / "logs" / "broker.log"

    def variables(self) -> dict[str, str]:
        """The environment variables with which tests and programs find it."""
        prefix = self.kind.variable.removesuffix("_URL")
        found = {self.kind.variable: self.url()}
        for scheme in list(self.kind.schemes)[1:]:
            found[f"{prefix}_{scheme.upper().replace('+', '_')}_URL"] = self.url(scheme)
        return found | {f"{prefix}_CA": str(self.certificates.ca)}

    @property
    def _server(self) -> Server:
        return SERVERS[self._state.name]

    @property
    def _run(self) -> Run:
        written = self._state
        return Run(Path(written.home), written.folder, written.ports, written.sync, written.options)

    def launch(self) -> None:
        """Start it if it does not run, and wait until every listener answers."""
        run = self._run
        shutil.rmtree(run.folder / "tmp", ignore_errors=True)
        for needed in ("tmp", "etc", "data", "logs"):
            (run.folder / needed).mkdir(mode=0o700, exist_ok=True)
        make_certificates(run.tls)
        try:
            self._bring_up(run)
            wait_ready(self._probes(), lambda: self.running, self._server.start_timeout)
        except BaseException as error:
            self._state.kill()
            if isinstance(error, BrokerFailed):
                raise BrokerFailed(self._story(error)) from error
            raise

    def _bring_up(self, run: Run) -> None:
        self._state = self._state.with_processes()

        def begin(command: Sequence[str | Path], env: dict[str, str]) -> None:
            process = spawn(command, env, run.folder, self.log_file)
            self._state = self._state.with_processes(*self._state.processes, process)

        self._configure(run)
        self._server.launch(run, begin)

    def _configure(self, seen: Run) -> None:
        for file, text in self._server.files(seen).items():
            (self._run.etc / file).write_text(text)

    def _probes(self) -> dict[str, Probe]:
        return self._server.probes(self._run)

    def _story(self, error: BrokerFailed) -> str:
        lines = self.log().strip().splitlines()[-15:]
        return "\n  ".join([f"{self.kind.title} ({self.instance}): {error}; the end of its log:", *lines])


def last_lines(text: str, count: int) -> str:
    """The last ``count`` lines."""
    return "".join(text.splitlines(keepends=True)[-count:] if count else [])
