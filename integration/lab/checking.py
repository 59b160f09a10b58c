"""`make brokers`: whether each broker can be fetched and started here, as a table."""

import sys
import time
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from integration.lab.errors import BrokerError
from integration.lab.progress import doing, stderr
from integration.lab.starting import fetch, start
from integration.lab.table import KINDS

__all__ = ["check_all"]


@dataclass
class _Row:
    title: str
    version: str
    fetched: str = "-"
    ready: str = "-"
    stopped: str = "-"
    result: str = "ok"


def check_all(names: list[str]) -> int:
    """Try each, print the table, and return an exit code: 1 if one failed."""
    rows = [_check(name) for name in names]
    table = Table("broker", "version", "fetch", "start to ready", "stop", "result", box=None, pad_edge=False)
    for row in rows:
        table.add_row(row.title, row.version, row.fetched, row.ready, row.stopped, row.result)
    Console(width=None if sys.stdout.isatty() else 200).print(table)
    return 0 if all(row.result == "ok" for row in rows) else 1


def _check(name: str) -> _Row:
    row = _Row(KINDS[name].title, KINDS[name].version)
    begin = time.monotonic()

    def lap() -> str:
        nonlocal begin
        begin, before = time.monotonic(), begin
        return f"{begin - before:.1f} s"

    try:
        with doing(row.title, "works") as say:
            fetch(name, say)
            row.fetched = lap()
            say("starting")
            with start(name):
                row.ready = lap()
                say("every listener answers; stopping")
            row.stopped = lap()
    except BrokerError as error:
        stderr().print(f"{row.title}: {error}", markup=False)
        row.result = str(error).splitlines()[0]
    return row
