"""The text that the demo sends: lines of files, byte for byte."""

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

__all__ = ["Line", "TextFile", "find_files", "lines_of", "rebuilt"]

_SUFFIXES = {".py", ".md", ".toml", ".txt", ".cfg", ".ini", ".yml", ".yaml", ".lark"}
_SKIPPED = {"__pycache__", "node_modules", "dist", "build", "site-packages"}


class TextFile(msgspec.Struct, frozen=True):
    """One file: its name below the folder, and its content."""

    name: str
    content: bytes


class Line(msgspec.Struct, frozen=True):
    """One line with its position. ``text`` includes the line end."""

    file: str
    number: int
    text: str
    last: bool


def find_files(folder: Path, most_lines: int) -> list[TextFile]:
    """Text files below a folder, in order, with at most ``most_lines`` lines in all; skips hidden folders."""
    found: list[TextFile] = []
    total = 0
    for path in _walk(folder):
        content = path.read_bytes()
        try:
            count = len(content.decode("utf-8").splitlines())
        except UnicodeDecodeError:
            continue  # not a text file
        if count and total + count <= most_lines:
            found.append(TextFile(path.relative_to(folder).as_posix(), content))
            total += count
    return found


def _walk(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.name in _SKIPPED or path.is_symlink():
            continue
        if path.is_dir():
            yield from _walk(path)
        elif path.suffix in _SUFFIXES or path.name in {"Makefile", "LICENSE"}:
            yield path


def lines_of(file: TextFile) -> list[Line]:
    """The lines of a file, which joined give the file again."""
    parts = file.content.decode("utf-8").splitlines(keepends=True)
    return [Line(file.name, number, text, number == len(parts)) for number, text in enumerate(parts, 1)]


def rebuilt(lines: Iterable[tuple[str, int, str]]) -> dict[str, bytes]:
    """Files from (name, number, text) in any order; duplicate lines are kept."""
    ordered = sorted(lines)
    groups = itertools.groupby(ordered, key=lambda line: line[0])
    return {name: "".join(text for _, _, text in group).encode("utf-8") for name, group in groups}
