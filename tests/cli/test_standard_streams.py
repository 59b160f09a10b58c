"""Unreadable input and closed streams: one line of error, no traceback, no lost message."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DEEP = b"[" * 200_000

pytestmark = pytest.mark.skipif(os.name != "posix", reason="closed streams are for POSIX shells")


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"embedded:{tmp_path}/broker.db"


def _run(url: str, line: str, *arguments: str, text: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run ``jmsbridge`` with the redirections that ``line`` ends with."""
    environment = {**os.environ, "JMSBRIDGE_URL": url, "COLUMNS": "200"}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "backends")])
    command = ["sh", "-c", f'exec "$0" -m jmsbridge "$@" {line}', sys.executable, *arguments]
    done = subprocess.run(command, input=text, capture_output=True, env=environment, timeout=30, check=False)
    assert b"Traceback" not in done.stderr
    assert done.stderr.count(b"error:") == (done.returncode != 0)
    return done


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (DEEP, b"line 1: nested too deeply"),
        (b'{"body": ' + DEEP, b"line 1: nested too deeply"),
        (b"\xff\xfe\n", b"line 1: not UTF-8"),
        (b'"\xff"\n', b"line 1: not UTF-8"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(url: str, text: bytes, said: bytes) -> None:
    done = _run(url, "", "send", "orders", text=text)
    assert done.returncode == 1
    assert said in done.stderr


def test_text_that_cannot_be_decoded_is_named(url: str) -> None:
    done = _run(url, "", "send", "orders", "--format", "text", text=b"good\n\xff\n")
    assert done.returncode == 1
    assert b"line 2: not UTF-8" in done.stderr


@pytest.mark.parametrize("arguments", [("caf\udce9",), ("x", "-p", "name=\udce9"), ("x", "--type", "\udce9")])
def test_an_argument_that_is_not_utf_8_is_refused(url: str, arguments: tuple[str, ...]) -> None:
    """``subprocess`` passes each such character as the byte that it stands for."""
    done = _run(url, "", "send", "orders", *arguments)
    assert done.returncode == 2
    assert b"is not UTF-8" in done.stderr


def test_closed_input_is_empty(url: str) -> None:
    done = _run(url, "<&-", "send", "orders")
    assert done.returncode == 0
    assert b"0 sent" in done.stderr


def test_closed_output_loses_no_message(url: str) -> None:
    assert _run(url, ">&- <&-", "send", "orders", "hello").returncode == 0
    refused = _run(url, ">&-", "receive", "orders", "-n", "1", "--timeout", "5")
    assert refused.returncode == 1
    assert b"standard output is closed" in refused.stderr
    received = _run(url, "", "receive", "orders", "-n", "1", "--timeout", "5", "--format", "text")
    assert received.stdout == b"hello\n"


@pytest.mark.parametrize("arguments", [("--help",), ("backends", "--json"), ("list",)])
def test_closed_output_is_an_error(url: str, arguments: tuple[str, ...]) -> None:
    _run(url, "", "send", "orders", "hello")
    done = _run(url, ">&-", *arguments)
    assert done.returncode == 1
    assert b"standard output is closed" in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
@pytest.mark.parametrize("arguments", [("config", "show"), ("--version",), ("--help",)])
def test_a_full_disk_behind_the_output_is_named(
    url: str, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    done = _run(url, "> /dev/full", *arguments)
    assert done.returncode == 1
    assert b"error: standard output: No space left on device" in done.stderr


def test_all_standard_streams_may_be_closed(url: str) -> None:
    assert _run(url, "<&- >&- 2>/dev/null", "send", "orders", "hello").returncode == 0
    closed = subprocess.run(
        ["sh", "-c", '"$0" -m jmsbridge list <&- >&- 2>&-; echo $?', sys.executable],
        capture_output=True,
        env={**os.environ, "JMSBRIDGE_URL": url, "PYTHONPATH": f"{ROOT}:{ROOT}/backends"},
        timeout=30,
        check=False,
    )
    assert closed.stdout == b"1\n"
