"""Reads the Java sources of a project, one file after the other; nothing of it is executed."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from jmsbridge.errors import ConfigurationError
from jmsbridge.migrate.beans import Beans
from jmsbridge.migrate.calls import Calls
from jmsbridge.migrate.consumers import Consumed
from jmsbridge.migrate.factories import factories, topic_senders
from jmsbridge.migrate.findings import Finding, Job, Problem
from jmsbridge.migrate.index import Index, Unit
from jmsbridge.migrate.libraries import BUILDS, named_in
from jmsbridge.migrate.names import Names
from jmsbridge.migrate.syntax import children, first_error, line, parse, text
from jmsbridge.migrate.texts import Configuration, Texts
from jmsbridge.migrate.unread import unread_in

__all__ = ["Finding", "Job", "Problem", "Project", "read_project"]

_LARGEST = 4 << 20
_NOT_SOURCES = {"target", "build", "out", "node_modules"}
_CONFIGURATION = {"jndi.properties", "application.properties", "application.yml", "application.yaml"}


@dataclass
class Project:
    """What was found, in the order of the files; paths as texts are relative to ``root``.

    ``configuration`` has the files for ``jmsbridge import``, ``libraries`` file, line and name of each that a build
    names.
    """

    root: Path
    files: int = 0
    findings: list[Finding] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    configuration: list[Path] = field(default_factory=list)
    libraries: list[tuple[str, int, str]] = field(default_factory=list)
    index: Index = field(default_factory=lambda: Index([]))


def read_project(path: Path) -> Project:
    """Read a folder with all below it, or one Java file.

    A file that cannot be read, or is not Java, is among ``problems`` with its line, and the rest goes on. Folders of
    build tools and hidden ones are left out, links are not followed. ConfigurationError if the path does not exist or
    has no Java file.
    """
    if not path.exists():
        raise ConfigurationError(f"{str(path)!r} does not exist")
    project = Project(path if path.is_dir() else path.parent)
    units = []
    for each in [path] if path.is_file() else _sources(path, project):
        project.files += 1
        if (unit := _unit(each, project)) is not None:
            units.append(unit)
    if not project.files:
        raise ConfigurationError(f"{str(path)!r} has no Java file")
    project.index = Index(units)
    for file, number in project.index.too_deep:
        project.problems.append(Problem(file, number, "a declaration in this class is nested too deeply"))
    configuration = Configuration(project.root, project.configuration)
    listeners: list[tuple[str, Consumed]] = []
    texts = {unit.path: Texts(project.index, unit, configuration.near(unit.path)) for unit in units}
    made_by = factories(units, texts)
    to_topics = topic_senders(units, texts)
    for unit in units:
        calls = Calls(project.index, unit, texts[unit.path], to_topics[unit.path])
        _look(unit, project, calls, Beans(project.index, unit, texts[unit.path], made_by))
        listeners += calls.listeners
    for job in project.jobs:
        if job.kind == "listener" and job.destination is None:
            set_on = [consumed for name, consumed in listeners if name == job.owner]
            if len(set_on) == 1:
                job.destination, job.settings = set_on[0]
    project.findings.sort(key=lambda each: (each.file, each.line))
    project.problems.sort(key=lambda each: (each.file, each.line))
    return project


def _sources(root: Path, project: Project) -> Iterator[Path]:
    def unreadable(error: OSError) -> None:
        name = _shown(Path(error.filename or root), root)
        project.problems.append(Problem(name, 1, f"cannot be read: {error.strerror}"))

    for folder, folders, files in os.walk(root, onerror=unreadable):
        is_package = "src" in Path(folder).relative_to(root).parts
        left_out = {"node_modules"} if is_package else _NOT_SOURCES
        folders[:] = sorted(each for each in folders if not each.startswith(".") and each not in left_out)
        for name in sorted(files):
            found = Path(folder, name)
            if found.is_symlink() or not found.is_file():
                continue
            if name in _CONFIGURATION:
                project.configuration.append(found)
            elif name in BUILDS:
                _read_build(found, project)
            elif name.endswith(".xml"):
                _read_xml(found, project)
            elif name.endswith(".java"):
                yield found


def _read_build(path: Path, project: Project) -> None:
    shown = _shown(path, project.root)
    try:
        project.libraries += [(shown, number, library) for number, library in named_in(path)]
    except OSError as error:
        project.problems.append(Problem(shown, 1, f"cannot be read: {error.strerror}"))


def _read_xml(path: Path, project: Project) -> None:
    shown = _shown(path, project.root)
    try:
        with path.open("rb") as stream:
            data = stream.read(_LARGEST)
    except OSError as error:
        project.problems.append(Problem(shown, 1, f"cannot be read: {error.strerror}"))
    else:
        _tell_unread(shown, data, project)


def _tell_unread(shown: str, data: bytes, project: Project) -> None:
    project.problems += [Problem(shown, number, what) for number, what in unread_in(data, Path(shown).suffix)]


def _shown(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()


def _unit(path: Path, project: Project) -> Unit | None:
    """The file as a tree; None, and a problem, if it cannot be read."""
    shown = _shown(path, project.root)
    try:
        with path.open("rb") as stream:
            data = stream.read(_LARGEST + 1)
    except OSError as error:
        project.problems.append(Problem(shown, 1, f"cannot be read: {error.strerror}"))
        return None
    if len(data) > _LARGEST:
        project.problems.append(Problem(shown, 1, f"is larger than {_LARGEST >> 20} MB"))
        return None
    _tell_unread(shown, data, project)
    try:
        data.decode()
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        project.problems.append(Problem(shown, number, "is not UTF-8 here; texts with such letters are wrong"))
    root = parse(data)
    wrong = first_error(root)
    if wrong is not None:
        what = f"{wrong.type!r} is missing" if wrong.is_missing else "is not Java here"
        project.problems.append(Problem(shown, line(wrong), f"{what}; the rest of the file is in the report"))
    package = "".join(text(name) for each in children(root, "package_declaration") for name in children(each)[-1:])
    return Unit(shown, root, package, Names(root))


def _look(unit: Unit, project: Project, *parts: Calls | Beans) -> None:
    """Add what a file has."""
    for part in parts:
        try:
            part.walk()
        except RecursionError:
            project.problems.append(Problem(unit.path, 1, "is nested too deeply; what is missing was not reached"))
        project.findings += part.findings
        project.jobs += part.jobs
