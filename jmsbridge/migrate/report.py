"""The report as a document: what is used and where, what it is in Python, and what a backend does about it."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jmsbridge.config.backends import backend_for
from jmsbridge.config.features import FEATURES
from jmsbridge.config.java import import_text
from jmsbridge.config.java.files import read_file
from jmsbridge.config.writing import profile_text
from jmsbridge.core.plan import Plan
from jmsbridge.errors import ConfigurationError
from jmsbridge.migrate.findings import Finding
from jmsbridge.migrate.libraries import LIBRARIES
from jmsbridge.migrate.project import Project

__all__ = ["document"]


def document(project: Project, backend: str | None = None) -> dict[str, Any]:
    """The report of a project, for JSON: uses by Java name, features with their outcome, libraries, profiles, problems.

    ``backend`` is a scheme such as "rabbitmq"; the outcomes are those of its backend, and a broker may offer less.
    ConfigurationError if it is unknown or not installed.
    """
    return {
        "files": project.files,
        "backend": backend,
        "features": list(_features(project.findings, backend)),
        "uses": list(_uses(project.findings)),
        "libraries": list(_libraries(project)),
        "configuration": [_profile(each, project.root) for each in project.configuration],
        "problems": [{"at": f"{each.file}:{each.line}", "reason": each.reason} for each in project.problems],
    }


def _libraries(project: Project) -> Iterator[dict[str, Any]]:
    where: dict[str, list[str]] = {}
    for file, line, name in project.libraries:
        where.setdefault(name, []).append(f"{file}:{line}")
    for name, at in sorted(where.items()):
        yield {"library": name, "python": LIBRARIES[name], "at": at}


def _profile(path: Path, root: Path) -> dict[str, Any]:
    """The profile that a file of Java configuration becomes, as TOML, or why it becomes none."""
    shown = path.relative_to(root).as_posix()
    found = {"file": shown, "command": f"jmsbridge import {shlex.quote(str(path))}"}
    try:
        text, kind, name = read_file(path)
        return found | {"profile": profile_text(name, import_text(text, kind, name=name).profile)}
    except ConfigurationError as error:
        return found | {"problem": str(error)}


def _uses(findings: list[Finding]) -> Iterator[dict[str, Any]]:
    grouped: dict[tuple[str, str, str], list[Finding]] = {}
    for each in findings:
        grouped.setdefault((each.kind, each.java, each.python), []).append(each)
    for (kind, java, python), found in sorted(grouped.items()):
        features = dict.fromkeys(name for each in found for name in each.features)
        where = [f"{each.file}:{each.line}" for each in found]
        yield {"kind": kind, "java": java, "python": python, "features": list(features), "at": where}


def _features(findings: list[Finding], backend: str | None) -> Iterator[dict[str, Any]]:
    where: dict[str, list[str]] = {}
    for each in findings:
        for name in each.features:
            where.setdefault(name, []).append(f"{each.file}:{each.line}")
    plan = None if backend is None else Plan(backend_for(backend).native).capabilities()
    for row in FEATURES:
        if row.name in where:
            found: dict[str, Any] = {"name": row.name, "text": row.text}
            if plan is not None:
                found |= {"outcome": plan[row.name].outcome, "price": plan[row.name].price}
            yield found | {"at": list(dict.fromkeys(where[row.name]))}
