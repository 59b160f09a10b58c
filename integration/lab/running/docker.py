"""The same brokers in containers: `docker/compose.yaml`, and what JMSBRIDGE_BROKERS=docker runs."""

import os
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from integration.lab.errors import BrokerError
from integration.lab.fetching.tools import need, run
from integration.lab.running.images import Image, image
from integration.lab.servers.server import Run, Server
from integration.lab.table import HOST

__all__ = ["CONTAINER", "compose", "compose_text", "container_run", "engine_wanted", "follow", "published", "pull"]

CONTAINER = "container"
"""The marker in a state in place of the folder of an installation."""

_INSIDE = Path("/jb")  # the folder of a broker in its container, in place of `Run.folder`

_WHY = "JMSBRIDGE_BROKERS=docker needs Docker with its compose plugin"


def engine_wanted() -> bool:
    """Whether brokers are to run in containers; BrokerError for an invalid setting."""
    wanted = os.environ.get("JMSBRIDGE_BROKERS", "")
    if wanted not in ("", "docker"):
        raise BrokerError(f"JMSBRIDGE_BROKERS may be docker or unset, not {wanted!r}")
    return wanted == "docker"


def pull(server: Server) -> None:
    """Fetch the image of a broker."""
    run([need("docker", _WHY), "pull", "--quiet", f"{image(server.kind).name}:{server.kind.version}"])


def container_run(ports: dict[str, int], *, sync: bool = True, server: Server) -> Run:
    """The `Run` of a broker inside its container."""
    return Run(Path(image(server.kind).home), _INSIDE, ports, sync, host="0.0.0.0")


def compose(folder: Path, *arguments: str) -> str:
    """Run `docker compose` on the file in a folder; return the output. The project has the name of the folder."""
    return run(_compose(folder, *arguments))


def follow(folder: Path, *arguments: str) -> Iterator[str]:
    """Run `docker compose`; yield its output line by line, until it ends or the caller stops."""
    with subprocess.Popen(_compose(folder, *arguments), stdout=subprocess.PIPE, text=True, errors="replace") as process:
        assert process.stdout is not None
        try:
            yield from process.stdout
        finally:
            process.terminate()


def _compose(folder: Path, *arguments: str) -> list[str]:
    named = ["--project-name", f"jmsbridge-{folder.name}", "--file", str(folder / "compose.yaml")]
    return [need("docker", _WHY), "compose", *named, *arguments]


def compose_text(services: Mapping[Server, tuple[dict[str, int], Path, Path]]) -> str:
    """A compose file for brokers, each with its ports and its folders of configuration and certificates."""
    made = {server.kind.name: _service(server, *details) for server, details in services.items()}
    volumes: dict[str, Any] = {f"{name}-data": {} for name in made}
    text: str = yaml.safe_dump({"services": made, "volumes": volumes}, sort_keys=False, width=200)
    return text


def published(server: Server, ports: dict[str, int]) -> dict[str, int]:
    """The listeners that a container publishes to the host."""
    hidden = server.kind.internal | image(server.kind).missing
    return {listener: port for listener, port in ports.items() if listener not in hidden}


def _service(server: Server, ports: dict[str, int], etc: Path, tls: Path) -> dict[str, Any]:
    made_from = image(server.kind)
    open_ports = published(server, ports)
    listening = " ".join(str(port) for port in open_ports.values())
    asks = f"for port in {listening}; do (: > /dev/tcp/{HOST}/$$port) || exit 1; done"
    return {
        "image": f"{made_from.name}:{server.kind.version}",
        "user": "0:0",  # the keys are readable only for their owner
        "entrypoint": _entrypoint(server, made_from, container_run(ports, server=server)),
        **({"environment": dict(made_from.environment)} if made_from.environment else {}),
        "ports": [f"{HOST}:{port}:{port}" for port in open_ports.values()],
        "volumes": [f"{_mount(etc)}:/jb/etc:ro", f"{_mount(tls)}:/jb/tls:ro", f"{server.kind.name}-data:/jb/data"],
        "tmpfs": ["/jb/tmp", "/jb/logs"],
        "healthcheck": {
            "test": ["CMD", "bash", "-c", asks],
            "interval": "2s",
            "timeout": "5s",
            "retries": 60,
        },
    }


def _entrypoint(server: Server, made_from: Image, site: Run) -> list[str]:
    if made_from.command:
        return list(made_from.command)
    words = ["java", *(str(part) for part in server.command(site)[1:])]
    if not made_from.before:
        return words
    return ["sh", "-c", f"{made_from.before} && exec {shlex.join(words)}".replace("$", "$$")]


def _mount(path: Path) -> str:
    return str(path) if path.is_absolute() else f"./{path}"
