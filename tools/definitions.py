"""Finds functions and classes by name, so that references to them survive a move."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

__all__ = ["Place", "find"]

_SOURCES = ("jmsbridge", "backends")


class Place:
    """A function or class in a file; a property's getter and setter, which share a name, are one place."""

    def __init__(self, path: Path, spans: list[tuple[int, int]]) -> None:
        self.path = path
        self._spans = spans  # positions in the text

    def count(self, text: str) -> int:
        """How often ``text`` occurs in it."""
        source = self.path.read_text(encoding="utf-8")
        return sum(source[start:end].count(text) for start, end in self._spans)

    def replaced(self, old: str, new: str) -> str:
        """The file's text with ``old`` replaced within this place."""
        source = self.path.read_text(encoding="utf-8")
        for start, end in reversed(self._spans):
            source = source[:start] + source[start:end].replace(old, new) + source[end:]
        return source


def find(name: str, root: Path) -> Place:
    """The place called ``Class.method``, ``function``, or ``module:function`` where several modules have one.

    LookupError if there is none, or more than one module has it. The path of a file means the whole file.
    """
    if "/" in name:
        path = root / name
        return Place(path, [(0, len(path.read_text(encoding="utf-8")))])
    module, _, qualified = name.rpartition(":")
    homes = [
        (path, spans[qualified])
        for path, spans in _all(root).items()
        if qualified in spans and f".{_dotted(path, root)}".endswith(f".{module}" if module else "")
    ]
    if len(homes) != 1:
        raise LookupError(f"{name}: {len(homes)} modules have it")
    return Place(*homes[0])


def _dotted(path: Path, root: Path) -> str:
    return ".".join(path.relative_to(root).with_suffix("").parts)


@cache
def _all(root: Path) -> dict[Path, dict[str, list[tuple[int, int]]]]:
    paths = [path for folder in _SOURCES for path in sorted((root / folder).rglob("*.py"))]
    return {path: _definitions(path.read_text(encoding="utf-8")) for path in paths}


def _definitions(text: str) -> dict[str, list[tuple[int, int]]]:
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found: dict[str, list[tuple[int, int]]] = {}
    for name, first, last in _walk(ast.parse(text), ""):
        found.setdefault(name, []).append((starts[first - 1], starts[last]))
    return found


def _walk(node: ast.AST, prefix: str) -> Iterator[tuple[str, int, int]]:
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from _walk(child, prefix)
            continue
        first = min([child.lineno, *(decorator.lineno for decorator in child.decorator_list)])
        yield prefix + child.name, first, child.end_lineno or first
        yield from _walk(child, f"{prefix}{child.name}.")
