"""``jmsbridge export | load``: queues to files of JSON lines and back."""

import sys
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from jmsbridge import Session
from jmsbridge.cli.lines import errors_at, from_line, numbered
from jmsbridge.cli.output import Format, Writer
from jmsbridge.cli.receive import print_browsed
from jmsbridge.cli.running import OK, note, reporting
from jmsbridge.cli.send import Fixed, send_all
from jmsbridge.cli.target import Broker, SelectorArg, queue_named
from jmsbridge.config.writing import replacing
from jmsbridge.documents import Outgoing, destination_named
from jmsbridge.errors import ConfigurationError

__all__ = ["export", "load"]

_STDIN = Path("-")


def export(
    broker: Broker,
    names: Annotated[list[str], typer.Argument(metavar="QUEUE...", help="The queues to export.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-O", metavar="FILE", help="Write here instead of standard output.")
    ] = None,
    selector: SelectorArg = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite FILE.")] = False,
) -> int:
    """Write the messages of queues as JSON lines and leave them in the queues; `load` sends them.

    FILE appears only when it is complete and on disk. It does not contain messages that are delayed or held by a
    consumer. If the broker's browsers are emulated and a queue is longer than the option emulation_limit, the command
    exits with 1 and without FILE: raise the limit with -o emulation_limit=N.

    Examples:

      jmsbridge export orders invoices --output backup.jsonl

      jmsbridge export orders | gzip > orders.jsonl.gz
    """
    queues = [queue_named(name, "{} is a topic; only queues can be exported") for name in names]
    if output is not None and output.exists() and not force:
        raise ConfigurationError(f"{str(output)!r} exists; --force overwrites it")
    seen = 0
    left = "standard output is incomplete" if output is None else f"{output} is not written"
    with (
        broker.connect() as connection,
        reporting(lambda whole: note(left), always=False),
        nullcontext(sys.stdout.buffer) if output is None else replacing(output) as stream,
    ):
        writer = Writer(Format.JSON, stream)
        for queue in queues:
            seen += print_browsed(connection, queue, selector, writer, None)
    note(f"{seen} exported")
    return OK


def load(
    broker: Broker,
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FILE]...", help="Files of JSON lines. Default, or -: standard input."),
    ] = None,
    to: Annotated[
        str | None, typer.Option("--to", metavar="DESTINATION", help="Send all messages here, not to their origins.")
    ] = None,
    skip: Annotated[int, typer.Option("--skip", min=0, help="Skip this many messages, which were sent before.")] = 0,
) -> int:
    """Send messages that `export`, `browse` or `receive` wrote to files back to their destinations.

    All headers and properties of the application are kept; message ids and timestamps are new. If the command stops
    early, it says how many messages the broker has, and with which --skip to continue.

    Examples:

      jmsbridge load backup.jsonl -t rabbitmq://new-broker

      jmsbridge load orders.jsonl --to orders.copy --skip 1200

      gunzip --stdout orders.jsonl.gz | jmsbridge load -
    """
    for path in files or []:
        if path != _STDIN and (not path.exists() or path.is_dir()):
            what = "is a folder" if path.is_dir() else "does not exist"
            raise ConfigurationError(f"{str(path)!r} {what}")
    default = None if to is None else destination_named(to)
    return send_all(
        lambda session: _messages(session, files or [], skip),
        default,
        Fixed(),
        broker,
        verb="loaded",
        skipped=skip,
    )


def _messages(session: Session, files: list[Path], skip: int) -> Iterator[Outgoing]:
    filled = ((where, line) for where, line in _lines(files) if line.strip())
    for where, line in islice(filled, skip, None):
        with errors_at(where):
            outgoing = from_line(line, session)
        yield outgoing


def _lines(files: list[Path]) -> Iterator[tuple[str, bytes]]:
    for path in files or [_STDIN]:
        if path == _STDIN:
            yield from numbered(sys.stdin.buffer)
            continue
        with path.open("rb") as stream:
            yield from numbered(stream, f"{path}, ")
