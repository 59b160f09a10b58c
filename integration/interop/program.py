"""The Java program of the interop tests, beside one client's jars; each run is a Java machine of its own."""

import json
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import IO, Any

from integration.lab.fetching.java import java
from integration.lab.fetching.programs import class_path

__all__ = ["Program", "Running", "build"]

_HERE = Path(__file__).resolve().parent
_PATIENCE = 150.0  # seconds for one run of a program


class Program:
    """A compiled program; each run is a Java machine of its own."""

    def __init__(self, classes: str, main: str) -> None:
        self._command = [java(), "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"]
        self._command += ["-cp", classes, main]

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


def build(folder: str, flavour: str = "jakarta") -> Program:
    """The program with the client of a folder: its jars fetched, all compiled, once.

    Both are written for jakarta.jms. For the other flavour, javax, the pom's profile of that name and the other package
    take its place. BrokerUnavailable says what is missing, BrokerFailed why they do not compile.
    """
    sources = [*sorted((_HERE / "java").glob("*.java")), *sorted((_HERE / folder).glob("*.java"))]
    texts = {
        source.name: source.read_text(encoding="utf-8").replace("jakarta.jms", f"{flavour}.jms") for source in sources
    }
    profile = [] if flavour == "jakarta" else [f"-P{flavour}"]
    return Program(class_path(f"interop-{folder}", _HERE / folder / "pom.xml", texts, profile), "Interop")
