"""Rows for a reader: a table on a terminal, and lines with tabs in a pipe."""

import sys
from collections.abc import Callable, Sequence

from rich.console import Console
from rich.table import Table

__all__ = ["print_rows"]

_RIGHT = {"depth", "consumers", "count", "figure"}


def print_rows(
    headings: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    title: str | None = None,
    lead: str | None = None,
    style: Callable[[Sequence[object]], str] = lambda row: "",
) -> None:
    """Print rows to standard output.

    On a terminal numbers are grouped by thousands, and each row has its ``style``. In a pipe each line begins with
    ``lead``, where a command prints more than one table.
    """
    if not sys.stdout.isatty():
        for row in rows:
            sys.stdout.write("\t".join([*([lead] if lead else []), *map(str, row)]) + "\n")
        return
    table = Table(title=title, title_justify="left")
    for heading in headings:
        table.add_column(heading, justify="right" if heading in _RIGHT else "left")
    for row in rows:
        table.add_row(*map(_cell, row), style=style(row))
    sys.stdout.flush()
    Console(file=sys.stdout).print(table)


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int | float) else str(value).replace("[", "\\[")
