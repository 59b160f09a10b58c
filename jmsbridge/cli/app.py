"""The commands put together."""

from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

import typer

from jmsbridge.cli.backends import backends
from jmsbridge.cli.doctor import doctor
from jmsbridge.cli.receive import browse, receive
from jmsbridge.cli.running import guarded
from jmsbridge.cli.send import send

__all__ = ["app", "main"]

# Pretty tracebacks print local variables, and some of them are passwords.
app = typer.Typer(
    name="jmsbridge",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _command in (send, receive, browse, backends, doctor):
    app.command()(guarded(_command))


def _print_version(wanted: bool) -> None:
    if wanted:
        try:
            print(version("jmsbridge"))
        except PackageNotFoundError:
            print("not installed")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Send, receive and look at messages on any broker that jmsbridge reaches.

    Exit codes: 0 done, 1 the broker or the input said no, 2 wrong command line or configuration, 3 nothing received
    (with --fail-if-empty), 130 Ctrl-C, 141 the reader of the output went away.
    """


def main(arguments: list[str] | None = None) -> None:
    """The console script."""
    app(args=arguments)
