"""A broker that is to be measured gets more memory and disk than one that tests share a machine with."""

from pathlib import Path

import pytest

from integration.lab.broker import SERVERS
from integration.lab.servers.server import Run
from integration.lab.table import KINDS, MEASURING

JAVA = ("activemq", "artemis", "brokerj", "pulsar")


def run(name: str, *options: str) -> Run:
    """Of one that is not started."""
    return Run(Path("/home"), Path("/run"), dict(KINDS[name].ports), True, options)


@pytest.mark.parametrize("name", JAVA)
def test_a_java_broker_gets_a_large_heap_and_the_full_compiler(name: str) -> None:
    small = [str(word) for word in SERVERS[name].command(run(name))]
    large = [str(word) for word in SERVERS[name].command(run(name, MEASURING))]
    assert "-Xmx2g" in large
    assert "-Xmx2g" not in small
    assert "-XX:TieredStopAtLevel=1" in small
    assert "-XX:TieredStopAtLevel=1" not in large


@pytest.mark.parametrize(
    ("name", "file", "setting"),
    [
        ("activemq", "activemq.xml", 'limit="20 gb"'),
        ("artemis", "broker.xml", "<global-max-size>1G<"),
        ("pulsar", "standalone.properties", "managedLedgerCacheSizeMB=512"),
        ("rabbitmq", "rabbitmq.conf", "vm_memory_high_watermark.absolute = 4GB"),
        ("rabbitmq3", "rabbitmq.conf", "vm_memory_high_watermark.absolute = 4GB"),
    ],
)
def test_its_stores_are_larger(name: str, file: str, setting: str) -> None:
    assert setting not in SERVERS[name].files(run(name))[file]
    assert setting in SERVERS[name].files(run(name, MEASURING))[file]


def test_every_broker_can_be_measured() -> None:
    assert all(MEASURING in kind.options for kind in KINDS.values())
