"""RabbitMQ: version 4 from Debian trixie, 3.10 from bookworm, each with its own Erlang and port mapper."""

import os
from pathlib import Path
from typing import ClassVar

from integration.lab.admin.rest import quoted
from integration.lab.fetching.install import Say, install
from integration.lab.fetching.tools import run as run_command
from integration.lab.running import probes
from integration.lab.servers.rabbitmq_packages import check_rabbitmq, fetch_rabbitmq
from integration.lab.servers.server import Run, Server, Starter, render
from integration.lab.table import CLIENT_CERTIFICATES, HOST, KINDS, MEASURING, PASSWORD, USER, Kind

__all__ = ["NODE", "RabbitMQ", "RabbitMQ3", "rabbitmqctl"]

NODE = "jb"
_LOOPBACK = "{127,0,0,1}"


class RabbitMQ(Server):
    """RabbitMQ 4."""

    kind: ClassVar[Kind] = KINDS["rabbitmq"]
    suite: ClassVar[str] = "trixie"
    anonymous: ClassVar[str] = f"anonymous_login_user = {USER}\nanonymous_login_pass = {PASSWORD}"
    mechanisms: ClassVar[tuple[str, ...]] = ("PLAIN", "AMQPLAIN", "ANONYMOUS", "EXTERNAL")
    stop_timeout: ClassVar[float] = 20.0

    def fetch(self, say: Say) -> Path:
        """Fetch Debian's packages."""

        def make(aside: Path, folder: Path) -> None:
            fetch_rabbitmq(self.suite, self.kind.version, aside, folder, say)

        return install(self.place, make, check_rabbitmq)

    def files(self, run: Run) -> dict[str, str]:
        """rabbitmq.conf and the list of plugins."""
        listed = (f"auth_mechanisms.{number} = {name}" for number, name in enumerate(self.mechanisms, 1))
        demanded = str(CLIENT_CERTIFICATES in run.options).lower()
        memory = "4GB" if MEASURING in run.options else "1GB"
        mechanisms = "\n".join(listed)
        return render(
            "rabbitmq", run, mechanisms=mechanisms, anonymous=self.anonymous, demanded=demanded, memory=memory
        )

    def command(self, run: Run) -> list[str | Path]:
        """The start script, which replaces itself by Erlang."""
        return ["sh", _scripts(run) / "rabbitmq-server"]

    def launch(self, run: Run, start: Starter) -> None:
        """Start the port mapper, then the node, whose script replaces itself by Erlang in the same process."""
        epmd = next((run.home / "usr/lib/erlang").glob("erts-*/bin/epmd"))
        start([epmd, "-port", str(run.ports["epmd"]), "-address", HOST], run.environment())
        mapped = {"port mapper": probes.epmd(run.ports["epmd"], "no-such-node", known=False)}
        probes.wait_ready(mapped, lambda: True, 10)
        start(self.command(run), _environment(run) | {"detached": "1"})

    def probes(self, run: Run) -> dict[str, probes.Probe]:
        """One for each listener."""
        tls, ports = run.certificates, run.ports
        return {
            "epmd": probes.epmd(ports["epmd"], NODE),
            "amqp": probes.amqp_0_9_1(ports["amqp"]),
            "amqps": probes.amqp_0_9_1(ports["amqps"], tls),
            "amqp 1.0": probes.amqp_1_0(ports["amqp"]),
            "stomp": probes.stomp(ports["stomp"]),
            "stomps": probes.stomp(ports["stomps"], tls),
            "admin": probes.rest(run.rest, "/api/overview"),
        }

    def purge(self, run: Run) -> None:
        """Delete queues, exchanges and policies of every virtual host, and every further virtual host."""
        rest = run.rest
        for vhost in rest.get("/api/vhosts"):
            if vhost["name"] != "/":
                rest.delete(f"/api/vhosts/{quoted(vhost['name'])}")
        for queue in rest.get("/api/queues/%2F?disable_stats=true&enable_queue_totals=true"):
            rest.delete(f"/api/queues/%2F/{quoted(queue['name'])}")
        for exchange in rest.get("/api/exchanges/%2F"):
            if exchange["name"] and not exchange["name"].startswith("amq."):
                rest.delete(f"/api/exchanges/%2F/{quoted(exchange['name'])}")
        for policy in rest.get("/api/policies/%2F"):
            rest.delete(f"/api/policies/%2F/{quoted(policy['name'])}")


class RabbitMQ3(RabbitMQ):
    """RabbitMQ 3.10, the old generation."""

    kind: ClassVar[Kind] = KINDS["rabbitmq3"]
    suite: ClassVar[str] = "bookworm"
    anonymous: ClassVar[str] = f"amqp1_0.default_user = {USER}"
    mechanisms: ClassVar[tuple[str, ...]] = ("PLAIN", "AMQPLAIN", "EXTERNAL")


def rabbitmqctl(run: Run, *arguments: str) -> str:
    """Run rabbitmqctl, for what the REST interface cannot do; return the output."""
    return run_command(["sh", _scripts(run) / "rabbitmqctl", *arguments], env=_environment(run), timeout=150)


def _scripts(run: Run) -> Path:
    return next((run.home / "usr/lib/rabbitmq/lib").glob("rabbitmq_server-*")) / "sbin"


def _environment(run: Run) -> dict[str, str]:
    folder, etc = run.folder, run.etc
    erlang = run.home / "usr/lib/erlang/bin"
    base = _scripts(run).parent
    inside = f"-kernel inet_dist_use_interface {_LOOPBACK}"
    return run.environment(
        PATH=f"{erlang}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        ERL_EPMD_PORT=str(run.ports["epmd"]),
        ERL_EPMD_ADDRESS=HOST,
        ERL_CRASH_DUMP=folder / "logs" / "erl_crash.dump",
        RABBITMQ_HOME=base,
        RABBITMQ_PLUGINS_DIR=base / "plugins",
        RABBITMQ_NODENAME=f"{NODE}@localhost",
        RABBITMQ_DIST_PORT=str(run.ports["dist"]),
        RABBITMQ_CONFIG_FILE=etc / "rabbitmq.conf",
        RABBITMQ_ADVANCED_CONFIG_FILE=etc / "advanced.config",
        RABBITMQ_CONF_ENV_FILE=etc / "rabbitmq-env.conf",
        RABBITMQ_ENABLED_PLUGINS_FILE=etc / "enabled_plugins",
        RABBITMQ_GENERATED_CONFIG_DIR=etc / "generated",
        RABBITMQ_FEATURE_FLAGS_FILE=run.data / "feature_flags",
        RABBITMQ_MNESIA_BASE=run.data,
        RABBITMQ_LOG_BASE=folder / "logs",
        RABBITMQ_LOGS="-",
        RABBITMQ_PID_FILE=folder / "node.pid",
        RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=f"{inside} +S 2:2 +sbwt none +sbwtdcpu none +sbwtdio none",
        RABBITMQ_CTL_ERL_ARGS=inside,
    )
