"""The brokers' own container images, one row each."""

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["IMAGES", "Image"]


@dataclass(frozen=True)
class Image:
    """How a broker's own image is made to run with our configuration."""

    name: str
    home: str = "/"
    environment: Mapping[str, str] = field(default_factory=dict)
    command: tuple[str, ...] = ()
    """Instead of what the launcher runs outside."""
    before: str = ""
    """A shell command that goes before."""
    missing: frozenset[str] = frozenset()
    """Listeners that the image has not the means for."""


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
