"""Small Java programs beside a broker's own client: its jars by Maven, compiled by javac, kept in the user's cache."""

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import platformdirs

__all__ = ["Program", "Running", "Unavailable", "build"]

_HERE = Path(__file__).resolve().parent
_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
_PATIENCE = 90.0  # seconds for one run of a program
_FETCHING = 300.0


class Unavailable(Exception):
    """The Java programs cannot be run here; the text says what is missing."""


class Program:
    """A compiled program; each run is a Java machine of its own."""

    def __init__(self, class_path: str, main: str) -> None:
        self._command = ["java", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"]
        self._command += ["-cp", class_path, main]

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

    def __enter__(self) -> "Running":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()
        self._errors.close()

    def line(self) -> str:
        """The next line, as text; AssertionError where there is none."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._failed()
        return line.strip()

    def rest(self) -> list[Any]:
        """The lines up to its end, as JSON; AssertionError with its words when it failed."""
        try:
            out, _ = self._process.communicate(timeout=_PATIENCE)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the Java program did not end within {_PATIENCE:.0f} s") from None
        if self._process.returncode:
            self._failed()
        return [json.loads(line) for line in out.splitlines()]

    def _failed(self) -> None:
        self._process.wait(_PATIENCE)
        self._errors.seek(0)
        raise AssertionError(f"the Java program failed ({self._process.returncode}): {self._errors.read()[-2000:]}")


def build(folder: str, main: str, api: str = "jakarta") -> Program:
    """Fetch the jars of a folder's pom and compile what lies in it, once; Unavailable says what is missing.

    The programs are written for jakarta.jms. With another ``api``, javax, the pom's profile of that name and the other
    package take its place.
    """
    missing = [tool for tool in ("java", "javac", "mvn") if shutil.which(tool) is None]
    if missing:
        raise Unavailable(f"{' and '.join(missing)} missing: install a JDK of version 17 or newer, and Maven")
    pom = _HERE / folder / "pom.xml"
    texts = {
        source.name: source.read_text(encoding="utf-8").replace("jakarta.jms", f"{api}.jms")
        for source in sorted((_HERE / folder).glob("*.java"))
    }
    fetched = f"jars-{_hash(pom.read_text(encoding='utf-8'), api)}"
    with _made(fetched) as new:
        if new is not None:
            profile = [] if api == "jakarta" else [f"-P{api}"]
            _call(
                _FETCHING, "mvn", "--quiet", "--batch-mode", *profile, "-f", str(pom), _GOAL, f"-DoutputDirectory={new}"
            )
    jars = _place(fetched)
    classes = f"classes-{_hash(fetched, *texts.values())}"
    with _made(classes) as new:
        if new is not None:
            with tempfile.TemporaryDirectory() as written:
                for name, text in texts.items():
                    Path(written, name).write_text(text, encoding="utf-8")
                sources = [str(Path(written, name)) for name in texts]
                _call(_PATIENCE, "javac", "-encoding", "UTF-8", "-cp", f"{jars}/*", "-d", str(new), *sources)
    return Program(f"{_place(classes)}{os.pathsep}{jars}/*", main)


def _call(timeout: float, *command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=timeout)
    if done.returncode:
        raise Unavailable(f"{command[0]} failed: {(done.stdout + done.stderr).strip()[-1000:]}")


def _hash(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


def _place(name: str) -> Path:
    return platformdirs.user_cache_path("jmsbridge") / "interop" / name


@contextmanager
def _made(name: str) -> Iterator[Path | None]:
    """A new folder to fill, which takes its place when that succeeded; None where it is there already.

    Two workers may fill at once: the first to end wins, and both have the same.
    """
    place = _place(name)
    if place.is_dir():
        yield None
        return
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent) as made:
        folder = Path(made, "new")
        folder.mkdir()
        yield folder
        try:
            folder.rename(place)
        except OSError:
            if not place.is_dir():
                raise
