"""Ctrl-C, a closed pipe, a full disk: no message is lost, nothing hangs."""

import io
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from jmsbridge import CLIENT_ACKNOWLEDGE, Connection, Queue
from jmsbridge.cli import main
from jmsbridge.cli.commandline import new_app, run_app
from jmsbridge.cli.output import Format, Writer
from jmsbridge.cli.receive import Tally, pump
from jmsbridge.cli.running import guarded
from jmsbridge.testing.suite.support import text_of

PRELOADED = """
import signal as _signal
_signal.signal(_signal.SIGINT, _signal.default_int_handler)  # background jobs inherit an ignored SIGINT
import sys, jmsbridge
from jmsbridge import Queue
from jmsbridge.cli import main

keep = jmsbridge.connect("embedded:")
session = keep.create_session()
producer = session.create_producer(Queue("q"))
for number in range(int(sys.argv[1])):
    producer.send(str(number))
try:
    main(sys.argv[2:])
except SystemExit as ending:
    code = ending.code
left = sum(1 for _ in session.create_browser(Queue("q")))
print(f"left {left}", file=sys.stderr, flush=True)
keep.close()
sys.exit(code)
"""


@contextmanager
def process(count: int, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A command in its own process, whose broker has messages; the process prints at the end how many are left."""
    command = [sys.executable, "-c", PRELOADED, str(count), *arguments]
    running = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        yield running
    finally:
        running.kill()
        running.communicate(timeout=10)


def test_ctrl_c_ends_receive_and_loses_nothing() -> None:
    with process(10, "receive", "q", "--follow", "--format", "text") as running:
        assert running.stdout is not None
        seen = [running.stdout.readline() for _ in range(10)]
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=20)
        assert seen == [b"%d\n" % number for number in range(10)]
        assert out == b""
        assert running.returncode == 130
        interrupted, received, *_ = err.splitlines()
        assert interrupted == b"interrupted"
        assert int(received.removesuffix(b" received")) in (9, 10)  # the last one may be written and not yet counted
        # Flushed, but perhaps not yet acknowledged: possibly a duplicate, never lost.
        assert int(err.split(b"left ")[1]) <= 10
        assert b"Traceback" not in err


def test_ctrl_c_ends_send_and_reports_how_many_were_sent() -> None:
    with process(0, "send", "q", "--format", "text") as running:
        assert running.stdin is not None
        assert running.stderr is not None
        assert b"this process only" in running.stderr.readline()
        running.stdin.write(b"a\nb\n")
        running.stdin.flush()
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=20)
        assert running.returncode == 130
        assert err.startswith(b"interrupted\n")
        sent, left = int(err.splitlines()[1].removesuffix(b" sent")), int(err.split(b"left ")[1])
        assert sent <= left <= 2
        assert b"Traceback" not in err


def test_a_closed_pipe_ends_receive() -> None:
    with process(5000, "receive", "q") as running:
        assert running.stdout is not None
        assert running.stdout.readline()
        running.stdout.close()
        assert running.stderr is not None
        err = running.stderr.read()
        assert running.wait(20) == 141
        assert int(err.split(b"left ")[1]) > 0
        assert b"Traceback" not in err
        assert b"BrokenPipe" not in err


class FullDisk(io.BytesIO):
    """A file that accepts some lines, and fails when they are flushed."""

    def __init__(self, flushes: int) -> None:
        super().__init__()
        self._flushes = flushes

    def flush(self) -> None:
        self._flushes -= 1
        if self._flushes < 0:
            raise OSError("no space left")


@pytest.mark.parametrize(("flushes", "gone"), [(0, 0), (1, 100), (2, 200)])
def test_only_what_was_flushed_is_acknowledged(connection: Connection, flushes: int, gone: int) -> None:
    sender = connection.create_session()
    producer = sender.create_producer(Queue("q"))
    for number in range(250):
        producer.send(str(number))
    session = connection.create_session(False, CLIENT_ACKNOWLEDGE)
    with pytest.raises(OSError, match="no space left"):
        pump(session.create_consumer(Queue("q")), Writer(Format.TEXT, FullDisk(flushes)), None, 0.05, Tally())
    session.close()
    left = [text_of(message) for message in sender.create_browser(Queue("q"))]
    assert left == [str(number) for number in range(gone, 250)]


def test_everything_is_acknowledged_at_the_end(connection: Connection) -> None:
    sender = connection.create_session()
    producer = sender.create_producer(Queue("q"))
    for number in range(101):
        producer.send(str(number))
    session = connection.create_session(False, CLIENT_ACKNOWLEDGE)
    out: Any = io.BytesIO()
    tally = Tally()
    pump(session.create_consumer(Queue("q")), Writer(Format.TEXT, out), None, 0.05, tally)
    assert tally.count == 101
    session.close()
    assert out.getvalue().split() == [b"%d" % number for number in range(101)]
    assert list(sender.create_browser(Queue("q"))) == []


def test_ctrl_c_while_the_commands_are_made_ends_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(app: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("typer.main.get_command", interrupted)
    with pytest.raises(SystemExit) as ending:
        main(["list"])
    assert ending.value.code == 130


def test_ctrl_c_during_the_imports_ends_with_130(tmp_path: Path) -> None:
    """Even where Python loses the exception, as it does in callbacks of weak references."""
    (tmp_path / "jmsbridge").mkdir()
    (tmp_path / "jmsbridge" / "__init__.py").write_text(
        "import os, signal\ntry:\n    os.kill(os.getpid(), signal.SIGINT)\nexcept KeyboardInterrupt:\n    pass\n"
    )
    (tmp_path / "jmsbridge" / "cli.py").write_text("def main():\n    raise SystemExit(7)\n")
    program = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); import jmsbridge_command as c; "
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {program} c.main()"]
    ended = subprocess.run(command, capture_output=True, timeout=30)
    assert (ended.returncode, ended.stderr) == (130, b"")


def test_ctrl_c_that_python_cannot_raise_comes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    class Callback:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    def command() -> None:
        Callback()
        time.sleep(20)  # sleep: the command's work, which the second signal must interrupt

    app = new_app("test")
    app.command("work")(guarded(command))
    app.command("other")(guarded(command))
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
    began = time.monotonic()
    with pytest.raises(SystemExit) as ending:
        run_app(app, ["work"])
    assert ending.value.code == 130
    assert time.monotonic() - began < 15
