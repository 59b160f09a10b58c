"""Apache Pulsar standalone, from its distribution, with DataStax's filter for selectors on the server."""

import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from integration.lab.admin.pulsar import password_file, token, token_key
from integration.lab.admin.rest import Rest, quoted
from integration.lab.fetching import maven
from integration.lab.fetching.install import Say, install
from integration.lab.fetching.java import check_java, machine
from integration.lab.running import probes
from integration.lab.servers.server import Run, Server, Starter, render
from integration.lab.table import (
    CLIENT_CERTIFICATES,
    HOST,
    KINDS,
    LOGINS,
    MEASURING,
    NO_FILTER,
    PASSWORD,
    USER,
    Kind,
)

__all__ = ["Pulsar"]

_OPENED = (
    *("java.base/java.io", "java.base/java.util.zip", "java.base/java.nio", "java.base/jdk.internal.misc"),
    *("java.base/jdk.internal.platform", "java.management/sun.management"),
    "jdk.management/com.sun.management.internal",
)
_DRIVERS = "org.apache.pulsar.metadata.bookkeeper.PulsarMetadata"
_AUTHENTICATION = "org.apache.pulsar.broker.authentication.AuthenticationProvider"


class Pulsar(Server):
    """Apache Pulsar."""

    kind: ClassVar[Kind] = KINDS["pulsar"]

    def fetch(self, say: Say) -> Path:
        """Fetch its distribution, 250 MB, and the filter from the jar of the JMS client."""

        def make(aside: Path, folder: Path) -> None:
            check_java()
            say("distribution, 245 MB")
            artifact = f"org.apache.pulsar:pulsar-server-distribution:{self.kind.version}:tar.gz:bin"
            archive = maven.copy(artifact, aside)
            say("unpacking")
            maven.unpack(archive, aside)
            say("filter for selectors, 73 MB")
            # The parent of its POM is missing.
            jar = maven.copy("com.datastax.oss:pulsar-jms-all:9.0.0:jar", aside, plugin=maven.TOLERANT)
            with zipfile.ZipFile(jar) as opened:
                opened.extract("filters/jms-filter.nar", aside)
            shutil.rmtree(jar.parent)

        return install(self.place, make)

    def files(self, run: Run) -> dict[str, str]:
        """The additions to its configuration."""
        return render(
            "pulsar",
            run,
            sync=str(run.sync).lower(),
            tls_port=str(run.ports["tls"]),
            more="\n".join(_more(run)),
        )

    def command(self, run: Run) -> list[str | Path]:
        """Java: broker, bookie and metadata in one process."""
        return [
            *machine(run, "512m"),
            f"-XX:MaxDirectMemorySize={'2g' if MEASURING in run.options else '384m'}",
            *(f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED),
            "-Dio.netty.tryReflectionSetAccessible=true",
            "-Djava.net.preferIPv4Stack=true",
            "-Djute.maxbuffer=10485760",
            f"-Dlog4j2.configurationFile={run.etc}/log4j2.properties",
            "-Dlog4j2.disableJmx=true",
            f"-Dbookkeeper.metadata.bookie.drivers={_DRIVERS}BookieDriver",
            f"-Dbookkeeper.metadata.client.drivers={_DRIVERS}ClientDriver",
            *("-cp", f"{run.etc}:{run.home}/lib/*"),
            "org.apache.pulsar.PulsarStandaloneStarter",
            *("--config", _configuration(run)),
            *("-nss", "-nfw", "-a", HOST),
            *("--metadata-dir", run.data / "metadata"),
            *("--bookkeeper-dir", run.data / "bookkeeper"),
            *("--num-bookies", "1"),
        ]

    def launch(self, run: Run, start: Starter) -> None:
        """Start one process, with its shipped configuration followed by that of the launcher."""
        shipped = (run.home / "conf" / "standalone.conf").read_text()
        _configuration(run).write_text(shipped + (run.etc / "standalone.properties").read_text())
        super().launch(run, start)

    def probes(self, run: Run) -> dict[str, probes.Probe]:
        """One for each listener, and the transaction coordinator."""
        tls, ports, rest = run.certificates, run.ports, _rest(run)
        return {
            "admin": probes.rest(rest, "/admin/v2/persistent/public/default"),
            "transactions": probes.rest(rest, "/admin/v3/transactions/coordinators"),
            "binary": probes.pulsar(ports["binary"], login=_login(run)),
            "tls": probes.pulsar(ports["tls"], tls, login=_tls_login(run)),
        }

    def purge(self, run: Run) -> None:
        """Delete every topic of the default namespace, with its subscriptions."""
        rest = _rest(run)
        for kind in ("persistent", "non-persistent"):
            base = f"/admin/v2/{kind}/public/default"
            for topic in rest.get(f"{base}/partitioned"):
                rest.delete(f"{base}/{_local(topic)}/partitions?force=true")
            for topic in rest.get(base):
                if not topic.rpartition("/")[2].startswith("__"):
                    rest.delete(f"{base}/{_local(topic)}?force=true")


def _configuration(run: Run) -> Path:
    return run.folder / "tmp" / "standalone.conf"


def _local(topic: str) -> str:
    return quoted(topic.split("/default/", 1)[1])


def _rest(run: Run) -> Rest:
    login = (USER, PASSWORD) if _demands_logins(run) else (None, "")
    return Rest(f"http://{HOST}:{run.ports['admin']}", *login)


def _login(run: Run) -> tuple[str, str] | None:
    return ("basic", f"{USER}:{PASSWORD}") if _demands_logins(run) else None


def _tls_login(run: Run) -> tuple[str, str] | None:
    return ("tls", "") if CLIENT_CERTIFICATES in run.options else _login(run)


def _demands_logins(run: Run) -> bool:
    return LOGINS in run.options or CLIENT_CERTIFICATES in run.options


def _more(run: Run) -> Iterator[str]:
    """The settings that depend on the start."""
    if run.host == HOST:  # the bookie would listen on all interfaces; the ports of a container are published one by one
        yield "listeningInterface=lo"
    if run.host == HOST and NO_FILTER not in run.options:  # the container's image does not have it
        yield "entryFilterNames=jms"
        yield f"entryFiltersDirectory={run.home}/filters"
    if MEASURING in run.options:
        yield from ("managedLedgerCacheSizeMB=512", "dbStorage_writeCacheMaxSizeMb=256")
        yield from ("dbStorage_readAheadCacheMaxSizeMb=256", "dbStorage_rocksDB_blockCacheSize=268435456")
    if CLIENT_CERTIFICATES in run.options:
        yield "tlsRequireTrustedClientCertOnConnect=true"
    if _demands_logins(run):
        yield "authenticationEnabled=true"
        yield "authenticationProviders=" + ",".join(f"{_AUTHENTICATION}{name}" for name in ("Token", "Basic", "Tls"))
        yield "authenticationRefreshCheckSeconds=1"
        yield f"tokenSecretKey={token_key()}"
        yield f"basicAuthConf={password_file()}"
        yield "authorizationEnabled=true"
        yield f"superUserRoles={USER}"
        yield "brokerClientAuthenticationPlugin=org.apache.pulsar.client.impl.auth.AuthenticationToken"
        yield f"brokerClientAuthenticationParameters=token:{token(USER)}"
