"""``jmsbridge run``: serves an application's listeners."""

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from jmsbridge.cli.printing import moving, plain, screen
from jmsbridge.cli.serve.health import HealthServer
from jmsbridge.cli.serve.loglines import JsonLines
from jmsbridge.cli.serve.order import Order
from jmsbridge.cli.serve.reloading import Sources
from jmsbridge.cli.serve.supervisor import Supervisor
from jmsbridge.cli.target import Broker, seconds

__all__ = ["run"]


def run(  # size: one parameter per option of the command line
    broker: Broker,
    app: Annotated[str, typer.Argument(metavar="MODULE:APP", help="The App to serve, such as shop.listeners:app.")],
    processes: Annotated[int, typer.Option("--processes", "-p", min=1, help="How many worker processes.")] = 1,
    reload: Annotated[
        bool, typer.Option("--reload", help="Restart them when a Python file below here changes.")
    ] = False,
    health_port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="Answer /live and /ready over HTTP on this port.", show_default=False),
    ] = None,
    health_host: Annotated[str, typer.Option(help="The address for that; 0.0.0.0 for all.")] = "127.0.0.1",
    stop_timeout: Annotated[
        str | None,
        typer.Option(metavar="DURATION", help="How long running listeners have to end.", show_default=False),
    ] = None,
) -> int:
    """Serve the listeners of an application in worker processes.

    The module is imported from the current folder in each process. Without --target the application connects to its
    own target. A process that dies is started again, after growing pauses. SIGTERM and Ctrl-C let running listeners
    end and return the other messages to the broker; the second one ends the processes at once. Besides the usual exit
    codes, 4 says that listeners had not ended in time, and 143 or 130 that a second signal ended them. In a terminal
    it shows its progress in a line, elsewhere it logs JSON lines on standard error.

    Examples:

      jmsbridge run shop.listeners:app --processes 4

      jmsbridge run shop.listeners:app --reload -t embedded:orders.db

      jmsbridge run shop.listeners:app --health-port 8080 --health-host 0.0.0.0 --stop-timeout 25s
    """
    limit = None if stop_timeout is None else seconds(stop_timeout, "--stop-timeout")
    on_terminal = sys.stderr.isatty()
    orders = [
        Order(
            app=app,
            number=number,
            pipe=-1,
            target=broker.target,
            given={name: value for name, value in broker.given.items() if value is not None},
            stop_timeout=limit,
            json_lines=not on_terminal,
        )
        for number in range(processes)
    ]
    supervisor = Supervisor(orders, Sources(Path.cwd()) if reload else None)
    server = None if health_port is None else HealthServer(health_host, health_port, supervisor.health)
    try:
        with _progress(on_terminal) as show:
            return supervisor.run(show)
    finally:
        if server is not None:
            server.close()


@contextmanager
def _progress(on_terminal: bool) -> Iterator[Callable[[str], None]]:
    """Shows a line that changes in a terminal; elsewhere the own log is JSON as that of the worker processes is."""
    if on_terminal:
        console = screen()
        with console.status(plain("starting")) as status, moving(console):
            yield lambda line: status.update(plain(line))
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logger = logging.getLogger("jmsbridge.run")
    before: Any = logger.propagate
    logger.addHandler(handler)
    logger.propagate = False
    try:
        yield lambda line: None
    finally:
        logger.removeHandler(handler)
        logger.propagate = before
