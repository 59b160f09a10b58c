"""Java programs of ours with the libraries that a pom names: fetched by Maven, compiled, kept with the brokers."""

import hashlib
import os
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from integration.lab.errors import BrokerFailed, BrokerUnavailable
from integration.lab.fetching import maven
from integration.lab.fetching.install import install
from integration.lab.fetching.java import check_java
from integration.lab.fetching.tools import need, run

__all__ = ["class_path", "compiled", "jars"]

_FETCHING = 300.0  # seconds; the first fetch also brings Maven's own plugins
_COMPILING = 90.0
_RELEASE = "17"  # of the Java language and machine
_COMPILER = f"it compiles the Java programs; install a JDK of version {_RELEASE} or newer"


def jars(name: str, pom: Path, options: Sequence[str] = ()) -> Path:
    """The folder with what a pom names and all that needs at run time; BrokerUnavailable says what is missing.

    ``options`` are for Maven.
    """
    check_java()
    need("javac", _COMPILER)

    def fetch(aside: Path, folder: Path) -> None:
        try:
            maven.copy_dependencies(pom, aside, *options, timeout=_FETCHING)
        except BrokerFailed as error:
            raise BrokerUnavailable(f"the jars of the Java programs cannot be had: {error}") from error

    return install(f"java-{name}-jars-{_hash([pom.read_text(encoding='utf-8'), *options])}", fetch)


def compiled(name: str, libraries: Path, files: Sequence[tuple[str, str]]) -> Path:
    """The folder with the classes of Java files, each a name and its text, beside a folder of jars.

    BrokerFailed with the compiler's words where they do not compile.
    """

    def compile_all(aside: Path, folder: Path) -> None:
        with tempfile.TemporaryDirectory() as written:
            places = [Path(written, str(number), file) for number, (file, _) in enumerate(files)]  # of two packages too
            for place, (_, text) in zip(places, files, strict=True):
                place.parent.mkdir()
                place.write_text(text, encoding="utf-8")
            settings = ["-nowarn", "--release", _RELEASE, "-encoding", "UTF-8"]
            javac = need("javac", _COMPILER)
            run([javac, *settings, "-cp", f"{libraries}/*", "-d", aside, *places], timeout=_COMPILING)

    texts = [text for file in files for text in file]
    return install(f"java-{name}-classes-{_hash([libraries.name, *texts])}", compile_all)


def class_path(name: str, pom: Path, texts: dict[str, str], options: Sequence[str] = ()) -> str:
    """What ``java -cp`` needs for some Java files, by name, with the jars of a pom; made once for all of the same text.

    BrokerUnavailable says what is missing, BrokerFailed why they do not compile.
    """
    libraries = jars(name, pom, options)
    return f"{compiled(name, libraries, list(texts.items()))}{os.pathsep}{libraries}/*"


def _hash(texts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]
