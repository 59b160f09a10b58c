"""Java, its libraries and our own Java classes: found, fetched by Maven, compiled; kept in the user's cache folder."""

import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import platformdirs

__all__ = ["HERE", "Unavailable", "classpath", "compiled"]

HERE = Path(__file__).resolve().parent
"""The folder of the Java face."""

_FETCHING = 300.0  # seconds; the first fetch also brings Maven's own plugins


class Unavailable(Exception):
    """Java programs cannot be run here; the text says what is missing."""


def classpath() -> list[Path]:
    """The API jars, JUnit and Joram's tests; Unavailable where this machine cannot have them."""
    if importlib.util.find_spec("jpype") is None:
        raise Unavailable("JPype is missing: pip install 'jmsbridge[dev]'")
    if shutil.which("java") is None or shutil.which("javac") is None:
        raise Unavailable("a JDK is missing: install one of version 17 or newer, so that java and javac are found")
    pom = HERE / "pom.xml"
    with _made(f"jars-{_hash(pom.read_bytes())}") as folder:
        if folder is not None:
            _fetch(pom, folder)
    return sorted(_kept(f"jars-{_hash(pom.read_bytes())}").glob("*.jar"))


def compiled(sources: list[Path], api: str) -> Path:
    """The folder with the classes of some Java files, written for jakarta.jms, in the API that is asked for.

    ValueError with the compiler's words where they do not compile.
    """
    jars = classpath()
    files = [(source.name, source.read_text(encoding="utf-8").replace("jakarta.jms", api)) for source in sources]
    name = f"classes-{_hash(repr((files, [jar.name for jar in jars])).encode())}"
    with _made(name) as folder:
        if folder is not None:
            _compile(files, jars, folder)
    return _kept(name)


def _compile(files: list[tuple[str, str]], jars: list[Path], folder: Path) -> None:
    with tempfile.TemporaryDirectory() as written:
        places = [Path(str(number), file) for number, (file, _) in enumerate(files)]  # of two packages, perhaps
        for place, (_, text) in zip(places, files, strict=True):
            Path(written, place.parent).mkdir()
            Path(written, place).write_text(text, encoding="utf-8")
        command = ["javac", "-nowarn", "-encoding", "UTF-8", "-cp", os.pathsep.join(map(str, jars)), "-d", str(folder)]
        done = subprocess.run(
            [*command, *map(str, places)],
            cwd=written,
            capture_output=True,
            text=True,
            timeout=_FETCHING,
            check=False,
        )
    if done.returncode:
        raise ValueError(done.stderr)


def _fetch(pom: Path, folder: Path) -> None:
    if shutil.which("mvn") is None:
        raise Unavailable("Maven is missing: install it, so that mvn is found")
    goal = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
    command = ["mvn", "--quiet", "--batch-mode", "--file", str(pom), goal, f"-DoutputDirectory={folder}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_FETCHING, check=False)
    except subprocess.TimeoutExpired:
        raise Unavailable(f"Maven fetched nothing in {_FETCHING:.0f} s") from None
    if done.returncode:
        said = next((line for line in done.stdout.splitlines() if "ERROR" in line), "no reason given")
        raise Unavailable(f"Maven could not fetch the libraries: {said}")


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _kept(name: str) -> Path:
    return platformdirs.user_cache_path("jmsbridge") / "conformance" / name


@contextmanager
def _made(name: str) -> Iterator[Path | None]:
    """A new folder to fill, which takes its place when that succeeded; None where it is there already."""
    place = _kept(name)
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (place.parent / f"{name}.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if place.is_dir():
            yield None
            return
        with tempfile.TemporaryDirectory(dir=place.parent) as new:
            folder = Path(new, "new")
            folder.mkdir()
            yield folder
            folder.rename(place)
