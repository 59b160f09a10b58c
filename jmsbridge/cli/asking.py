"""Asks for confirmation before something is deleted."""

import sys

import typer

from jmsbridge.cli.printing import shown
from jmsbridge.cli.running import note

__all__ = ["YesArg", "confirmed", "on_terminal"]

YesArg = typer.Option("--yes", "-y", help="Do not ask for confirmation. Without a terminal the command never asks.")


def confirmed(question: str, yes: bool) -> bool:
    """Whether to continue; asks only on a terminal."""
    if yes or not on_terminal():
        return True
    try:
        agreed = typer.confirm(shown(question), err=True)
    except typer.Abort:
        raise KeyboardInterrupt from None
    if not agreed:
        note("nothing was changed")
    return agreed


def on_terminal() -> bool:
    """Whether a user can be asked."""
    return sys.stdin.isatty()
