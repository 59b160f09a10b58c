"""A terminal that records what is printed on it."""

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from jmsbridge.cli import app

__all__ = ["Screen", "look", "on_terminal"]


class Screen(io.TextIOWrapper):
    """Standard output or standard error that is a terminal."""

    def __init__(self) -> None:
        self.data = io.BytesIO()
        super().__init__(self.data, encoding="utf-8", write_through=True)

    def isatty(self) -> bool:
        return True

    def text(self) -> str:
        self.flush()
        return self.data.getvalue().decode("utf-8")


@contextmanager
def on_terminal(monkeypatch: pytest.MonkeyPatch, *names: str) -> Iterator[dict[str, Screen]]:
    """Make one of these standard streams, or both, a terminal."""
    screens = {name: Screen() for name in names or ("stdout", "stderr")}
    with monkeypatch.context() as patch:
        patch.setenv("TERM", "xterm-256color")
        patch.delenv("NO_COLOR", raising=False)
        for name, screen in screens.items():
            patch.setattr(sys, name, screen)
        yield screens


def look(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> tuple[int, str]:
    """Run a command line on a terminal: its exit code, and everything that was printed."""
    with on_terminal(monkeypatch) as screens:
        code = 0
        try:
            app(args=list(arguments))
        except SystemExit as ending:
            code = int(ending.code or 0)
        return code, "".join(screen.text() for screen in screens.values())
