"""Figures for a reader: a table on the terminal, and ``docs/performance.md``."""

import datetime
import os
import platform
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.measuring import WINDOWS, Figure

__all__ = ["show", "write"]

_PAGE = Path(__file__).resolve().parents[1] / "docs" / "performance.md"

_TEXT = """# Performance

{made}

Text messages of 256 bytes with five typed properties, one process, medians of {windows} windows after one that warms
up. The rates go through the facade to the embedded broker in memory and include making the message. The facade's own
cost is the CPU of all threads with a scripted backend in the broker's place, that backend's share included. The loop
that only counts tells what a core of this machine is worth: scale by it before comparing with another machine.

| what | median | lowest | highest | asked for | unit |
|---|---:|---:|---:|---:|---|
{rows}

## The broker in a file

`embedded:PATH` on a local disk with fsync on, and Python's usual queues in a file in the same run, each with
`synchronous = FULL` and the same 256 bytes. The peers put and take one message at a time; they have no headers,
no types, no acknowledgement modes and no transactions: their figures are to be read beside "one at a time".
With and without a backlog, and with one process and two, is measured in turn, window by window, and each window is
compared with the one before it: with a backlog 70 % of the rate without is asked for, with two processes half the rate
of one. Of asynchronous sends, ten times the rate of sends confirmed one at a time is asked for.

| what | median | lowest | highest | asked for | unit |
|---|---:|---:|---:|---:|---|
{file_rows}
"""


def show(figures: list[Figure]) -> None:
    """Print the figures."""
    table = Table(title=_machine(), title_justify="left")
    table.add_column("what", no_wrap=True)
    for heading in ("median", "lowest", "highest", "asked for"):
        table.add_column(heading, justify="right")
    table.add_column("unit", no_wrap=True)
    table.add_column("")
    for figure in figures:
        verdict = {True: "[green]met[/]", False: "[red]missed[/]", None: ""}[figure.met]
        table.add_row(figure.name, *_numbers(figure), figure.unit, verdict)
    Console(width=120, highlight=False).print(table)


def write(figures: list[Figure], in_file: list[Figure], command: str) -> Path:
    """Write the page; what it says about the machine is what was measured on."""
    made = f"Made by `{command}` on {datetime.date.today().isoformat()}. {_machine()}."
    _PAGE.write_text(
        _TEXT.format(made=made, windows=WINDOWS, rows=_rows(figures), file_rows=_rows(in_file)), encoding="utf-8"
    )
    return _PAGE


def _rows(figures: list[Figure]) -> str:
    return "\n".join(f"| {figure.name} | {' | '.join(_numbers(figure))} | {figure.unit} |" for figure in figures)


def _numbers(figure: Figure) -> list[str]:
    bar = ""
    if figure.bar is not None:
        bar = f"{'≥' if figure.more_is_better else '≤'} {_number(figure.bar)}"
    return [_number(figure.median), _number(figure.low), _number(figure.high), bar]


def _number(value: float) -> str:
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 1 or not value else f"{value:.3f}"


def _machine() -> str:
    return f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores"
