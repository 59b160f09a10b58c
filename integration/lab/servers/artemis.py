"""ActiveMQ Artemis, from its distribution; Java is started directly, so that the process is the broker's."""

from pathlib import Path
from typing import ClassVar

from integration.lab.admin.artemis import Management
from integration.lab.fetching import maven
from integration.lab.fetching.install import Say, install
from integration.lab.fetching.java import check_java, machine
from integration.lab.running import probes
from integration.lab.servers.server import Run, Server, Starter, render
from integration.lab.table import CLIENT_CERTIFICATES, KINDS, MEASURING, PASSWORD, Kind

__all__ = ["Artemis"]

_LITTLE_ROOM = {"file_size": "2M", "memory": "40M"}
"""A message costs Java up to three times what Artemis counts for it: with 100M a heap of 256 MB was full before the
broker paged, and it did nothing but collect garbage from 70,000 messages on."""
_MUCH_ROOM = {"file_size": "10M", "memory": "1G"}


class Artemis(Server):
    """ActiveMQ Artemis."""

    kind: ClassVar[Kind] = KINDS["artemis"]

    def fetch(self, say: Say) -> Path:
        """Its distribution."""

        def make(aside: Path, folder: Path) -> None:
            check_java()
            say("distribution")
            artifact = f"org.apache.artemis:apache-artemis:{self.kind.version}:tar.gz:bin"
            archive = maven.copy(artifact, aside)
            say("unpacking")
            maven.unpack(archive, aside)

        return install(self.place, make)

    def files(self, run: Run) -> dict[str, str]:
        """Its configuration."""
        sync = str(run.sync).lower()
        keys = f"keyStorePath={run.tls}/server.p12;keyStoreType=PKCS12;keyStorePassword={PASSWORD}"
        trust = f"trustStorePath={run.tls}/ca.p12;trustStoreType=PKCS12;trustStorePassword={PASSWORD}"
        clients = "needClientAuth" if CLIENT_CERTIFICATES in run.options else "wantClientAuth"
        return render(
            "artemis",
            run,
            sync=sync,
            **(_MUCH_ROOM if MEASURING in run.options else _LITTLE_ROOM),
            amqp_settings="protocols=AMQP;saslMechanisms=EXTERNAL,PLAIN,ANONYMOUS;amqpCredits=1000;amqpLowCredits=300;amqpDuplicateDetection=true",
            stomp_settings="protocols=STOMP;anycastPrefix=/queue/;multicastPrefix=/topic/",
            tls_settings=f"sslEnabled=true;{keys};{trust};{clients}=true",
        )

    def command(self, run: Run) -> list[str | Path]:
        """Java, without the start script of the distribution."""
        return [
            *machine(run),
            "--add-opens=java.base/jdk.internal.misc=ALL-UNNAMED",
            "-Dlog4j2.disableJmx=true",
            f"-Dlog4j2.configurationFile={run.etc}/log4j2.properties",
            f"-Djava.security.auth.login.config={run.etc}/login.config",
            f"-Dartemis.home={run.home}",
            f"-Dartemis.instance={run.folder}",
            f"-Dartemis.instance.etc={run.etc}",
            f"-Ddata.dir={run.data}",
            *("-cp", f"{run.home}/lib/*"),
            *("org.apache.activemq.artemis.cli.Artemis", "run"),
        ]

    def launch(self, run: Run, start: Starter) -> None:
        """Start one process, which needs its folders in the environment too."""
        places = run.environment(ARTEMIS_HOME=run.home, ARTEMIS_INSTANCE=run.folder, ARTEMIS_INSTANCE_ETC=run.etc)
        start(self.command(run), places)

    def probes(self, run: Run) -> dict[str, probes.Probe]:
        """One for each listener."""
        tls, ports = run.certificates, run.ports
        return {
            "core": probes.openwire(ports["core"]),
            "amqp": probes.amqp_1_0(ports["amqp"]),
            "amqps": probes.amqp_1_0(ports["amqps"], tls),
            "stomp": probes.stomp(ports["stomp"]),
            "stomps": probes.stomp(ports["stomps"], tls),
        }

    def purge(self, run: Run) -> None:
        """Delete queues and addresses that clients created; empty the two that always exist."""
        with Management(run.ports["stomp"]) as management:
            management.purge()
