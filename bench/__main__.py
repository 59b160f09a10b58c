"""Measure, print, and with ``--write`` write the figures to ``docs/performance.md``."""

import sys
from collections.abc import Callable

from rich.console import Console
from rich.status import Status

from bench import cost, depth, file_broker, file_depth, growth, memory, report, throughput
from bench.measuring import Figure, cpu_loop, windows

_FLAGS = {"--write", "--quick"}


def main(arguments: list[str]) -> int:
    """Run everything, or the named parts; ``--quick`` uses a tenth of the messages."""
    unknown = set(arguments) - _FLAGS - set(_PARTS)
    if unknown:
        known = ", ".join([*_PARTS, *sorted(_FLAGS)])
        print(f"unknown: {', '.join(sorted(unknown))}; known: {known}", file=sys.stderr)
        return 2
    share = 10 if "--quick" in arguments else 1
    chosen = [part for part in _PARTS if part in arguments] or list(_PARTS)
    command = f'make bench ARGS="{" ".join(arguments)}"' if len(arguments) > 1 else "make bench ARGS=--write"
    with Console(stderr=True).status("beginning") as status:
        sections = [_PARTS[part](share, command, status) for part in chosen]
    if "--write" in arguments:
        print(f"written to {report.write(sections)}")
    return 0


def _rates(share: int, command: str, status: Status) -> str:
    figures: list[Figure] = [windows("loop that only counts", "million turns/s", None, cpu_loop)]
    for source in (throughput.figures(50_000 // share), cost.figures(50_000 // share)):
        for figure in source:
            figures.append(figure)
            status.update(f"after: {figure.name}")
    status.update("memory")
    figures.append(memory.flatness(1_000_000 // share))
    report.show(figures)
    return report.rates_section(figures, command)


def _growth(share: int, command: str, status: Status) -> str:
    curves = []
    for curve in growth.curves():
        curves.append(curve)
        status.update(f"curves, after: {curve.name}")
    report.show_curves(curves, growth.COUNTS)
    figures = []
    for figure in depth.figures(tuple(count // share for count in depth.DEPTHS)):
        figures.append(figure)
        status.update(f"deep queues, after: {figure.name}")
    report.show(figures)
    return report.growth_section(curves, figures, depth.TRIES, command)


def _file(share: int, command: str, status: Status) -> str:
    figures = []
    for figure in file_broker.figures(50_000 // share, 1_000_000 // share, 100_000 // share):
        figures.append(figure)
        status.update(f"file broker, after: {figure.name}")
    for figure in file_depth.figures(tuple(count // share for count in file_depth.DEPTHS)):
        figures.append(figure)
        status.update(f"file broker, deep queues, after: {figure.name}")
    report.show(figures)
    return report.file_section(figures, command)


_PARTS: dict[str, Callable[[int, str, Status], str]] = {"rates": _rates, "growth": _growth, "file": _file}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
