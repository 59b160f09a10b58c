"""ActiveMQ Classic, from its module jars, because Maven does not have its distribution in this version."""

from pathlib import Path
from typing import Any, ClassVar

from integration.lab.admin.rest import Rest
from integration.lab.errors import BrokerFailed
from integration.lab.fetching import maven
from integration.lab.fetching.install import Say, install
from integration.lab.fetching.java import check_java, machine
from integration.lab.running import probes
from integration.lab.servers.server import Run, Server, render
from integration.lab.table import (
    CLIENT_CERTIFICATES,
    COMMITS_REFUSED,
    HOST,
    KINDS,
    MEASURING,
    NO_SCHEDULER,
    NO_XSTREAM,
    PASSWORD,
    REFUSALS,
    SMALL_QUEUES,
    USER,
    Kind,
)

__all__ = ["ActiveMQ"]

_MODULES = ("broker", "kahadb-store", "amqp", "stomp", "openwire-legacy", "spring", "jaas", "console")
_AGENT = "org.jolokia:jolokia-agent-jvm:2.6.0:jar:javaagent"
_CONVERTERS = ("com.thoughtworks.xstream:xstream:1.4.21", "org.codehaus.jettison:jettison:1.5.4")
_BY_PASSWORD = f"""<simpleAuthenticationPlugin anonymousAccessAllowed="true">
        <users>
          <authenticationUser username="{USER}" password="{PASSWORD}" groups="users"/>
        </users>
      </simpleAuthenticationPlugin>"""
# With TLS the certificate is the login, without it the password.
_BY_CERTIFICATE = '<jaasDualAuthenticationPlugin configuration="passwords" sslConfiguration="certificates"/>'
_RIGHTS = """<authorizationPlugin><map><authorizationMap><authorizationEntries>
        <authorizationEntry queue=">" read="users" write="users" admin="users"/>
        <authorizationEntry queue="open.>" read="users,anonymous" write="users,anonymous" admin="users,anonymous"/>
        <authorizationEntry topic=">" read="users,anonymous" write="users,anonymous" admin="users,anonymous"/>
      </authorizationEntries></authorizationMap></map></authorizationPlugin>"""
_SMALL = """<policyEntry queue="open.small.>" memoryLimit="1500kb">
            <pendingQueuePolicy><vmQueueCursor/></pendingQueuePolicy>
          </policyEntry>"""
_LITTLE_ROOM = {"file_length": "8mb", "memory": "128 mb", "store": "2 gb"}
_MUCH_ROOM = {"file_length": "32mb", "memory": "1 gb", "store": "20 gb"}
_BROKER = "org.apache.activemq:type=Broker,brokerName=jb"


class ActiveMQ(Server):
    """ActiveMQ Classic."""

    kind: ClassVar[Kind] = KINDS["activemq"]

    @property
    def place(self) -> str:
        """Its name contains that the optional libraries are included."""
        return f"{super().place}-with-xstream"

    def fetch(self, say: Say) -> Path:
        """Fetch its jars, Spring's for the configuration, XStream, and an agent for JSON administration."""

        def make(aside: Path, folder: Path) -> None:
            check_java()
            say("jars")
            own = [f"org.apache.activemq:activemq-{module}:{self.kind.version}" for module in _MODULES]
            more = ["org.springframework:spring-context:7.0.8", "org.slf4j:slf4j-simple:2.0.18"]
            maven.copy_with_dependencies([*own, *more], aside / "lib")
            maven.copy_with_dependencies(_CONVERTERS, aside / "lib" / "optional")
            say("agent for administration")
            maven.copy(_AGENT, aside).rename(aside / "jolokia.jar")

        return install(self.place, make)

    def files(self, run: Run) -> dict[str, str]:
        """Its configuration."""
        measures = MEASURING in run.options
        room = _MUCH_ROOM if measures else _LITTLE_ROOM
        # A blocking client sends no heart-beats while the others are measured.
        idle_timeout = "0" if measures else "30000"
        # With the default of 64 KiB, Linux 6.18 once and again stops both directions of a connection over loopback for
        # minutes, while a client sends ahead and the broker answers.
        buffers = "&amp;transport.socketBufferSize=1048576" if measures else ""
        scheduler = "false" if NO_SCHEDULER in run.options else "true"
        refuses = REFUSALS in run.options
        settings = {
            "scheduler": scheduler,
            "rolls_back": "false" if COMMITS_REFUSED in run.options else "true",
            "rights": _RIGHTS if refuses else "",
            "small": _SMALL if SMALL_QUEUES in run.options else "",
            "fails_full": str(refuses).lower(),
            "strategy": "always" if run.sync else "never",
            "idle_timeout": idle_timeout,
            "buffers": buffers,
            **room,
        }
        if CLIENT_CERTIFICATES not in run.options:
            return render("activemq", run, login=_BY_PASSWORD, clients="wantClientAuth", **settings)
        made = render("activemq", run, login=_BY_CERTIFICATE, clients="needClientAuth", **settings)
        return made | render("activemq-certificates", run)

    def command(self, run: Run) -> list[str | Path]:
        """Java, with the agent if it was fetched; the container's image has none."""
        libraries = ["lib/*"] if NO_XSTREAM in run.options else ["lib/*", "lib/optional/*"]
        agent = f"host={HOST},port={run.ports['admin']},discoveryEnabled=false,user={USER},password={PASSWORD}"
        return [
            *machine(run),
            *([f"-javaagent:{run.home}/jolokia.jar={agent}"] if run.host == HOST else []),
            "-Dorg.slf4j.simpleLogger.showDateTime=true",
            *(
                [f"-Djava.security.auth.login.config={run.etc}/login.config"]
                if CLIENT_CERTIFICATES in run.options
                else []
            ),
            "-Dorg.apache.activemq.SERIALIZABLE_PACKAGES=java.lang,java.util",  # allowed in objects over STOMP
            f"-Dactivemq.home={run.home}",
            f"-Dactivemq.base={run.folder}",
            f"-Dactivemq.conf={run.etc}",
            f"-Dactivemq.data={run.data}",
            *("-cp", ":".join(f"{run.home}/{library}" for library in libraries)),
            *("org.apache.activemq.console.command.ShellCommand", "start", f"xbean:file:{run.etc}/activemq.xml"),
        ]

    def probes(self, run: Run) -> dict[str, probes.Probe]:
        """One for each listener."""
        tls, ports = run.certificates, run.ports
        return {
            "openwire": probes.openwire(ports["openwire"]),
            "amqp": probes.amqp_1_0(ports["amqp"]),
            "amqps": probes.amqp_1_0(ports["amqps"], tls),
            "stomp": probes.stomp(ports["stomp"]),
            "stomps": probes.stomp(ports["stomps"], tls),
            "admin": probes.rest(run.rest, "/jolokia/version"),
        }

    def purge(self, run: Run) -> None:
        """Remove inactive durable subscribers, queues, topics and scheduled messages."""
        rest = run.rest
        listed = {"type": "read", "mbean": _BROKER, "attribute": "InactiveDurableTopicSubscribers"}
        for name in _answer(rest, listed):
            bean = _answer(
                rest, {"type": "read", "mbean": name["objectName"], "attribute": ["ClientId", "SubscriptionName"]}
            )
            _execute(rest, "destroyDurableSubscriber", bean["ClientId"], bean["SubscriptionName"])
        for kind in ("Queue", "Topic"):
            pattern = f"{_BROKER},destinationType={kind},destinationName=*"
            found = _answer(rest, {"type": "read", "mbean": pattern, "attribute": "Name"}, empty={})
            for value in found.values():
                if not value["Name"].startswith("ActiveMQ.Advisory."):
                    _execute(rest, f"remove{kind}", value["Name"])
        scheduler = f"{_BROKER},service=JobScheduler,name=JMS"
        _answer(rest, {"type": "exec", "mbean": scheduler, "operation": "removeAllJobs()"})


def _execute(rest: Rest, operation: str, *arguments: str) -> None:
    _answer(rest, {"type": "exec", "mbean": _BROKER, "operation": operation, "arguments": list(arguments)})


def _answer(rest: Rest, request: dict[str, Any], *, empty: Any = None) -> Any:
    answer = rest.post("/jolokia/", request)
    if answer["status"] == 404 and empty is not None:
        return empty  # a pattern that nothing matches
    if answer["status"] != 200:
        raise BrokerFailed(f"ActiveMQ refused {request['type']} on {request['mbean']}: {answer.get('error')}")
    return answer["value"]
