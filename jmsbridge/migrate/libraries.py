"""Libraries for messaging that the build of a Java project names, and what takes their place here."""

import re
from collections.abc import Iterator
from pathlib import Path

__all__ = ["BUILDS", "LIBRARIES", "named_in"]

BUILDS = frozenset({"pom.xml", "build.gradle", "build.gradle.kts", "libs.versions.toml", "ivy.xml"})
"""The names of the files that are read."""

_CLASSIC = "amqp:// or stomp:// on ActiveMQ Classic: pip install 'jmsbridge[amqp]' or 'jmsbridge[stomp]'"
_ARTEMIS = "amqp:// or stomp:// on ActiveMQ Artemis: pip install 'jmsbridge[amqp]' or 'jmsbridge[stomp]'"
_AMQP = "amqp://, for every broker with AMQP 1.0: pip install 'jmsbridge[amqp]'"
_RABBITMQ = "rabbitmq://: pip install 'jmsbridge[rabbitmq]'"
_PULSAR = "pulsar://: pip install 'jmsbridge[pulsar]'"
_API = "jmsbridge: the API itself"
_SPRING = "jmsbridge.app.App and jmsbridge.Template"
_POOL = "not needed: Template and the containers share sessions"
_NONE = "no backend; if the broker has AMQP 1.0, amqp:// reaches it"

LIBRARIES = {
    "activemq-client": _CLASSIC,
    "activemq-client-jakarta": _CLASSIC,
    "activemq-all": _CLASSIC,
    "activemq-spring": _CLASSIC,
    "activemq-pool": _POOL,
    "activemq-jms-pool": _POOL,
    "spring-boot-starter-activemq": _CLASSIC,
    "artemis-jms-client": _ARTEMIS,
    "artemis-jms-client-all": _ARTEMIS,
    "artemis-jakarta-client": _ARTEMIS,
    "artemis-jakarta-client-all": _ARTEMIS,
    "spring-boot-starter-artemis": _ARTEMIS,
    "qpid-jms-client": _AMQP,
    "quarkus-qpid-jms": _AMQP,
    "rabbitmq-jms": _RABBITMQ,
    "pulsar-jms": _PULSAR,
    "pulsar-jms-all": _PULSAR,
    "pooled-jms": _POOL,
    "spring-jms": _SPRING,
    "spring-integration-jms": _SPRING,
    "camel-jms": _SPRING,
    "camel-activemq": _CLASSIC,
    "jms-api": _API,
    "javax.jms-api": _API,
    "jakarta.jms-api": _API,
    "geronimo-jms_1.1_spec": _API,
    "geronimo-jms_2.0_spec": _API,
    "com.ibm.mq.allclient": _NONE,
    "com.ibm.mq.jakarta.client": _NONE,
    "sol-jms": _NONE,
    "sol-jms-jakarta": _NONE,
    "amazon-sqs-java-messaging-lib": _NONE,
}
"""By the name of the artifact, what takes its place."""

_WORD = re.compile(r"[\w.-]+")


def named_in(path: Path) -> Iterator[tuple[int, str]]:
    """The lines, from 1, that name one of these libraries; OSError if the file cannot be read."""
    with path.open(encoding="utf-8", errors="replace") as stream:
        for number, line in enumerate(stream, 1):
            for word in _WORD.findall(line):
                if word in LIBRARIES:
                    yield number, word
