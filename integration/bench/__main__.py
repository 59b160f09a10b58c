"""Compares jmsbridge with other clients: the same messages through the same broker, in turn, in one run.

    python -m integration.bench rabbitmq            # on a new broker of python -m integration.lab
    python -m integration.bench --write rabbitmq    # and write the figures to docs/performance-rabbitmq.md
    python -m integration.bench --share 0.25 artemis    # a quarter of the messages, in about a quarter of the time

Needs the extra ``bench``; the Java client takes part if there is a JDK and Maven.
"""

import contextlib
import os
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from integration.bench import report
from integration.bench.bars import bars
from integration.bench.brokers import COMPARISONS, DEFAULT
from integration.bench.java_peer import class_path
from integration.bench.rows import Comparison
from integration.bench.turns import Figure, measure
from integration.lab.errors import BrokerUnavailable

_DELAYS = (0.0, 0.02)


def main(
    broker: Annotated[str, typer.Argument(help=f"one of {', '.join(COMPARISONS)}")] = DEFAULT,
    only: Annotated[list[str] | None, typer.Option(help="rows whose name or group contains this; repeatable")] = None,
    queues: Annotated[str, typer.Option(help="types of queues, separated by commas; default: all")] = "",
    delayed: Annotated[bool, typer.Option(help="also through a proxy that adds 20 ms of round trip")] = True,
    share: Annotated[float, typer.Option(help="the part of the usual number of messages", min=0.01, max=1.0)] = 1.0,
    write: Annotated[bool, typer.Option(help="write the figures to the page of the broker")] = False,
) -> None:
    """Measure in turn, print, and with --write update the page."""
    if broker not in COMPARISONS:
        raise typer.BadParameter(f"there is no comparison on {broker!r}, only on {', '.join(COMPARISONS)}")
    comparison = COMPARISONS[broker]
    types = [each for each in queues.split(",") if each] or list(comparison.queue_types)
    console = Console(stderr=True)
    figures: list[Figure] = []
    load = os.getloadavg()[0]
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="jmsbridge-bench-")))
        running = stack.enter_context(comparison.start())
        status = stack.enter_context(console.status("starting"))
        without = _without_java(comparison, console)
        settings: dict[str, Any] = {"share": share, "say": status.update}
        for queue_type in types:
            rows = [row for row in comparison.chosen(only or [], queue_type) if row.program != without]
            figures += measure(comparison, rows, running, folder, queue_type=queue_type, **settings)
        first = comparison.queue_types[0]
        rows = [row for row in comparison.far(only or []) if row.program != without]
        if delayed and rows:
            figures += measure(comparison, rows, running, folder, queue_type=first, delays=_DELAYS, **settings)
        title = running.title
    found = bars(comparison, figures)
    report.show(figures, found)
    if write:
        part = "" if share == 1.0 else f"--share {share:g} "
        command = f"python -m integration.bench {part}--write {broker}"
        print(f"written to {report.write(comparison, figures, found, command, title, load)}")


def _without_java(comparison: Comparison, console: Console) -> str:
    try:
        for client in {row.client for row in comparison.rows if row.client}:
            class_path(client)
    except BrokerUnavailable as missing:
        console.print(str(missing))
        return "java"
    return ""


if __name__ == "__main__":
    typer.run(main)
