"""Small Java programs beside a broker's own client: its jars by Maven, compiled by javac, kept with the brokers."""

import hashlib
import json
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import IO, Any

from integration.lab.errors import BrokerFailed, BrokerUnavailable
from integration.lab.fetching import maven
from integration.lab.fetching.install import install
from integration.lab.fetching.java import check_java, java
from integration.lab.fetching.tools import need, run

__all__ = ["Program", "Running", "build", "class_path"]

_HERE = Path(__file__).resolve().parent
_PATIENCE = 90.0  # seconds for one run of a program
_FETCHING = 300.0
_RELEASE = "17"  # of the Java language and machine


class Program:
    """A compiled program; each run is a Java machine of its own."""

    def __init__(self, classes: str, main: str) -> None:
        self._command = [java(), "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"]
        self._command += ["-cp", classes, main]

    def run(self, *arguments: str) -> list[Any]:
        """What it printed, line by line as JSON; AssertionError with its words when it failed."""
        with self.start(*arguments) as running:
            return running.rest()

    def start(self, *arguments: str) -> "Running":
        """Begin a run, to be ended by ``rest`` or by leaving the context."""
        return Running([*self._command, *arguments])


class Running:
    """One run of a program, as a context manager: what still runs at its end is killed."""

    def __init__(self, command: Sequence[str]) -> None:
        self._errors: IO[str] = tempfile.TemporaryFile("w+")  # noqa: SIM115 -- closed by __exit__
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._errors, text=True, encoding="utf-8"
        )
        self._lines: SimpleQueue[str] = SimpleQueue()  # an empty one is its end
        self._reader = threading.Thread(target=self._read, name="java-program", daemon=True)
        self._reader.start()

    def __enter__(self) -> "Running":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join(_PATIENCE)
        self._errors.close()

    def line(self) -> str:
        """The next line, as text; AssertionError where there is none, or none in time."""
        line = self._next(time.monotonic() + _PATIENCE)
        if not line:
            self._failed()
        return line.strip()

    def rest(self) -> list[Any]:
        """The lines up to its end, as JSON; AssertionError with its words when it failed."""
        deadline = time.monotonic() + _PATIENCE
        lines = list(iter(lambda: self._next(deadline), ""))
        if self._status():
            self._failed()
        return [json.loads(line) for line in lines]

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as out:
            for line in out:
                self._lines.put(line)
        self._lines.put("")

    def _next(self, deadline: float) -> str:
        try:
            return self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
        except Empty:
            raise AssertionError(f"the Java program hangs: nothing came for {_PATIENCE:g} s") from None

    def _status(self) -> int:
        try:
            return self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the Java program did not end within {_PATIENCE:g} s") from None

    def _failed(self) -> None:
        status = self._status()
        self._errors.seek(0)
        raise AssertionError(f"the Java program failed ({status}): {self._errors.read()[-2000:]}")


def build(folder: str, main: str, api: str = "jakarta") -> Program:
    """Fetch the jars of a folder's pom and compile what lies in it, once.

    The programs are written for jakarta.jms. With another ``api``, javax, the pom's profile of that name and the other
    package take its place. BrokerUnavailable says what is missing, BrokerFailed why they do not compile.
    """
    texts = {
        source.name: source.read_text(encoding="utf-8").replace("jakarta.jms", f"{api}.jms")
        for source in sorted((_HERE / folder).glob("*.java"))
    }
    profile = [] if api == "jakarta" else [f"-P{api}"]
    return Program(class_path(folder, _HERE / folder / "pom.xml", texts, profile), main)


def class_path(name: str, pom: Path, texts: dict[str, str], options: Sequence[str] = ()) -> str:
    """What ``java -cp`` needs for some Java files, by name, with the jars of a pom; made once for all of the same text.

    ``options`` are for Maven. BrokerUnavailable says what is missing, BrokerFailed why they do not compile.
    """
    check_java()
    javac = need("javac", f"it compiles the Java programs; install a JDK of version {_RELEASE} or newer")

    def fetch(aside: Path, folder: Path) -> None:
        try:
            maven.copy_dependencies(pom, aside, *options, timeout=_FETCHING)
        except BrokerFailed as error:
            raise BrokerUnavailable(f"the jars of the Java programs cannot be had: {error}") from error

    def compile_all(aside: Path, folder: Path) -> None:
        with tempfile.TemporaryDirectory() as written:
            for file, text in texts.items():
                Path(written, file).write_text(text, encoding="utf-8")
            sources = [Path(written, file) for file in texts]
            release = ["--release", _RELEASE, "-encoding", "UTF-8"]
            run([javac, *release, "-cp", f"{jars}/*", "-d", aside, *sources], timeout=_PATIENCE)

    jars = install(f"java-{name}-jars-{_hash([pom.read_text(encoding='utf-8'), *options])}", fetch)
    classes = install(f"java-{name}-classes-{_hash([jars.name, *texts.values()])}", compile_all)
    return f"{classes}{os.pathsep}{jars}/*"


def _hash(texts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]
