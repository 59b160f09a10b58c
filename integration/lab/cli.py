"""The launcher's command line."""

import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from functools import wraps
from pathlib import Path
from typing import Annotated, ParamSpec

import typer
from rich.console import Console
from rich.table import Table

from integration.lab.broker import SERVERS, Broker, last_lines
from integration.lab.certificates import make_certificates
from integration.lab.checking import check_all
from integration.lab.composing import compose_files
from integration.lab.errors import BrokerError, BrokerUnavailable
from integration.lab.progress import doing, stderr
from integration.lab.running import places, state
from integration.lab.starting import fetch, find, start
from integration.lab.table import KINDS, kind

__all__ = ["app"]

_P = ParamSpec("_P")

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def _about() -> None:
    """Real brokers on this machine: fetched once into your cache, listening on 127.0.0.1, without Docker.

    [bold]Examples[/]

      python -m integration.lab fetch                  [dim]all of them, once[/]
      python -m integration.lab up rabbitmq artemis    [dim]started, left running[/]
      eval "$(python -m integration.lab env rabbitmq)" [dim]$JMSBRIDGE_RABBITMQ_URL[/]
      python -m integration.lab restart rabbitmq --kill
      python -m integration.lab logs rabbitmq --follow
      python -m integration.lab down                   [dim]stopped, with their data[/]

    $JMSBRIDGE_BROKERS_CACHE says where they are kept.

    Exit codes: 0 done, 1 a broker is unavailable or failed, 2 wrong command
    line, 130 Ctrl-C.
    """


def _command(function: Callable[_P, int | None]) -> Callable[_P, None]:
    """Register a command that ends with an exit code and prints an error as one line."""

    @wraps(function)
    def run(*args: _P.args, **kwargs: _P.kwargs) -> None:
        try:
            code = function(*args, **kwargs) or 0
            sys.stdout.flush()
        except KeyboardInterrupt:
            stderr().print("stopped by Ctrl-C; to see what is up: python -m integration.lab status")
            code = 130
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes again at exit
            code = 141
        except (BrokerError, OSError) as error:
            stderr().print("error:", style="bold red", end=" ")
            stderr().print(str(error), markup=False)
            code = 1
        raise typer.Exit(code)

    return app.command(function.__name__.strip("_"))(run)


def _known(names: list[str] | None) -> list[str]:
    for name in names or []:
        try:
            kind(name)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None
    return names or []


_Names = Annotated[list[str] | None, typer.Argument(callback=_known, help=f"Of {', '.join(KINDS)}.")]
_Name = Annotated[str, typer.Argument(callback=lambda name: _known([name])[0], help=f"One of {', '.join(KINDS)}.")]


@_command
def _up(
    names: _Names = None,
    unsafe: Annotated[
        bool, typer.Option("--no-sync", help="Java brokers confirm before messages are on the disk: for speed only.")
    ] = False,
    options: Annotated[
        list[str] | None, typer.Option("--with", help="An option of the broker (docs/brokers.md); may be repeated.")
    ] = None,
) -> None:
    """Start brokers, fetch them first if necessary, and leave them running. Without names: all that are fetched."""
    chosen = names or [name for name, server in SERVERS.items() if server.installed()]
    if not chosen:
        raise BrokerUnavailable("no broker is fetched yet; name those to start, or fetch them first")
    wanted = {name: _options(name, options or []) for name in chosen}
    for name in chosen:
        with _alone(name):
            broker = find(name)
            if broker is not None and options and broker.options != wanted[name]:
                raise BrokerError(f"{broker.kind.title} was started with other options: take it down first")
            if broker is not None and broker.running:
                stderr().print(f"{broker.kind.title} is up already{_otherwise(broker, unsafe)}")
            else:
                with doing(kind(name).title, "up") as say:
                    fetch(name, say)
                    say("starting")
                    broker = _start(name, broker, wanted[name], sync=not unsafe)
        print(f"{name} {broker.url(user=None)}")


def _alone(name: str) -> AbstractContextManager[None]:
    """Hold the lock with which only one command at a time starts, restarts or removes this broker."""
    return places.file_lock(f"instance-{name}")


def _options(name: str, options: list[str]) -> tuple[str, ...]:
    try:
        return kind(name).chosen(options)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--with") from None


def _start(name: str, known: Broker | None, options: tuple[str, ...], *, sync: bool) -> Broker:
    if known is None:
        return start(name, instance=name, keep=True, sync=sync, options=options)
    known.restart(sync=sync)
    return known


def _otherwise(broker: Broker, unsafe: bool) -> str:
    """The note about a broker that runs with another setting than requested."""
    if broker.sync != unsafe:
        return ""
    return f", {'without' if unsafe else 'with'} --no-sync: take it down first to change that"


@_command
def _down(names: _Names = None) -> None:
    """Stop brokers of `up` and remove their data. Without names: all, and those of killed processes."""
    for name in names or KINDS:
        broker = find(name)
        if broker is not None:
            with doing(kind(name).title, "down"):
                broker.kill()  # a command that is starting it gives up; this one does not wait for that
                with _alone(name):
                    broker.stop()
        elif names:
            stderr().print(f"{kind(name).title} is not up")
    for leftover in state.sweep():
        stderr().print(f"removed the remains of {leftover}")


@_command
def _restart(
    name: _Name,
    kill: Annotated[bool, typer.Option("--kill", help="With SIGKILL, like a crash; its data stay.")] = False,
) -> None:
    """Restart a broker on the same ports with the same data."""
    with doing(kind(name).title, "ready"), _alone(name):
        _one_up(name).restart(kill=kill)


@_command
def _status() -> None:
    """List the fetched and the running brokers and their ports."""
    table = Table("broker", "version", "fetched", "running", "listeners", box=None, pad_edge=False)
    for name, server in SERVERS.items():
        table.add_row(name, server.kind.version, "yes" if server.installed() else "no", *_running(name))
    for written in state.every_state():
        if written.instance not in KINDS:
            table.add_row(written.name, "", "", *_running(written.instance))
    Console(width=None if sys.stdout.isatty() else 200).print(table)


def _running(instance: str) -> tuple[str, str]:
    broker = find(instance)
    if broker is None:
        return "no", ""
    shown = {name: port for name, port in broker.ports.items() if name not in broker.kind.internal}
    listeners = " ".join(f"{name}:{port}" for name, port in shown.items())
    return ("yes" if broker.running else "crashed") if instance in KINDS else f"by {instance}", listeners


@_command
def _env(names: _Names = None) -> None:
    """Print the variables with which tests and programs find running brokers, for a shell's `eval`."""
    missing: list[str] = []
    for name in names or [name for name in KINDS if find(name)]:
        broker = find(name)
        if broker is None or not broker.running:
            missing.append(_missing(name, crashed=broker is not None))
            continue
        for variable, value in broker.variables().items():
            print(f"export {variable}='{value}'")
    if missing:
        raise BrokerError("; ".join(missing))


@_command
def _logs(
    name: _Name,
    lines: Annotated[int, typer.Option("--lines", "-n", min=0, help="How many lines from the end.")] = 40,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Continue until the broker is taken down, or Ctrl-C.")
    ] = False,
) -> None:
    """Print the log of a broker."""
    broker = _one_up(name)
    if not follow:
        print(last_lines(broker.log(), lines), end="")
        return
    with suppress(KeyboardInterrupt):  # the usual way to end it
        for text in broker.follow(lines):
            print(text, end="", flush=True)


@_command
def _fetch(names: _Names = None) -> int:
    """Fetch brokers into your cache, unless they are installed. Without names: all of them."""
    failed: list[str] = []
    for name in names or KINDS:
        try:
            with doing(kind(name).title, "fetched") as say:
                fetch(name, say)
        except BrokerError as error:
            stderr().print(f"{kind(name).title}: {error}", markup=False)
            failed.append(name)
    return 1 if failed else 0


@_command
def _check(names: _Names = None) -> int:
    """Fetch, start, probe every listener, stop; then print a table of available brokers. Without names: all."""
    return check_all(names or list(KINDS))


@_command
def _compose(
    folder: Annotated[Path, typer.Argument(help="Where docker/compose.yaml is.")] = Path("docker"),
) -> None:
    """Write docker/compose.yaml and its configuration again, and certificates if there are none."""
    for path, text in compose_files().items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    make_certificates(folder / "tls")
    print(f"docker compose --file {folder / 'compose.yaml'} up --detach --wait")


def _one_up(name: str) -> Broker:
    broker = find(name)
    if broker is None:
        raise BrokerError(_missing(name))
    return broker


def _missing(name: str, *, crashed: bool = False) -> str:
    what = "has crashed; start it again with its data" if crashed else "is not up"
    return f"{kind(name).title} {what}: python -m integration.lab up {name}"
