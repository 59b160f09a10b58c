"""Jars and distributions from Maven's repositories, through mvn, which verifies their checksums."""

import tarfile
from collections.abc import Sequence
from pathlib import Path

from integration.lab.fetching.tools import need, run

__all__ = ["TOLERANT", "copy", "copy_dependencies", "copy_with_dependencies", "unpack"]

_WHY = "the Java brokers and clients come through Maven; install it (Debian: maven), and a JDK of version 17 or newer"
_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin"
TOLERANT = "2.10"
"""The last version of that plugin that fetches a file whose POM has no parent."""


def copy(artifact: str, folder: Path, *, plugin: str = "3.6.1") -> Path:
    """Fetch one file, named `group:artifact:version:type:classifier`, into a folder."""
    target = folder / "download"
    _mvn(f"{_PLUGIN}:{plugin}:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={target}")
    return next(path for path in target.iterdir() if path.name.startswith(artifact.split(":")[1]))


def copy_with_dependencies(artifacts: Sequence[str], folder: Path) -> None:
    """Fetch jars, named `group:artifact:version`, with their run-time dependencies into a folder."""
    listed = "".join(_DEPENDENCY.format(*artifact.split(":")) for artifact in artifacts)
    folder.mkdir()
    pom = folder / "pom.xml"
    pom.write_text(_POM.format(dependencies=listed))
    copy_dependencies(pom, folder)
    pom.unlink()


def copy_dependencies(pom: Path, folder: Path, *options: str, timeout: float = 600.0) -> None:
    """Fetch the jars that a pom names, with their run-time dependencies, into a folder.

    What the pom names as an ``artifactItem`` comes alone: the jar of a POM without its parent is fetched only so.
    """
    goals = [f"{_PLUGIN}:3.6.1:copy-dependencies"]
    if "<artifactItem>" in pom.read_text(encoding="utf-8"):
        goals.append(f"{_PLUGIN}:{TOLERANT}:copy")
    for goal in goals:
        _mvn(*options, "-f", str(pom), goal, "-DincludeScope=runtime", f"-DoutputDirectory={folder}", timeout=timeout)


def unpack(archive: Path, folder: Path) -> None:
    """Unpack a distribution without its own top folder, then remove the archive."""
    with tarfile.open(archive) as tar:
        for member in tar:
            _, _, member.name = member.name.partition("/")
            if member.name:
                tar.extract(member, folder, filter="tar")
    archive.unlink()


def _mvn(*arguments: str, timeout: float = 600.0) -> None:
    program = need("mvn", _WHY)
    need("java", _WHY)
    run([program, "--quiet", "--batch-mode", "--strict-checksums", *arguments], timeout=timeout)


_DEPENDENCY = "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"
_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion><groupId>jmsbridge</groupId><artifactId>broker</artifactId><version>1</version>
<dependencies>{dependencies}</dependencies></project>
"""
