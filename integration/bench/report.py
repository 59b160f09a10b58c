"""Shows the figures: a table on the terminal, and a page of the documentation for each broker."""

import contextlib
import datetime
import os
import platform
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from rich.console import Console
from rich.table import Table

from integration.bench.bars import Bar
from integration.bench.rows import Comparison
from integration.bench.turns import WINDOWS, Figure

__all__ = ["show", "write"]

_DOCS = Path(__file__).resolve().parents[2] / "docs"
_HEADINGS = ("messages/s", "lowest", "highest", "µs CPU/message")


def show(figures: Sequence[Figure], found: Sequence[Bar]) -> None:
    """Print the figures."""
    console = Console(width=120, highlight=False)
    for title, rows in _grouped(figures).items():
        table = Table(title=title, title_justify="left")
        table.add_column("client", no_wrap=True)
        for heading in _HEADINGS:
            table.add_column(heading, justify="right")
        for figure in rows:
            table.add_row(figure.row.name, *_numbers(figure))
        console.print(table)
    for bar in found:
        console.print(f"{'[green]met[/]' if bar.met else '[red]missed[/]'} {bar.text}: {_of(bar)}")


def write(
    comparison: Comparison, figures: Sequence[Figure], found: Sequence[Bar], command: str, broker: str, load: float
) -> Path:
    """Write the page."""
    machine = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    text = comparison.text.format(
        made=f"Made by `{command}` on {datetime.date.today().isoformat()}. {machine}; load before it {load:.1f}.",
        broker=broker,
        windows=WINDOWS,
        clients=", ".join(_clients(comparison)),
        bars="\n".join(f"- {'met' if bar.met else '**missed**'}: {bar.text}: {_of(bar)}" for bar in found),
        groups="".join(_section(title, rows) for title, rows in _grouped(figures).items()),
    )
    page = _DOCS / comparison.page
    page.write_text(text, encoding="utf-8")
    return page


def _clients(comparison: Comparison) -> Iterator[str]:
    for name in comparison.packages:
        with contextlib.suppress(PackageNotFoundError):  # it took no part
            yield f"{name} {version(name)}"
    yield comparison.java_clients


def _of(bar: Bar) -> str:
    return f"{bar.reached:.2f}, {'at least' if bar.at_least else 'at most'} {bar.wanted:.2f}"


def _grouped(figures: Sequence[Figure]) -> dict[str, list[Figure]]:
    groups: dict[str, list[Figure]] = {}
    for figure in figures:
        title = f"{figure.row.group}, {figure.queue_type} queue"
        if figure.delay is not None:
            title += f", proxy with {figure.delay * 1000:.0f} ms there and back"
        groups.setdefault(title[0].upper() + title[1:], []).append(figure)
    return groups


def _section(title: str, rows: Sequence[Figure]) -> str:
    lines = ["", f"## {title}", "", f"| client | {' | '.join(_HEADINGS)} |", f"|---|{'---:|' * len(_HEADINGS)}"]
    lines += [f"| {figure.row.name} | {' | '.join(_numbers(figure))} |" for figure in rows]
    return "\n".join(lines) + "\n"


def _numbers(figure: Figure) -> list[str]:
    return [f"{value:,.0f}" for value in (figure.rate, min(figure.rates), max(figure.rates), figure.cost)]
