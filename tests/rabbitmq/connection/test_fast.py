"""Which inside of pika is needed, and what is said about a pika that lacks it."""

import logging
import subprocess
import sys
from collections.abc import Iterator

import pika
import pytest

from jmsbridge_rabbitmq.connection import fast_socket, pika_inside
from jmsbridge_rabbitmq.connection.fast_socket import FastSocket, is_sound, socket_class
from jmsbridge_rabbitmq.connection.pika_inside import check_pika, lacking
from jmsbridge_rabbitmq.connection.pika_socket import AmqpSocket


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    """The way is found out once in a process; before and after these tests again."""
    socket_class.cache_clear()
    yield
    socket_class.cache_clear()


def test_this_pika_is_used_the_fast_way_without_a_word(caplog: pytest.LogCaptureFixture) -> None:
    assert socket_class() is FastSocket
    assert not caplog.records


def test_a_pika_that_lacks_what_only_the_fast_way_uses(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(fast_socket, "NEEDED_FAST", ((pika.SelectConnection, ("_process_frame", "_not_there")),))
    assert not is_sound()
    assert socket_class() is AmqpSocket
    assert socket_class() is AmqpSocket
    said = [(record.name, record.levelno, record.getMessage()) for record in caplog.records]
    text = f"pika {pika.__version__} differs from known versions: the fast path is not used"
    assert said == [("jmsbridge.rabbitmq", logging.WARNING, text)]


@pytest.mark.parametrize("side", ["_writes_alike", "_reads_alike"])
def test_a_pika_that_writes_or_reads_otherwise(monkeypatch: pytest.MonkeyPatch, side: str) -> None:
    monkeypatch.setattr(fast_socket, side, lambda: False)
    assert socket_class() is AmqpSocket


def test_a_pika_that_cannot_be_checked(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def broken() -> bool:
        raise TypeError("other arguments")

    monkeypatch.setattr(fast_socket, "_writes_alike", broken)
    assert socket_class() is AmqpSocket
    assert "cannot be checked: the fast path is not used" in caplog.text
    assert "other arguments" in caplog.text


def test_no_way_needs_what_the_other_checks() -> None:
    assert not lacking(pika_inside.NEEDED)
    assert not set(pika_inside.NEEDED[0][1]) & set(pika_inside.NEEDED_FAST[0][1])


def test_a_pika_whose_buffer_is_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pika.SelectConnection, "_read_frame", lambda self: self._elsewhere)
    with pytest.raises(ImportError, match=r"SelectConnection\._frame_buffer"):
        check_pika()


_STRANGER = """
import pika
from pika.channel import Channel
from pika.connection import Connection

pika.__version__ = "1.99.0"
{change}
import jmsbridge

try:
    jmsbridge.connect("rabbitmq://127.0.0.1:1")
except jmsbridge.ConfigurationError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("change", "missing"),
    [
        ("del Connection._read_frame", "SelectConnection._read_frame"),
        ("del Connection._terminate_stream", "SelectConnection._terminate_stream"),
        ("del Channel._rpc", "Channel._rpc"),
    ],
    ids=["reading", "ending", "asking"],
)
def test_a_pika_that_no_way_can_use(change: str, missing: str) -> None:
    """Without what even the plain way needs there is no half working link: the backend says what it lacks."""
    done = subprocess.run(
        [sys.executable, "-c", _STRANGER.format(change=change)], capture_output=True, text=True, timeout=50
    )
    assert done.returncode == 0, done.stderr
    assert f"pika 1.99.0 has no {missing}; install pika 1.3.0 to 1.4.4" in done.stdout
    assert "jmsbridge[rabbitmq]" in done.stdout
