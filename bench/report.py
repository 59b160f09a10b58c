"""Shows the figures: tables on the terminal, and the sections of ``docs/performance.md``."""

import datetime
import os
import platform
import re
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.measuring import WINDOWS, Curve, Figure

__all__ = ["file_section", "growth_section", "page", "rates_section", "replaced", "show", "show_curves", "write"]

_PAGE = Path(__file__).resolve().parents[1] / "docs" / "performance.md"

_FIGURES = """| what | median | lowest | highest | required | unit |
|---|---:|---:|---:|---:|---|
{rows}
"""

_RATES = (
    """# Performance

{made}

Text messages of 256 bytes with five typed properties, one process, medians of {windows} windows after one that warms
up. The rates are those of the public API on the embedded broker in memory, and include creating the message. The rows
"facade" are the CPU time of all threads with a scripted backend instead of a broker, the scripted backend's included.
The loop that only counts shows the speed of a core of this machine: scale by it before comparing with another machine.

"""
    + _FIGURES
)

_GROWTH = """## Cost that does not grow

{made}

Microseconds of CPU per message, all threads together, with 1, 10, 100 and 1,000 of the objects that the row names, on
the broker in memory, measured in turn. The limit is twice the cost with one.

| what | 1 | 10 | 100 | 1,000 | highest | |
|---|---:|---:|---:|---:|---:|---|
{curves}

Queues with 10,000, 100,000 and 1,000,000 waiting messages: the longest time that one send of another thread took, to
another queue of the same broker, during the operation that the row names; the limit is 5 ms. That thread does not
compete for the processor: it pauses 0.2 ms after each send. The lower quartile of {tries} tries counts, because a wait
caused by the broker occurs in every try, and a wait caused by the machine does not.

""" + _FIGURES.replace("median", "lower quartile, for the CPU the median")

_FILE = (
    """## The broker in a file

{made}

`embedded:PATH` on a local disk with fsync on, and in the same run other Python libraries with queues in a file, each
with `synchronous = FULL` and the same 256 bytes. These put and take one message at a time; they have no headers, types,
acknowledgement modes or transactions: compare them with the rows "one at a time".
Rates with and without a backlog, and with one process and two, are measured in turn, window by window, and each window
is compared with the one before it. The required rates are: with a backlog 70 % of the rate without, with two processes
half the rate of one, and for asynchronous sends ten times the rate of sends confirmed one at a time.

"""
    + _FIGURES
)


def show(figures: Sequence[Figure]) -> None:
    """Print figures."""
    table = Table(title=_machine(), title_justify="left")
    table.add_column("what", no_wrap=True)
    for heading in ("median", "lowest", "highest", "required"):
        table.add_column(heading, justify="right")
    table.add_column("unit", no_wrap=True)
    table.add_column("")
    for figure in figures:
        verdict = {True: "[green]met[/]", False: "[red]missed[/]", None: ""}[figure.met]
        table.add_row(figure.name, *_numbers(figure), figure.unit, verdict)
    Console(width=120, highlight=False).print(table)


def show_curves(curves: Sequence[Curve], counts: Sequence[int]) -> None:
    """Print curves."""
    table = Table(title="µs of CPU per message", title_justify="left")
    table.add_column("what", no_wrap=True)
    for heading in (*(f"{count:,}" for count in counts), "highest"):
        table.add_column(heading, justify="right")
    table.add_column("")
    for curve in curves:
        verdict = "[green]met[/]" if curve.met else "[red]missed[/]"
        table.add_row(curve.name, *map(_number, curve.costs), f"× {curve.ratio:.1f}", verdict)
    Console(width=120, highlight=False).print(table)


def rates_section(figures: Sequence[Figure], command: str) -> str:
    """The first section of the page."""
    return _RATES.format(made=_made(command), windows=WINDOWS, rows=_rows(figures))


def growth_section(curves: Sequence[Curve], figures: Sequence[Figure], tries: int, command: str) -> str:
    """The cost of a message beside many objects, and the delays of other threads."""
    lines = "\n".join(
        f"| {curve.name} | {' | '.join(map(_number, curve.costs))} | × {curve.ratio:.1f} | "
        f"{'met' if curve.met else 'missed'} |"
        for curve in curves
    )
    return _GROWTH.format(made=_made(command), curves=lines, tries=tries, rows=_rows(figures))


def file_section(figures: Sequence[Figure], command: str) -> str:
    """The broker in a file, compared with other libraries."""
    return _FILE.format(made=_made(command), rows=_rows(figures))


def page(text: str, figures: Sequence[Figure], command: str) -> str:
    """A page with one table, after this text."""
    return f"{text}\n{_made(command)}\n\n" + _FIGURES.format(rows=_rows(figures))


def write(sections: Sequence[str]) -> Path:
    """Replace the sections of the page that have the same headings; the others stay."""
    page = _PAGE.read_text(encoding="utf-8")
    for section in sections:
        page = replaced(page, section)
    _PAGE.write_text(page, encoding="utf-8")
    return _PAGE


def replaced(page: str, section: str) -> str:
    """The page with this section; a new one comes second."""
    parts = re.split(r"(?m)^(?=##? )", page)
    heading = section.partition("\n")[0]
    found = [number for number, part in enumerate(parts) if part.partition("\n")[0] == heading]
    if found:
        parts[found[0]] = section
    else:
        parts.insert(2, section)
    return "\n\n".join(part.strip("\n") for part in parts if part.strip()) + "\n"


def _made(command: str) -> str:
    return f"Made by `{command}` on {datetime.date.today().isoformat()}. {_machine()}."


def _rows(figures: Sequence[Figure]) -> str:
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
