"""The fault run: producers and consumers in separate processes, a broker that is cut off and killed, and a verdict.

    python -m integration.faults --messages 100000 --cuts 50 --kills 5 --restarts 25 rabbitmq
    python -m integration.faults --messages 10000 --cuts 10 rabbitmq://jb:jbpass@127.0.0.1:5672

Every process logs each step before and after it (``ledger``); the verdict (``verdict``) uses only these files: no
confirmed message is lost, none comes twice unless a confirmation or a settlement was in doubt, and completion callbacks
came in the order of the sends.
"""

import random
import tempfile
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from integration.faults.report import text
from integration.faults.run import FaultRunError, Plan, Report, run
from integration.lab.errors import BrokerError
from jmsbridge import JMSError

_PLAN = Plan("")  # for its defaults
_CONSUMERS = "listener, receive, dups_ok, client, transacted, container, async_container, aio; processes: two workers"


def main(
    broker: Annotated[str, typer.Argument(help="URL, or a name of python -m integration.lab")],
    messages: int = 10_000,
    cuts: int = 10,
    kills: int = 0,
    restarts: Annotated[int, typer.Option(help="how often all consumers are closed and replaced by others")] = 0,
    deaths: Annotated[int, typer.Option(help="how often a worker process of the consumers `processes` is killed")] = 0,
    seed: Annotated[int | None, typer.Option(help="repeats the disturbances of a run; default: random")] = None,
    producers: Annotated[str, typer.Option(help="async, sync, transacted, template, aio: one process each")] = ",".join(
        _PLAN.producers
    ),
    consumers: Annotated[str, typer.Option(help=_CONSUMERS)] = ",".join(_PLAN.consumers),
    topic: Annotated[bool, typer.Option(help="a topic with a shared durable subscription, not a queue")] = False,
    options: Annotated[
        str, typer.Option(help="options of jmsbridge for every process, in the form of a URL's query")
    ] = "",
    scheme: Annotated[
        str | None, typer.Option(help="of the URL of a broker that is started; default: its first one")
    ] = None,
    folder: Annotated[Path | None, typer.Option(help="the folder for ledgers and report.json")] = None,
) -> None:
    """Send messages through cuts and kills, and check the result."""
    plan = Plan(
        broker,
        messages,
        cuts,
        kills,
        random.randrange(1 << 30) if seed is None else seed,
        tuple(producers.split(",")),
        tuple(consumers.split(",")),
        topic,
        options,
        restarts=restarts,
        scheme=scheme,
        deaths=deaths,
    )
    report = _carry_out(plan, folder)
    print(text(report))
    raise typer.Exit(0 if report.ok else 1)


def _carry_out(plan: Plan, folder: Path | None) -> Report:
    with tempfile.TemporaryDirectory(prefix="jmsbridge-faults-") as made:
        where = Path(made) if folder is None else folder
        where.mkdir(parents=True, exist_ok=True)
        try:
            report = run(plan, where, print)
        except (FaultRunError, BrokerError, JMSError) as error:
            typer.echo(f"no run: {error}", err=True)
            raise typer.Exit(2) from error
        (where / "report.json").write_bytes(msgspec.json.format(msgspec.json.encode(report)))
    return report


if __name__ == "__main__":
    typer.run(main)
