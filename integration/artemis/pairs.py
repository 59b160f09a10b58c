"""Programs in Java and in Python that do the same, in a folder of ``examples``, and take each other's place."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from integration.lab.broker import Broker
from integration.lab.fetching.java import java
from integration.lab.fetching.programs import class_path
from integration.lab.table import HOST, PASSWORD, USER

__all__ = [
    "ALONE",
    "BOTH",
    "PATIENCE",
    "Command",
    "Language",
    "Pairs",
    "in_java",
    "in_python",
    "lines",
    "run",
    "started",
]

_ROOT = Path(__file__).resolve().parents[2]
_LIBRARIES = _ROOT / "examples" / "from_spring" / "java" / "pom.xml"
PATIENCE = 60.0  # seconds


@dataclass(frozen=True)
class Command:
    """A command, its environment and its folder."""

    words: list[str]
    environment: dict[str, str]
    folder: Path


@dataclass(frozen=True)
class Pairs:
    """The programs of one folder: ``send_orders.py``, and ``java/SendOrders.java``."""

    folder: Path

    @classmethod
    def of(cls, name: str) -> "Pairs":
        """Those of a folder of ``examples``."""
        return cls(_ROOT / "examples" / name)

    def in_java(self, name: str, broker: Broker) -> Command:
        """The program in Java, with Qpid JMS."""
        sources = {
            path.name: path.read_text(encoding="utf-8") for path in sorted((self.folder / "java").glob("*.java"))
        }
        classes = class_path(self.folder.name.replace("_", "-"), _LIBRARIES, sources)
        settings = ["-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        words = [java(), *settings, "-cp", classes, self.java_file(name).stem]
        url = f"amqp://{HOST}:{broker.ports['amqp']}"
        return Command(words, {"URL": url, "USER_NAME": USER, "PASSWORD": PASSWORD}, self.folder)

    def in_python(self, name: str, broker: Broker) -> Command:
        """The program in Python; one with listeners of an application is served by ``jmsbridge run``."""
        serves = "app.listener" in self.python_file(name).read_text(encoding="utf-8")
        words = ["-m", "jmsbridge", "run", f"{name}:app"] if serves else [f"{name}.py"]
        paths = os.pathsep.join(map(str, (self.folder, _ROOT, _ROOT / "backends")))
        environment = {"JMSBRIDGE_URL": broker.url("amqp"), "PYTHONPATH": paths}
        return Command([sys.executable, *words], environment, self.folder)

    def java_file(self, name: str) -> Path:
        """Its source."""
        return self.folder / "java" / f"{''.join(map(str.capitalize, name.split('_')))}.java"

    def python_file(self, name: str) -> Path:
        """Its source."""
        return self.folder / f"{name}.py"

    def assert_python_is_shorter(self, name: str) -> None:
        """In lines that are not blank."""
        assert _length(self.python_file(name)) < _length(self.java_file(name))


def _length(path: Path) -> int:
    return sum(bool(line.strip()) for line in path.read_text(encoding="utf-8").splitlines())


Language = Callable[[Pairs, str, Broker], Command]
in_java: Language = Pairs.in_java
in_python: Language = Pairs.in_python
BOTH = pytest.mark.parametrize(
    ("server", "client"), [(in_java, in_python), (in_python, in_java)], ids=["java-serves", "python-serves"]
)
"""Programs that serve, and their clients in the other language."""
ALONE = [pytest.mark.usefixtures("alone"), pytest.mark.timeout(600)]
"""For tests that wait for each other, on all workers."""


@contextmanager
def started(command: Command) -> Iterator["subprocess.Popen[str]"]:
    """A running program, which is terminated at the end."""
    with subprocess.Popen(
        command.words,
        cwd=command.folder,
        env={**os.environ, **command.environment},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.communicate(timeout=PATIENCE)
            finally:
                process.kill()


def run(command: Command) -> str:
    """The output of a program that ends by itself, and well."""
    with started(command) as process:
        out, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, out
        return out


def lines(process: "subprocess.Popen[str]", prefix: str, count: int) -> list[str]:
    """The first lines that begin so."""
    assert process.stdout is not None
    found: list[str] = []
    late = threading.Timer(PATIENCE, process.terminate)
    late.start()
    for line in process.stdout:
        found += [line.strip()] if line.startswith(prefix) else []
        if len(found) == count:
            late.cancel()
            return found
    raise AssertionError(f"the program ended after {found}")
