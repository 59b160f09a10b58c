"""What is committed below docker/: made from the same table and templates as what the launcher starts itself."""

from pathlib import Path

from integration.lab.broker import SERVERS
from integration.lab.running.docker import compose_text, container_run

__all__ = ["compose_files"]

_HEADER = """\
# The brokers of `python -m integration.lab` in containers: the same ports, users and settings. Not in the images,
# and so left out: JSON administration of ActiveMQ Classic, the filter that gives Pulsar selectors on the server.
#
#   python -m integration.lab compose                            # once: certificates, in docker/tls
#   docker compose --file docker/compose.yaml up --detach --wait rabbitmq
#
# Made by that first command; integration/lab/tests/test_compose.py keeps it true.
"""


def compose_files() -> dict[Path, str]:
    """Every file below docker/, but for certificates: path to text."""
    files: dict[Path, str] = {}
    services = {server: (server.kind.ports, Path(name), Path("tls")) for name, server in SERVERS.items()}
    for name, server in SERVERS.items():
        for file, text in server.files(container_run(server.kind.ports, server=server)).items():
            files[Path(name, file)] = text
    files[Path("compose.yaml")] = _HEADER + compose_text(services)
    return files
