"""The command line as a whole: mistakes in it are told like every other error, without what may be a password."""

import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from jmsbridge.cli.printing import keep_secret
from jmsbridge.cli.running import INTERRUPTED, complain, note

__all__ = ["CommandLine", "help_of"]

# Typer brings Click in one version and has a copy of it in another: what its own errors derive from is the right one.
_Wrong: type[Exception] = typer.BadParameter.__mro__[2]


class CommandLine(TyperGroup):
    """The group of all commands. What typer would print of a wrong command line is coloured, framed and repeats it."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run one command line and end the process with its exit code."""
        keep_secret(sys.argv[1:] if args is None else args)
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
        try:
            code = super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
        except _Wrong as error:
            _end(error)
        except typer.Abort:
            sys.exit(INTERRUPTED)
        sys.exit(code if isinstance(code, int) else 0)


def _end(error: Any) -> NoReturn:
    context = getattr(error, "ctx", None)
    if type(error).__name__ != "NoArgsIsHelpError":  # whose help was printed already
        complain(error.format_message())
        if context is not None:
            note(f"`{context.command_path} --help` shows how it is used")
    sys.exit(error.exit_code)


def help_of(command: Callable[..., Any]) -> str:
    """What ``--help`` says of a command: its docstring, with each paragraph in one line, to be broken where it ends."""
    paragraphs = (inspect.getdoc(command) or "").split("\n\n")
    return "\n\n".join(
        part if part.startswith(" ") else " ".join(line.strip() for line in part.splitlines()) for part in paragraphs
    )
