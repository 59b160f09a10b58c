import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import jmsbridge
from jmsbridge import Connection
from jmsbridge.cli import app

__all__ = ["broker", "connection", "either_broker", "own_folders", "run"]

_numbers = itertools.count(1)


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests do not read the configuration of the user who runs them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "user"))
    monkeypatch.setenv("COLUMNS", "200")
    for name in ("JMSBRIDGE_CONFIG", "JMSBRIDGE_PASSWORD", "JMSBRIDGE_DEBUG"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> str:
    """A new broker in this process, the default target of the commands."""
    url = f"embedded:?broker=cli-{next(_numbers)}"
    monkeypatch.setenv("JMSBRIDGE_URL", url)
    return url


@pytest.fixture
def connection(broker: str) -> Iterator[Connection]:
    with jmsbridge.connect(broker) as made:
        made.start()
        yield made


@pytest.fixture
def run(broker: str) -> Callable[..., Result]:
    """Run one command line in this process."""

    def call(*arguments: str, text: str | bytes | None = None) -> Result:
        if arguments[0] == "receive" and "--timeout" not in arguments:
            arguments += ("--timeout", "20ms")  # The embedded broker answers at once.
        return CliRunner().invoke(app, list(arguments), input=text)

    return call


@pytest.fixture(params=["memory", "file"])
def either_broker(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A broker in memory, and one in a file; modules that test both call it ``broker``."""
    memory = f"embedded:?broker=cli-{next(_numbers)}"
    url = memory if request.param == "memory" else f"embedded:{tmp_path}/broker.db"
    monkeypatch.setenv("JMSBRIDGE_URL", url)
    return url
