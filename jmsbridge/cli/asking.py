"""Asking before something is destroyed."""

import sys

import typer

from jmsbridge.cli.printing import shown
from jmsbridge.cli.running import note

__all__ = ["YesArg", "confirmed", "on_terminal"]

YesArg = typer.Option("--yes", "-y", help="Do not ask. In a pipe or a script nothing is asked anyway.")


def confirmed(question: str, yes: bool) -> bool:
    """Whether to go on; asks only on a terminal."""
    if yes or not on_terminal():
        return True
    try:
        agreed = typer.confirm(shown(question), err=True)
    except typer.Abort:
        raise KeyboardInterrupt from None
    if not agreed:
        note("nothing was done")
    return agreed


def on_terminal() -> bool:
    """Whether there is somebody to ask."""
    return sys.stdin.isatty()
