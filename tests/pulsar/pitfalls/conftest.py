"""A scripted server in this process, and programs in others: a mistake would hang or abort those."""

import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # the modules need pulsar-client: without it every test that uses them is skipped
    from tests.pulsar.server.server import Server

ROOT = Path(__file__).parents[3]

_BEGIN = """
import gc, os, signal, sys, threading, time
import jmsbridge
from jmsbridge import JMSException, Queue, Session

url = sys.argv[1]
"""


@pytest.fixture
def server() -> "Iterator[Server]":
    """A server that behaves well until the test changes ``heard``."""
    from tests.pulsar.server.server import Server

    made = Server()
    yield made
    made.close()


class Program:
    """A running program."""

    def __init__(self, code: str, server: "Server", errors: Path) -> None:
        url = f"pulsar://127.0.0.1:{server.port}?close_timeout=3"
        self._errors = errors
        with errors.open("wb") as written:
            self.process = subprocess.Popen(
                [sys.executable, "-c", _BEGIN + textwrap.dedent(code), url],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=written,
                text=True,
            )

    def line(self) -> str:
        """The next line that it writes, without its end."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n")

    def end(self, timeout: float = 40.0) -> tuple[int, str, str]:
        """Close its standard input; its exit code, the rest of its output, and its errors."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        killing = threading.Timer(timeout, self.process.kill)
        killing.start()
        self.process.stdin.close()
        output = self.process.stdout.read()
        code = self.process.wait()
        killing.cancel()
        errors = self._errors.read_text()
        assert code != -signal.SIGKILL, f"it hung; it wrote: {output}{errors}"
        return code, output, errors

    def kill(self) -> None:
        """If a test failed."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture
def start(server: "Server", tmp_path: Path) -> "Iterator[Callable[[str], Program]]":
    """Starts a program with the server's URL in ``url``."""
    made: list[Program] = []

    def begin(code: str) -> Program:
        made.append(Program(code, server, tmp_path / f"errors-{len(made)}"))
        return made[-1]

    yield begin
    for each in made:
        each.kill()


@pytest.fixture
def run(start: "Callable[[str], Program]") -> Callable[..., str]:
    """Runs a program, which must end well, in time, and write nothing to standard error; returns its output."""

    def run(code: str, timeout: float = 40.0) -> str:
        code_of, output, errors = start(code).end(timeout)
        assert (code_of, errors) == (0, ""), output
        return output

    return run
