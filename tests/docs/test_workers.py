"""The unit of systemd and the manifest of Kubernetes on the page about workers fit the command."""

import configparser
import re
from typing import Any

import typer.main
import yaml

from jmsbridge.cli import app
from jmsbridge.config import Options, to_seconds
from tests.docs.pages import page

_CLOSE = Options().close_timeout


def _block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", page("workers.md"), re.DOTALL)
    assert found is not None
    return found[1]


def _parsed(words: list[str]) -> dict[str, Any]:
    """The words of a command line as ``jmsbridge run`` reads them."""
    group: Any = typer.main.get_command(app)
    assert words[:2] == ["jmsbridge", "run"]
    return dict(group.commands["run"].make_context("run", words[2:]).params)


def test_the_unit_of_systemd() -> None:
    unit = configparser.ConfigParser()
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read_string(_block("ini"))
    service = unit["Service"]
    given = _parsed(service["ExecStart"].removeprefix("/srv/shop/.venv/bin/").split())
    assert (given["app"], given["processes"]) == ("shop.listeners:app", 4)
    assert float(service["TimeoutStopSec"]) > to_seconds(given["stop_timeout"]) + _CLOSE


def test_the_manifest_of_kubernetes() -> None:
    pod = yaml.safe_load(_block("yaml"))["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    given = _parsed(container["command"])
    assert pod["terminationGracePeriodSeconds"] > to_seconds(given["stop_timeout"]) + _CLOSE
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert container[probe]["httpGet"]["port"] == given["health_port"]
        assert container[probe]["httpGet"]["path"] in ("/live", "/ready")
    assert given["health_host"] == "0.0.0.0"
