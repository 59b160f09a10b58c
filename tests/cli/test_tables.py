"""Tables and progress on a terminal, lines with tabs in a pipe."""

import io
import sys
from collections.abc import Callable

import pytest
from typer.testing import Result

from jmsbridge.cli.progress import working
from jmsbridge.cli.tables import print_rows

Run = Callable[..., Result]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    print_rows(("name", "count"), [("[red]", 12345)], title="[titled]", lead="nothing")
    text = screen.getvalue()
    assert "[red]" in text
    assert "12,345" in text
    assert "nothing" not in text


def test_a_pipe_gets_lines(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows(("name", "count"), [("[red]", 12345), ("b", 1)], title="not said")
    print_rows(("name", "count"), [("c", 2.5)], lead="more")
    assert capsys.readouterr().out == "[red]\t12345\nb\t1\nmore\tc\t2.5\n"


def test_every_command_prints_lines_in_a_pipe(run: Run, broker: str) -> None:
    shown = run("config", "show", "-o", "prefetch=7").stdout.splitlines()
    assert shown[0] == f"target\t{broker.partition('?')[0]}\t$JMSBRIDGE_URL"
    assert "prefetch\t7\tcall" in shown
    assert "embedded\tqueue browser\tbrowse\tnative\t" in run("backends").stdout.splitlines()
    told = run("doctor", "-o", "prefetch=7").stdout.splitlines()
    assert "setting\tprefetch\t7\tcall" in told
    assert "capability\tqueue browser\tbrowse\tnative\t" in told
    assert not [line for line in told if "│" in line or "━" in line]


def test_a_terminal_shows_that_work_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")  # a dumb terminal shows no progress
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with working("deleting from queue:[odd]"):
        pass
    assert "deleting from queue:[odd]" in screen.getvalue()
    monkeypatch.setattr(sys, "stderr", pipe := io.StringIO())
    with working("deleting from queue:[odd]"):
        pass
    assert pipe.getvalue() == ""
