"""The write-ahead log, which a separate thread writes back to the file."""

import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from jmsbridge.spi import Address
from jmsbridge_embedded.file.disk import log as module
from jmsbridge_embedded.file.disk.log import Log
from tests.embedded.file.worker import FIRST, connect, message, receive, send


def test_the_log_is_written_back_while_the_file_is_open(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_ENOUGH", 100)
    written, write_back = threading.Semaphore(0), Log._write_back

    def note(log: Log, connection: sqlite3.Connection) -> None:
        write_back(log, connection)
        written.release()

    monkeypatch.setattr(Log, "_write_back", note)
    link = connect(path)
    channel, wal = link.channel(False), path.with_name(f"{path.name}-wal")

    def store(count: int, address: Address) -> None:
        while written.acquire(blocking=False):  # what came before may have been written back in several parts
            pass
        send(channel, *(message("x" * 1000, address) for _ in range(count)))
        assert written.acquire(timeout=60)

    for _ in range(10):
        store(1000, FIRST)
    for _ in range(20):  # the log is restarted regularly, although COMMIT never does that
        store(500, Address("other"))
        receive(link, Address("other"))
    assert path.stat().st_size > 10_000_000
    assert wal.stat().st_size < 4096 * module.MOST // 8
    assert len(receive(link)) == 10_000
    link.close()
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_deleted_file_is_not_recreated(path: Path) -> None:
    log = Log(path, "test")
    log.wrote(10**9, 0)
    log.close()
    assert not path.exists()


def test_a_locked_file_is_not_written_back(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the log is much larger, COMMIT writes it back; no message is lost."""
    monkeypatch.setattr(module, "_ENOUGH", 1)
    link = connect(path)
    channel = link.channel(False)
    send(channel, message("a"))
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN")
        other.execute("SELECT * FROM entry").fetchall()  # a reader that needs the log
        send(channel, *(message("x" * 1000) for _ in range(1000)))
        other.execute("ROLLBACK")
    assert len(receive(link)) == 1001
    link.close()
