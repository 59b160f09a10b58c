"""``python -m jmsbridge.spark``: the pipelines, also for ``spark-submit``."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from jmsbridge.cli.commandline import help_of, new_app, run_app
from jmsbridge.cli.running import guarded
from jmsbridge.errors import ConfigurationError
from jmsbridge.spark.extra import advise_extra

try:
    from jmsbridge.spark import jobs
    from jmsbridge.spark.pipelines import AVAILABLE_NOW
except ModuleNotFoundError as missing:
    advise_extra(missing)

__all__ = ["app"]

app = new_app("python -m jmsbridge.spark")

_From = Annotated[str, typer.Option("--from", metavar="URL|PROFILE", help="The broker to read from.")]
_Queue = Annotated[str | None, typer.Option("--queue", "-q", metavar="NAME", help="The queue to read.")]
_Options = Annotated[
    list[str] | None,
    typer.Option("--option", "-o", metavar="NAME=VALUE", help="Another option of the source; repeatable."),
]
_Target = Annotated[str, typer.Option("--to", metavar="URL|PROFILE", help="The broker to send to.")]
_TargetQueue = Annotated[
    str | None,
    typer.Option("--to-destination", metavar="DESTINATION", help="Send all here. Default: to the same names."),
]
_SinkOptions = Annotated[
    list[str] | None,
    typer.Option("--sink-option", "-s", metavar="NAME=VALUE", help="Another option of the sink; repeatable."),
]
_Folder = Annotated[str, typer.Option("--to", metavar="PATH", help="The folder of the files.")]
_Root = Annotated[str, typer.Option("--root", metavar="PATH", help="Where the job keeps its log and checkpoint.")]
_Trigger = Annotated[
    str, typer.Option("--trigger", metavar="INTERVAL", help="Such as '10 seconds'. Default: end with what is there.")
]


def bridge(
    url: _From,
    target: _Target,
    root: _Root,
    queue: _Queue = None,
    destination: _TargetQueue = None,
    transform: Annotated[
        str | None,
        typer.Option(
            "--transform", metavar="SQL|MODULE:FUNCTION", help="A query over the view messages, or a function."
        ),
    ] = None,
    options: _Options = None,
    sink_options: _SinkOptions = None,
    trigger: _Trigger = AVAILABLE_NOW,
) -> int:
    """Move messages from one broker to another, as they are or changed.

    Examples:

      python -m jmsbridge.spark bridge --from rabbitmq://old --queue orders --to amqp://new --root /data/move-orders

      python -m jmsbridge.spark bridge --from old -q orders --to new --root /data/eu \\
        -o "selector=region = 'eu'" --transform "SELECT * FROM messages WHERE priority > 4"
    """
    source, sink = _source(url, queue, options), _sink(target, destination, sink_options)
    return jobs.run(jobs.Bridge(source=source, sink=sink, root=root, transform=transform, trigger=trigger))


def archive(
    url: _From,
    to: _Folder,
    root: _Root,
    queue: _Queue = None,
    options: _Options = None,
    trigger: _Trigger = AVAILABLE_NOW,
) -> int:
    """Move messages into Parquet files, in folders by date and destination.

    Examples:

      python -m jmsbridge.spark archive --from rabbitmq://host --queue orders --to /data/orders --root /data/orders.job

      python -m jmsbridge.spark archive --from prod -q audit --to /data/audit --root /data/job --trigger "1 minute"
    """
    return jobs.run(jobs.Archive(source=_source(url, queue, options), to=to, root=root, trigger=trigger))


def drain(
    url: _From,
    to: _Folder,
    root: _Root,
    queue: _Queue = None,
    form: Annotated[str, typer.Option("--format", "-f", help="A format of Spark, such as json or orc.")] = "parquet",
    options: _Options = None,
    trigger: _Trigger = AVAILABLE_NOW,
) -> int:
    """Consume a queue into files in one folder.

    Examples:

      python -m jmsbridge.spark drain --from embedded:orders.db --queue orders --to orders --root orders.job -f json \\
        -o bodyFormat=text
    """
    source = _source(url, queue, options)
    return jobs.run(jobs.Drain(source=source, to=to, format=form, root=root, trigger=trigger))


def replay(
    archived: Annotated[str, typer.Argument(metavar="PATH", help="Parquet files that archive or drain wrote.")],
    target: _Target,
    root: Annotated[
        str | None, typer.Option("--root", metavar="PATH", help="Where the job notes what it has sent.")
    ] = None,
    destination: _TargetQueue = None,
    where: Annotated[str | None, typer.Option("--where", metavar="SQL", help="Only rows that match.")] = None,
    rate: Annotated[int | None, typer.Option("--rate", min=1, help="At most this many messages a second.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count, by destination.")] = False,
    sink_options: _SinkOptions = None,
) -> int:
    """Send archived messages again.

    A broker that remembers ids drops those that this job, or another one, has sent it before: -s dedupId=none sends
    them all the same.

    Examples:

      python -m jmsbridge.spark replay /data/orders --to amqp://host --where "date = '2026-01-31'" --dry-run

      python -m jmsbridge.spark replay /data/orders --to amqp://host --root /data/replay --rate 200 -s ttl=0
    """
    sink = _sink(target, destination, sink_options)
    return jobs.run(jobs.Replay(archived=archived, sink=sink, root=root, where=where, rate=rate, dry_run=dry_run))


def dlq_report(
    url: _From,
    queue: _Queue = None,
    options: _Options = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")] = False,
) -> int:
    """Count dead letters by origin and reason, with the times of the oldest and newest. They stay in the queue.

    In a pipe, each line has these fields, separated by tabs: origin, reason, count, oldest, newest.

    Examples:

      python -m jmsbridge.spark dlq-report --from amqp://host --queue DLQ
    """
    return jobs.run(jobs.DlqReport(source=_source(url, queue, options), json=as_json))


def analyse(
    url: _From,
    to: _Folder,
    root: _Root,
    queue: _Queue = None,
    by: Annotated[list[str] | None, typer.Option("--by", metavar="PROPERTY", help="Group by it; repeatable.")] = None,
    value: Annotated[
        str | None, typer.Option("--value", metavar="PROPERTY", help="Add its sum, least, greatest and mean.")
    ] = None,
    window: Annotated[str, typer.Option("--window", help="The length of a time window.")] = "1 hour",
    delay: Annotated[str, typer.Option("--delay", help="How late a message may come.")] = "10 minutes",
    options: _Options = None,
    trigger: _Trigger = AVAILABLE_NOW,
) -> int:
    """Count the messages of a queue by time and properties, into a table of Parquet files. Consumes them.

    Examples:

      python -m jmsbridge.spark analyse --from rabbitmq://host -q clicks --to /data/clicks --root /data/clicks.job \\
        --by country --value amount --window "5 minutes" --trigger "1 minute"
    """
    source = _source(url, queue, options)
    job = jobs.Analyse(
        source=source, to=to, root=root, trigger=trigger, by=by or [], value=value, window=window, delay=delay
    )
    return jobs.run(job)


def run(path: Annotated[Path, typer.Argument(metavar="FILE", help="A job in TOML.")]) -> int:
    """Run the job of a TOML file.

    The file has `pipeline`, the name of a command, and its settings; `source` and `sink` are tables of options.

    Examples:

      python -m jmsbridge.spark run orders.toml
    """
    return jobs.run(jobs.job_of(path))


def _source(url: str, queue: str | None, options: list[str] | None) -> dict[str, Any]:
    return {"url": url, **({} if queue is None else {"queue": queue}), **_given(options, "--option")}


def _sink(url: str, destination: str | None, options: list[str] | None) -> dict[str, Any]:
    fixed = {} if destination is None else {"destination": destination}
    return {"url": url, **fixed, **_given(options, "--sink-option")}


def _given(options: list[str] | None, name: str) -> dict[str, str]:
    pairs = [option.partition("=") for option in options or []]
    if any(not (key and equals) for key, equals, _ in pairs):
        raise ConfigurationError(f"{name} must have the form NAME=VALUE")
    return {key: value for key, _, value in pairs}


_COMMANDS: dict[str, Callable[..., int]] = {
    "bridge": bridge,
    "archive": archive,
    "replay": replay,
    "drain": drain,
    "dlq-report": dlq_report,
    "analyse": analyse,
    "run": run,
}
for _name, _command in _COMMANDS.items():
    app.command(_name, help=help_of(_command))(guarded(_command))


def _pipelines() -> None:
    """Data pipelines between queues and tables, on Spark. Each continues where it was if it is started again.

    Exit codes: 0 done, 1 refused by the broker or failed in Spark, 2 wrong command line or configuration, 130 Ctrl-C or
    SIGTERM.
    """


app.callback(help=help_of(_pipelines))(_pipelines)

if __name__ == "__main__":
    run_app(app)
