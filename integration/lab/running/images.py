"""The brokers' own container images, one row each."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from integration.lab.errors import BrokerUnavailable
from integration.lab.table import Kind

__all__ = ["IMAGES", "Image", "image"]


@dataclass(frozen=True)
class Image:
    """How a broker's image runs with the configuration of the launcher."""

    name: str
    home: str = "/"
    environment: Mapping[str, str] = field(default_factory=dict)
    command: tuple[str, ...] = ()
    """The command, in place of that of the launcher."""
    before: str = ""
    """A shell command to run before it."""
    missing: frozenset[str] = frozenset()
    """Listeners that the image does not support."""


_RABBITMQ = {
    "RABBITMQ_CONFIG_FILE": "/jb/etc/rabbitmq.conf",
    "RABBITMQ_ENABLED_PLUGINS_FILE": "/jb/etc/enabled_plugins",
    "RABBITMQ_NODENAME": "jb@localhost",
    "RABBITMQ_MNESIA_BASE": "/jb/data",
    "RABBITMQ_LOGS": "-",
}
IMAGES = {
    "rabbitmq": Image("rabbitmq", environment=_RABBITMQ, command=("rabbitmq-server",)),
    "rabbitmq3": Image("rabbitmq", environment=_RABBITMQ, command=("rabbitmq-server",)),
    "activemq": Image("apache/activemq-classic", "/opt/apache-activemq", missing=frozenset({"admin"})),
    "artemis": Image("apache/artemis", "/opt/home", before="ln -sfn /opt/*artemis* /opt/home"),
    "pulsar": Image(
        "apachepulsar/pulsar",
        "/pulsar",
        before="cat /pulsar/conf/standalone.conf /jb/etc/standalone.properties > /jb/tmp/standalone.conf",
    ),
}


def image(kind: Kind) -> Image:
    """The image of a broker; BrokerUnavailable where its project publishes none."""
    if kind.name not in IMAGES:
        raise BrokerUnavailable(f"{kind.title} has no container image: run it without JMSBRIDGE_BROKERS=docker")
    return IMAGES[kind.name]
