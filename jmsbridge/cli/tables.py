"""Prints rows: a table on a terminal, lines with tabs in a pipe."""

import sys
from collections.abc import Callable, Sequence

from rich.table import Table
from rich.text import Text

from jmsbridge.cli.printing import plain, screen, shown

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
    ``lead``, which tells several tables of a command apart.
    """
    if not sys.stdout.isatty():
        for row in rows:
            sys.stdout.write("\t".join([*([lead] if lead else []), *map(shown, row)]) + "\n")
        return
    table = Table()
    for heading in headings:
        table.add_column(heading, justify="right" if heading in _RIGHT else "left")
    for row in rows:
        table.add_row(*map(_cell, row), style=style(row))
    sys.stdout.flush()
    console = screen(sys.stdout)
    if title is not None:
        console.print(plain(title, "italic"))
    console.print(table, soft_wrap=False)


def _cell(value: object) -> Text:
    return plain(f"{value:,}" if isinstance(value, int | float) else value)
