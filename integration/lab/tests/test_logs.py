"""``logs --follow`` prints new lines, of a container too, and Ctrl-C ends it normally."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from integration.lab.broker import last_lines
from integration.lab.cli import app
from integration.lab.starting import start
from integration.lab.tests.fake import Fake
from tools.laws.source import ROOT

_FOLLOW = """
from integration.lab.cli import app
from integration.lab.tests.fake import register
register()
app(["logs", "fake", "--lines", "1", "--follow"])
"""


def test_follow_prints_new_lines_until_ctrl_c(fake: Fake) -> None:
    with (
        start("fake", instance="fake", keep=True) as broker,
        subprocess.Popen(
            [sys.executable, "-c", _FOLLOW], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as following,
    ):
        assert following.stdout is not None
        assert following.stdout.readline() == "listening\n"
        with broker.log_file.open("a") as file:
            file.write("and more\n")
        assert following.stdout.readline() == "and more\n"
        following.send_signal(signal.SIGINT)
        assert following.communicate(timeout=30) == ("", "")
        assert following.returncode == 0


def test_follow_ends_with_the_broker(fake: Fake) -> None:
    with start("fake") as broker:
        followed = broker.follow(1)
        assert next(followed) == "listening\n"
        broker.stop()
        assert "".join(followed) == ""


def test_windows_line_ends_are_printed_once(fake: Fake) -> None:
    with start("fake") as broker:
        with broker.log_file.open("ab") as file:
            file.write(b"one\r\ntwo\r\nthree\r\n")
        followed = broker.follow(2)
        assert [next(followed), next(followed)] == ["two\nthree\n", ""]


def test_the_last_lines() -> None:
    assert [last_lines("a\nb\n", count) for count in range(4)] == ["", "b\n", "a\nb\n", "a\nb\n"]


# It records its calls; what it follows does not end by itself.
ENGINE = """#!/bin/sh
echo "$@" >> "$CALLS"
case " $* " in
*" ps "*) echo id;;
*" logs --follow "*) echo from the container; exec sleep 1000;;
esac
"""


def test_follow_of_a_container_uses_docker(fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "docker").write_text(ENGINE)
    (tmp_path / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    monkeypatch.setenv("JMSBRIDGE_BROKERS", "docker")
    monkeypatch.setattr("integration.lab.broker.wait_ready", lambda *_: None)
    with start("rabbitmq", instance="rabbitmq", keep=True) as broker:
        followed = broker.follow(3)
        assert next(followed) == "from the container\n"
        followed.close()  # type: ignore[attr-defined]  # a generator; ends the command's process, or this would hang

        def interrupted(lines: int) -> object:
            yield f"{lines} lines\n"
            raise KeyboardInterrupt

        monkeypatch.setattr("integration.lab.contained.Contained.follow", lambda self, lines: interrupted(lines))
        shown = CliRunner().invoke(app, ["logs", "rabbitmq", "-f"])
        assert (shown.exit_code, shown.stdout, shown.stderr) == (0, "40 lines\n", "")
    asked = [line.partition("compose.yaml ")[2] for line in (tmp_path / "calls").read_text().splitlines()]
    assert "logs --follow --no-color --no-log-prefix --tail 3" in asked
