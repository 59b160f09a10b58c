"""Parts of the documentation that are generated from the code: ``python -m tools.docs`` writes, ``--check`` compares.

In a page they stand between a pair of comments, ``<!-- begin: NAME, … -->`` and ``<!-- end -->``. The pages in
``docs/commands`` are written as a whole, one for each command.
"""

import ast
import itertools
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import typer.main

import jmsbridge
from jmsbridge import java_api
from jmsbridge.cli import app
from jmsbridge.config import Options
from jmsbridge.config.java.rules import Rule
from jmsbridge.syntax import TABLE
from tools.java_tables import java_tables
from tools.laws.source import ROOT

__all__ = [
    "GENERATORS",
    "backend_options",
    "command_pages",
    "commands",
    "java",
    "java_methods",
    "main",
    "names",
    "options",
    "regenerated",
]

_SECTION = re.compile(r"(<!-- begin: (\w+)[^>]*-->\n).*?(<!-- end -->)", re.DOTALL)


def commands() -> str:
    """The table of commands, with links to their pages."""
    group: Any = typer.main.get_command(app)
    rows = [
        f"| [{name}](commands/{name}.md) | {_cell((command.help or '').partition(chr(10))[0])} |"
        for name, command in group.commands.items()
    ]
    return "\n".join(["| command | what it does |", "|---|---|", *rows])


def command_pages() -> dict[str, str]:
    """The page of every command by file name: its ``--help``, and that of its subcommands."""
    group: Any = typer.main.get_command(app)
    return {f"{name}.md": "\n\n".join(_sections(name, command, "#")) + "\n" for name, command in group.commands.items()}


def _sections(name: str, command: Any, level: str) -> Iterator[str]:
    title = f"{level} jmsbridge {name}"
    if hasattr(command, "commands"):
        yield f"{title}\n\n{command.help}"
        for each, inner in command.commands.items():
            yield from _sections(f"{name} {each}", inner, f"{level}#")
    else:
        rows = [f"| {_cell(_names(parameter))} | {_cell(_meaning(parameter))} |" for parameter in command.params]
        yield "\n".join([title, "", _help(command.help or ""), "", *_table(rows)])
    if level == "#":
        yield "Exit codes, JSON lines and what can be relied on: [the command line](../cli.md)."


def _meaning(parameter: Any) -> str:
    """The help text, with the default if there is one."""
    text = parameter.help or ""
    default = getattr(parameter.default, "value", parameter.default)  # the name of a member of an enumeration
    shown = default not in (None, False, "", 0) and not callable(default) and isinstance(default, str | int)
    return f"{text} [{default}]" if shown and "Default" not in text else text


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
    return _fields(ROOT / "jmsbridge/config/options.py", "Options", Options())


def backend_options() -> str:
    """The options of every backend of this checkout, from its sources, even if it is not installed."""
    parts = []
    for package in sorted((ROOT / "backends").glob("jmsbridge_*")):
        for path in sorted(package.rglob("*.py")):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef) and node.name.endswith("Options"):
                    about = ast.get_docstring(node) or ""
                    name = package.name.removeprefix("jmsbridge_")
                    parts.append(f"### {name}\n\n{about}\n\n{_fields(path, node.name, None)}")
    return "\n\n".join(parts)


def _fields(path: Path, name: str, defaults: Any) -> str:
    """The fields of an options struct as a table: name, type or default, and the docstring behind it."""
    body = _body(path, name)
    rows = []
    for field, meaning in itertools.zip_longest(body, body[1:]):
        if not (isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)):
            continue
        text = ast.literal_eval(meaning.value) if isinstance(meaning, ast.Expr) else ""
        shown = getattr(defaults, field.target.id) if defaults is not None else ast.literal_eval(field.value or "None")
        rows.append(f"| `{field.target.id}` | `{shown!r}` | {_cell(text)} |")
    return "\n".join(["| option | default | meaning |", "|---|---|---|", *rows])


def _body(path: Path, name: str) -> list[ast.stmt]:
    """The body of the class, and that of the TLS options if it extends them."""
    classes = (node for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.ClassDef))
    found = next(node for node in classes if node.name == name)
    has_tls = any(isinstance(base, ast.Name) and base.id == "TlsOptions" for base in found.bases)
    return found.body + (_body(ROOT / "jmsbridge/transport/network/tls.py", "TlsOptions") if has_tls else [])


def java() -> str:
    """How every option of the Java clients is imported."""
    parts = []
    for title, table in java_tables().items():
        rows = [f"| `{_cell(name)}` | {_becomes(rule)} |" for name, rule in table.items()]
        parts.append("\n".join([f"### {title}", "", "| option | here |", "|---|---|", *rows]))
    return "\n\n".join(parts)


def _becomes(rule: Rule) -> str:
    reason = _cell(rule.reason)
    if rule.option is not None:
        return f"`{rule.option}`" + (f"; {reason}" if reason else "")
    if not rule.fine:
        return reason
    values = " and ".join(f"`{value}`" for value in rule.fine)
    return f"{values} {'needs' if len(rule.fine) == 1 else 'need'} nothing; otherwise: {reason}"


def names() -> str:
    """How names in the syntax of other clients are treated."""
    rows = [
        f"| {', '.join(f'`{example}`' for example in syntax.example.split(', '))} | {syntax.whose} | {syntax.means} "
        f"| {syntax.here} |"
        for syntax in TABLE
    ]
    return "\n".join(["| name | to whom | means there | here |", "|---|---|---|---|", *rows])


# The table's words for what Python has in another form.
_JAVA_TYPES = {
    "ms": "long",
    "timeout": "long",
    "Names": "Enumeration",
    "Messages": "Enumeration",
    "NameSet": "Set<String>",
    "buffer": "byte[]",
    "self": "JMSProducer",
    "BytesBody": "byte[]",
    "MapBody": "Map",
    "ObjectBody": "Serializable",
    "TextBody": "String",
}
_IN_SECONDS = {"ms", "timeout"}


def java_methods() -> str:
    """Every method of Jakarta Messaging, by interface, and what it is in Python."""
    parts = []
    for interface in java_api.INTERFACES:
        parents = " and ".join(f"[{name}](#{name.lower()})" for name in java_api.PARENTS.get(interface, ()))
        module = "jmsbridge" if hasattr(jmsbridge, interface) else "jmsbridge.domain"
        about = f"`{module}.{interface}`{f'; has all of {parents}, too' if parents else ''}"
        table = [_java_row(row) for row in java_api.rows(interface)]
        parts.append("\n".join([f"### {interface}", "", about, "", "| Java | Python |", "|---|---|", *table]))
    return "\n\n".join(parts)


def _java_row(row: java_api.Row) -> str:
    names = (row.returns, *row.takes)
    returns, *takes = (_JAVA_TYPES.get(name, name) for name in names)
    seconds = ", in seconds" if _IN_SECONDS & {*names} else ""
    return f"| `{returns} {row.java}({', '.join(takes)})` | `{row.shown}`{seconds} |"


GENERATORS: dict[str, Callable[[], str]] = {
    "commands": commands,
    "options": options,
    "backend_options": backend_options,
    "java": java,
    "java_methods": java_methods,
    "names": names,
}


def regenerated(text: str) -> str:
    """A page with its generated sections up to date."""
    return _SECTION.sub(lambda match: f"{match[1]}\n{GENERATORS[match[2]]()}\n\n{match[3]}", text)


def main(root: Path = ROOT, *, check: bool = False) -> list[Path]:
    """Update the pages, or only list those that are out of date."""
    stale = []
    for page in sorted((root / "docs").glob("**/*.md")):
        text = page.read_text(encoding="utf-8")
        if regenerated(text) != text:
            stale.append(page)
            if not check:
                page.write_text(regenerated(text), encoding="utf-8")
    return [*stale, *_stale_commands(root / "docs" / "commands", check=check)]


def _stale_commands(folder: Path, *, check: bool) -> list[Path]:
    found = {page.name: page.read_text(encoding="utf-8") for page in folder.glob("*.md")}
    wanted = command_pages()
    stale = [name for name in sorted(found.keys() | wanted.keys()) if found.get(name) != wanted.get(name)]
    if not check:
        folder.mkdir(exist_ok=True)
        for name in stale:
            if name in wanted:
                (folder / name).write_text(wanted[name], encoding="utf-8")
            else:
                (folder / name).unlink()
    return [folder / name for name in stale]


if __name__ == "__main__":
    _CHECK = "--check" in sys.argv[1:]
    _STALE = main(check=_CHECK)
    for _PAGE in _STALE:
        print(f"{_PAGE.relative_to(ROOT)} {'is out of date: make docs' if _CHECK else 'written'}")
    sys.exit(1 if _STALE and _CHECK else 0)
