"""The facade beside its peers: the same messages through the same broker, in turn, in one run.

    python -m integration.bench rabbitmq            # a broker of this run's own, from python -m integration.lab
    python -m integration.bench --write rabbitmq    # and keep the figures in docs/performance-rabbitmq.md

Needs the extra ``bench``; the Java client takes part where a JDK and Maven are.
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
from integration.bench.turns import Figure, measure
from integration.lab.errors import BrokerUnavailable
from integration.lab.starting import start

_DELAYS = (0.0, 0.02)


def main(
    broker: Annotated[str, typer.Argument(help=f"one of {', '.join(COMPARISONS)}")] = DEFAULT,
    only: Annotated[list[str] | None, typer.Option(help="rows whose name or group contains this; repeatable")] = None,
    queues: Annotated[str, typer.Option(help="types of queues, separated by commas; all unless said")] = "",
    delayed: Annotated[bool, typer.Option(help="also through a proxy that adds 20 ms of round trip")] = True,
    quick: Annotated[bool, typer.Option(help="a tenth of the messages")] = False,
    write: Annotated[bool, typer.Option(help="keep the figures in the page of the broker")] = False,
) -> None:
    """Measure in turn, print, and with --write keep the figures."""
    if broker not in COMPARISONS:
        raise typer.BadParameter(f"there is no comparison on {broker!r}, only on {', '.join(COMPARISONS)}")
    comparison = COMPARISONS[broker]
    types = [each for each in queues.split(",") if each] or list(comparison.queue_types)
    share = 0.1 if quick else 1.0
    console = Console(stderr=True)
    figures: list[Figure] = []
    load = os.getloadavg()[0]
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="jmsbridge-bench-")))
        running = stack.enter_context(start(broker))
        status = stack.enter_context(console.status("starting"))
        without = _without_java(console)
        settings: dict[str, Any] = {"share": share, "say": status.update}
        for queue_type in types:
            rows = [row for row in comparison.chosen(only or [], queue_type) if row.program != without]
            figures += measure(comparison, rows, running, folder, queue_type=queue_type, **settings)
        first = comparison.queue_types[0]
        rows = [row for row in comparison.chosen(only or [], first) if row.name in comparison.delayed]
        if delayed and rows:
            figures += measure(comparison, rows, running, folder, queue_type=first, delays=_DELAYS, **settings)
        title = f"{running.kind.title} ({running.kind.version})"
    found = bars(comparison, figures)
    report.show(figures, found)
    if write:
        command = f"python -m integration.bench --write {broker}"
        print(f"written to {report.write(comparison, figures, found, command, title, load)}")


def _without_java(console: Console) -> str:
    try:
        class_path()
    except BrokerUnavailable as missing:
        console.print(str(missing))
        return "java"
    return ""


if __name__ == "__main__":
    typer.run(main)
