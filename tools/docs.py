"""What the documentation takes from the code: ``python -m tools.docs`` writes it, ``--check`` compares.

A page says where with a pair of comments, ``<!-- begin: NAME, … -->`` and ``<!-- end -->``.
"""

import ast
import itertools
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer.main

from jmsbridge.cli import app
from jmsbridge.config import Options
from tools.laws.source import ROOT

__all__ = ["GENERATORS", "commands", "main", "options", "regenerated"]

_SECTION = re.compile(r"(<!-- begin: (\w+)[^>]*-->\n).*?(<!-- end -->)", re.DOTALL)


def commands() -> str:
    """Every command with its options."""
    group: Any = typer.main.get_command(app)
    parts = []
    for name, command in group.commands.items():
        rows = [f"| {_cell(_names(parameter))} | {_cell(parameter.help or '')} |" for parameter in command.params]
        parts.append("\n".join([f"### {name}", "", _help(command.help or ""), "", *_table(rows)]))
    return "\n\n".join(parts)


def _table(rows: list[str]) -> list[str]:
    return ["| argument or option | meaning |", "|---|---|", *rows] if rows else []


def _help(text: str) -> str:
    about, _, examples = text.partition("Examples:")
    lines = [line.strip() for line in examples.splitlines() if line.strip()]
    return "\n".join([about.strip(), "", "```sh", *lines, "```"])


def _names(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{parameter.metavar or parameter.name}`"
    metavar = "" if getattr(parameter, "is_flag", False) else f" {parameter.metavar or 'VALUE'}"
    return ", ".join(f"`{option}{metavar}`" for option in (*parameter.opts, *parameter.secondary_opts))


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def options() -> str:
    """Every option of the facade with its default and meaning."""
    tree = ast.parse((ROOT / "jmsbridge/config/options.py").read_text(encoding="utf-8"))
    body = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Options").body
    meanings: dict[str, str] = {}
    for field, meaning in itertools.pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(meaning, ast.Expr):
            meanings[field.target.id] = str(ast.literal_eval(meaning.value))
    defaults = Options()
    rows = [
        f"| `{name}` | `{getattr(defaults, name)!r}` | {_cell(meanings.get(name, ''))} |"
        for name in Options.__struct_fields__
    ]
    return "\n".join(["| option | default | meaning |", "|---|---|---|", *rows])


GENERATORS: dict[str, Callable[[], str]] = {"commands": commands, "options": options}


def regenerated(text: str) -> str:
    """A page with its generated sections up to date."""
    return _SECTION.sub(lambda match: f"{match[1]}\n{GENERATORS[match[2]]()}\n\n{match[3]}", text)


def main(root: Path = ROOT, *, check: bool = False) -> list[Path]:
    """Bring the pages up to date, or only say which are not."""
    stale = []
    for page in sorted((root / "docs").glob("**/*.md")):
        text = page.read_text(encoding="utf-8")
        if regenerated(text) != text:
            stale.append(page)
            if not check:
                page.write_text(regenerated(text), encoding="utf-8")
    return stale


if __name__ == "__main__":
    _CHECK = "--check" in sys.argv[1:]
    _STALE = main(check=_CHECK)
    for _PAGE in _STALE:
        print(f"{_PAGE.relative_to(ROOT)} {'is out of date: make docs' if _CHECK else 'written'}")
    sys.exit(1 if _STALE and _CHECK else 0)
