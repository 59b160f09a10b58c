"""Measure, print, and with ``--write`` keep the figures in ``docs/performance.md``."""

import sys

from rich.console import Console

from bench import cost, file_broker, memory, report, throughput
from bench.measuring import Figure, cpu_loop, windows


def main(arguments: list[str]) -> int:
    """Run everything; ``--quick`` takes a tenth of the messages."""
    unknown = set(arguments) - {"--write", "--quick"}
    if unknown:
        print(f"unknown: {', '.join(sorted(unknown))}; known: --write, --quick", file=sys.stderr)
        return 2
    share = 10 if "--quick" in arguments else 1
    console = Console(stderr=True)
    figures: list[Figure] = []
    with console.status("a loop that only counts") as status:
        figures.append(windows("loop that only counts", "million turns/s", None, cpu_loop))
        for source in (throughput.figures(50_000 // share), cost.figures(50_000 // share)):
            for figure in source:
                figures.append(figure)
                status.update(f"after: {figure.name}")
        status.update("memory")
        figures.append(memory.flatness(1_000_000 // share))
        in_file: list[Figure] = []
        for figure in file_broker.figures(50_000 // share, 1_000_000 // share, 100_000 // share):
            in_file.append(figure)
            status.update(f"file broker, after: {figure.name}")
    report.show(figures)
    report.show(in_file)
    if "--write" in arguments:
        print(f"written to {report.write(figures, in_file, 'make bench ARGS=--write')}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
