"""The pages of the documentation: the Python in them, and the names that they mention."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tools.laws.source import ROOT

__all__ = ["DOCS", "Script", "classes", "functions", "loggers", "names", "page", "scripts"]

DOCS = ROOT / "docs"

_CODE = re.compile(r"`([^`\n]+)`")
_PRINTED = re.compile(r"\s*print\(.*\)  # (.*)")


@dataclass(frozen=True)
class Script:
    """The Python blocks below one heading, joined; every line has the number that it has on the page."""

    path: Path
    title: str
    code: str
    printed: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.path.name}: {self.title}"


def page(name: str) -> str:
    """The text of a page below ``docs``."""
    return (DOCS / name).read_text(encoding="utf-8")


def scripts(name: str) -> list[Script]:
    """The Python of a page by headings of the second level; comments behind ``print`` have the expected output."""
    found: dict[str, list[tuple[int, str]]] = {}
    title, fence = "", ""
    for number, line in enumerate(page(name).splitlines(), 1):
        if line.startswith("```"):
            fence = "" if fence else line
        elif not fence and line.startswith("## "):
            title = line[3:]
        elif fence == "```python":
            found.setdefault(title, []).append((number, line))
    return [_script(DOCS / name, title, lines) for title, lines in found.items()]


def _script(path: Path, title: str, lines: list[tuple[int, str]]) -> Script:
    code = [""] * lines[-1][0]
    for number, line in lines:
        code[number - 1] = line
    printed = tuple(match[1] for line in code if (match := _PRINTED.fullmatch(line)))
    return Script(path, title, "\n".join(code), printed)


def names(name: str) -> Iterator[str]:
    """The words in code style in the sentences and tables of a page, once each."""
    text = re.sub(r"^```.*?^```", "", page(name), flags=re.DOTALL | re.MULTILINE)
    yield from dict.fromkeys(match[1] for match in _CODE.finditer(text))


@cache
def classes() -> dict[str, set[str]]:
    """Every class of the sources with the names of its methods and attributes, those of its bases included."""
    own: dict[str, set[str]] = {}
    bases: dict[str, set[str]] = {}
    for tree in _trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                own.setdefault(node.name, set()).update(_members(node))
                bases.setdefault(node.name, set()).update(base.id for base in node.bases if isinstance(base, ast.Name))
    return {name: _with_bases(name, own, bases) for name in own}


@cache
def functions() -> set[str]:
    """Every function and method of the sources by its bare name."""
    return {node.name for tree in _trees() for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@cache
def loggers() -> set[str]:
    """Every logger that the sources write to."""
    found = set()
    for path in _paths():
        text = path.read_text(encoding="utf-8")
        if re.search(
            r"\blog(?:ger)?\.(?:debug|info|warning|error|exception|critical)\(", text.replace("_log.", "log.")
        ):
            found |= set(re.findall(r'getLogger\("(jmsbridge\.[\w.]+)"\)', text))
    return found


@cache
def _trees() -> tuple[ast.Module, ...]:
    return tuple(ast.parse(path.read_text(encoding="utf-8")) for path in _paths())


def _paths() -> list[Path]:
    return [path for folder in ("jmsbridge", "backends") for path in sorted((ROOT / folder).rglob("*.py"))]


def _members(node: ast.ClassDef) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.FunctionDef | ast.ClassDef) and part is not node:
            yield part.name
        elif isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store):
            yield part.attr
        elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            yield part.id


def _with_bases(name: str, own: dict[str, set[str]], bases: dict[str, set[str]]) -> set[str]:
    found, todo, seen = set(own[name]), list(bases[name]), {name}
    while todo:
        base = todo.pop()
        if base in own and base not in seen:
            seen.add(base)
            found |= own[base]
            todo += bases[base]
    return found
