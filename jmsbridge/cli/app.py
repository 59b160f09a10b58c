"""Registers the commands."""

from collections.abc import Callable
from typing import Annotated

import typer

from jmsbridge.cli.backends import backends
from jmsbridge.cli.bench import bench
from jmsbridge.cli.commandline import CommandLine, help_of
from jmsbridge.cli.configuring import config
from jmsbridge.cli.destinations import create, list_destinations, purge, remove
from jmsbridge.cli.dlq import dlq
from jmsbridge.cli.doctor import doctor
from jmsbridge.cli.files import export, load
from jmsbridge.cli.importing import import_configuration
from jmsbridge.cli.migrating import migrate
from jmsbridge.cli.moving import move
from jmsbridge.cli.receive import browse, receive
from jmsbridge.cli.running import ERROR, INTERRUPTED, complain, guarded
from jmsbridge.cli.send import send
from jmsbridge.cli.serve.command import run
from jmsbridge.cli.streams import replace_closed_streams
from jmsbridge.cli.target import with_broker
from jmsbridge.metadata import __version__

__all__ = ["app", "main"]

# Pretty tracebacks print local variables, which may be passwords.
app = typer.Typer(
    name="jmsbridge",
    cls=CommandLine,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
_PANELS: dict[str, dict[str, Callable[..., int]]] = {
    "Messages": {"send": send, "receive": receive, "browse": browse, "export": export, "load": load, "move": move},
    "Destinations": {"list": list_destinations, "create": create, "remove": remove, "purge": purge},
    "Applications": {"run": run},
    "Brokers and configuration": {
        "doctor": doctor,
        "bench": bench,
        "backends": backends,
        "import": import_configuration,
        "migrate": migrate,
    },
}
for _panel, _commands in _PANELS.items():
    for _name, _command in _commands.items():
        app.command(_name, rich_help_panel=_panel, help=help_of(_command))(guarded(with_broker(_command)))
app.add_typer(dlq, name="dlq", rich_help_panel="Messages")
app.add_typer(config, name="config", rich_help_panel="Brokers and configuration")


def _print_version(wanted: bool) -> None:
    if wanted:
        print(__version__)
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Send, receive and browse messages on any broker that jmsbridge supports; manage its queues; test it.

    Exit codes: 0 done, 1 refused by the broker or invalid input, 2 wrong command line or configuration, 3 nothing
    received (with --fail-if-empty), 4 listeners had not ended in time (run), 130 Ctrl-C, 141 the reader of the output
    has closed it.
    """


app.callback(help=help_of(_options))(_options)


def main(arguments: list[str] | None = None) -> None:
    """The console script."""
    replace_closed_streams()
    try:
        app(args=arguments)
    except KeyboardInterrupt:  # while Typer makes the commands
        raise SystemExit(INTERRUPTED) from None
    except OSError as error:  # from output outside the commands, such as --help
        complain(str(error))
        raise SystemExit(ERROR) from None
