"""The packaging law: every package is typed, and the folder of backends is not a package."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from tools.laws.source import ROOT, Violation

__all__ = ["check"]


def check(root: Path = ROOT) -> Iterator[Violation]:
    """Every package of the wheel has ``py.typed``; the folder of backends has no ``__init__.py``."""
    for package in [root / "jmsbridge", *sorted(path for path in (root / "backends").iterdir() if path.is_dir())]:
        where = PurePosixPath(package.relative_to(root))
        if package.name != "__pycache__" and not (package / "py.typed").is_file():
            yield Violation(where, 1, "the package has no py.typed")
    for folder in ("backends", "docker", "integration", "tests"):
        if (root / folder / "__init__.py").exists():
            yield Violation(PurePosixPath(folder), 1, "must not be a package: it has an __init__.py")
