"""Real programs that use JMS, published with their sources: what ``jmsbridge migrate`` is checked with."""

import zipfile
from dataclasses import dataclass
from pathlib import Path

from integration.lab.errors import BrokerFailed, BrokerUnavailable
from integration.lab.fetching import maven
from integration.lab.fetching.install import install

__all__ = ["PROGRAMS", "Program"]


@dataclass(frozen=True)
class Program:
    """A program: what it is, and its artifact at Maven's repositories."""

    title: str
    artifact: str

    @property
    def name(self) -> str:
        """Of the artifact alone."""
        return self.artifact.split(":")[1]

    def fetched(self) -> tuple[Path, Path]:
        """The folders of its class files and of its sources; BrokerUnavailable where they cannot be had."""

        def fetch(aside: Path, folder: Path) -> None:
            for kind, what in (("classes", "jar"), ("sources", "jar:sources")):
                (aside / kind).mkdir()
                try:
                    archive = maven.copy(f"{self.artifact}:{what}", aside / kind, plugin=maven.TOLERANT)
                except BrokerFailed as error:
                    raise BrokerUnavailable(f"{self.title} cannot be had: {error}") from error
                with zipfile.ZipFile(archive) as packed:
                    packed.extractall(aside / kind)

        folder = install(f"published-{self.artifact.replace(':', '-')}", fetch)
        return folder / "classes", folder / "sources"


PROGRAMS = (
    Program("the JMS samplers of Apache JMeter", "org.apache.jmeter:ApacheJMeter_jms:5.6.3"),
    Program("the command line of ActiveMQ Artemis", "org.apache.activemq:artemis-cli:2.40.0"),
    Program("the JMS component of Apache Camel", "org.apache.camel:camel-jms:4.6.0"),
    Program("the JMS adapters of Spring Integration", "org.springframework.integration:spring-integration-jms:6.3.0"),
)
