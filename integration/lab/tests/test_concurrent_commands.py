"""Two concurrent commands for one broker have the same effect as one after the other."""

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from typer.testing import CliRunner

from integration.lab.cli import app
from integration.lab.running.processes import inside
from integration.lab.starting import find
from integration.lab.tests.fake import Fake, ask
from jmsbridge.testing.suite.support import eventually
from tools.laws.source import ROOT

# It listens as soon as its data folder has a file `go`.
_SLOW = """
import pathlib, sys, time
print("starting", flush=True)
while not pathlib.Path(sys.argv[1], "go").exists():
    time.sleep(0.01)
"""

_COMMAND = f"""
import sys
from integration.lab.cli import app
from integration.lab.tests.fake import register
server = register()
server.script = {_SLOW!r} + server.script
app(sys.argv[1:])
"""


Ended = Callable[[], tuple[int, str]]
"""Wait until a command has ended; return its exit code and output."""


@pytest.fixture
def begin(fake: Fake) -> Iterator[Callable[..., Ended]]:
    """Begin a command in a separate process, in which the broker starts slowly."""
    with ExitStack() as stack:

        def command(*arguments: str) -> Ended:
            process = subprocess.Popen(
                [sys.executable, "-c", _COMMAND, *arguments], cwd=ROOT, stderr=subprocess.PIPE, text=True
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            return lambda: (process.wait(30), process.communicate()[1])

        yield command


def starting(cache: Path) -> bool:
    """Whether the slow broker is starting."""
    log = cache / "runs" / "fake" / "logs" / "broker.log"
    return log.exists() and log.read_text().endswith("starting\n")


def let_go() -> None:
    broker = find("fake")
    assert broker is not None
    (broker.folder / "data" / "go").touch()


def answer() -> bytes:
    broker = find("fake")
    assert broker is not None
    return ask(broker.ports["main"], b"")


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    return result.stderr


def test_up_reports_a_broker_that_already_answers(begin: Callable[..., Ended], cache: Path) -> None:
    ended = begin("up", "fake")
    eventually(lambda: starting(cache), 30)
    later = threading.Timer(0.5, let_go)
    later.start()
    try:
        assert run("up", "fake") == "Fake broker is up already\n"
        assert answer() == b"kept "
    finally:
        later.join()
    assert ended()[0] == 0


@pytest.mark.parametrize("option", [(), ("--kill",)])
def test_two_restarts_are_one_after_the_other(begin: Callable[..., Ended], option: tuple[str, ...]) -> None:
    run("up", "fake")
    let_go()
    both = [begin("restart", "fake", *option) for _ in range(2)]
    assert [ended()[0] for ended in both] == [0, 0]
    assert answer() == b"kept "


@pytest.mark.parametrize("command", ["up", "restart"])
def test_down_does_not_wait_for_a_starting_broker(begin: Callable[..., Ended], cache: Path, command: str) -> None:
    if command == "restart":
        run("up", "fake")
    ended = begin(command, "fake")
    eventually(lambda: starting(cache), 30)
    assert "Fake broker: down" in run("down", "fake")
    code, said = ended()
    assert code == 1
    assert "it ended while starting" in said
    assert [*(cache / "runs").iterdir(), *inside(cache)] == []
