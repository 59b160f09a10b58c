"""The files of the checkout, parsed once, for all laws."""

import ast
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath

__all__ = ["ROOT", "Source", "Violation", "python_sources", "sources", "top_level"]

ROOT = Path(__file__).resolve().parents[2]

_SKIPPED = re.compile(r"\.git|\.venv.*|__pycache__|\..*_cache|\.hypothesis|dist")


@dataclass(frozen=True)
class Violation:
    """One place that breaks a law."""

    path: PurePosixPath
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}"


@dataclass(frozen=True)
class Source:
    """One text file: its path below the root, and its text."""

    path: PurePosixPath
    text: str = field(repr=False)

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree of a Python file."""
        return ast.parse(self.text, str(self.path))

    @cached_property
    def lines(self) -> list[str]:
        """The lines, counted from 0."""
        return self.text.splitlines()

    @property
    def module(self) -> str:
        """The dotted name under which Python imports the file."""
        parts = self.path.with_suffix("").parts
        above = {"backends": 1, "examples": 2}.get(parts[0], 0)
        parts = parts[min(above, len(parts) - 1) :]
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def within(self, *folders: str) -> bool:
        """Whether the file is in or below one of the folders."""
        return any(self.path.is_relative_to(folder) for folder in folders)

    def broken(self, at: int | ast.stmt | ast.expr | ast.excepthandler, text: str) -> Violation:
        """A violation at a line or a node of this file."""
        return Violation(self.path, at if isinstance(at, int) else at.lineno, text)

    def functions(self) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        """Every function of the file, methods and nested ones included."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node

    def imports(self) -> Iterator[tuple[ast.stmt, str]]:
        """Every import: the statement, and the absolute dotted name that it imports."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from ((node, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                base = self._base(node)
                yield from ((node, f"{base}.{alias.name}") for alias in node.names)

    def _base(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        package = self.module.split(".")
        package = package if self.path.name == "__init__.py" else package[:-1]
        package = package[: len(package) - node.level + 1]
        return ".".join([*package, *([node.module] if node.module else [])])


def sources() -> list[Source]:
    """Every text file that belongs to the project, whether committed or not yet."""
    found = []
    for path in _paths():
        try:
            found.append(Source(PurePosixPath(path.relative_to(ROOT)), path.read_text(encoding="utf-8")))
        except UnicodeDecodeError:
            continue  # A picture or an archive has no lines.
    return found


def python_sources(all_sources: list[Source]) -> list[Source]:
    """The Python files among them."""
    return [source for source in all_sources if source.path.suffix == ".py"]


def top_level(tree: ast.Module) -> Iterator[ast.stmt]:
    """The statements of a module, those under a top-level ``if`` or ``try`` included."""
    todo = list(tree.body)
    while todo:
        node = todo.pop(0)
        if isinstance(node, ast.If):
            todo = [*node.body, *node.orelse, *todo]
        elif isinstance(node, ast.Try):
            todo = [*node.body, *node.orelse, *node.finalbody, *todo]
        else:
            yield node


def _paths() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode == 0:
        names = [ROOT / name for name in listed.stdout.split("\0") if name]
    else:  # A source archive has no repository.
        names = [path for path in ROOT.rglob("*") if not any(map(_SKIPPED.fullmatch, path.relative_to(ROOT).parts))]
    return sorted(path for path in set(names) if path.is_file() and not re.search(r"\.(png|whl|gz)$", path.name))
