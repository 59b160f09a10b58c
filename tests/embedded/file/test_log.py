"""The write-ahead log, which a thread of its own writes back."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from jmsbridge.spi import Address
from jmsbridge.testing.suite.support import eventually
from jmsbridge_embedded.file.disk import log as module
from jmsbridge_embedded.file.disk.log import Log
from tests.embedded.file.worker import connect, message, receive, send


def test_what_was_written_is_in_the_file_while_it_is_open(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_ENOUGH", 100)
    link = connect(path)
    channel, wal = link.channel(False), path.with_name(f"{path.name}-wal")
    for _ in range(10):
        send(channel, *(message("x" * 1000) for _ in range(1000)))
    eventually(lambda: path.stat().st_size > 9_000_000)
    for _ in range(20):  # the log begins anew again and again, although COMMIT never sees to it
        send(channel, *(message("x" * 1000, Address("other")) for _ in range(500)))
        receive(link, Address("other"))
    eventually(lambda: path.stat().st_size > 10_000_000)
    assert wal.stat().st_size < 4096 * module.MOST // 2
    assert len(receive(link)) == 10_000
    link.close()
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_file_that_is_gone_is_not_made_again(path: Path) -> None:
    log = Log(path, "test")
    log.wrote(10**9, 0)
    log.close()
    assert not path.exists()


def test_a_file_that_is_locked_is_left_alone(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """COMMIT sees to it when there is much more; nothing is lost."""
    monkeypatch.setattr(module, "_ENOUGH", 1)
    link = connect(path)
    channel = link.channel(False)
    send(channel, message("a"))
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN")
        other.execute("SELECT * FROM entry").fetchall()  # a reader, who needs the log
        send(channel, *(message("x" * 1000) for _ in range(1000)))
        other.execute("ROLLBACK")
    assert len(receive(link)) == 1001
    link.close()
