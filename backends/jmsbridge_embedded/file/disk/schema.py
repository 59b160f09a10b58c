"""The file: how it is opened, what is in it, and what its errors mean."""

import os
import sqlite3
import stat
import time
from pathlib import Path
from typing import Any, Final

from jmsbridge.spi import BackendError, ConnectFailed, LinkLost, SendRefused
from jmsbridge_embedded.file.disk.log import MOST
from jmsbridge_embedded.file.disk.wire import Damaged

__all__ = [
    "LOCK_WAIT",
    "begin",
    "explained",
    "is_busy",
    "is_damage",
    "is_fatal",
    "is_unknown",
    "open_file",
]

_APPLICATION: Final = 0x6A6D7362
_VERSION: Final = 3
LOCK_WAIT: Final = 10.0
"""Seconds for which another program may lock a file that is open here."""

_BUSY: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_CORRUPT: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_DEAD: Final = frozenset(
    {*_CORRUPT, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL}
)

_SMALL: Final = 16 << 20
"""Bytes up to which the whole file is checked on opening, which takes 3 ms of CPU per MB."""

_UNFIT: Final = (UnicodeEncodeError, OverflowError)
"""Errors for values that SQLite cannot store; the file is not damaged."""

_TABLES: Final = """
CREATE TABLE state(one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER, stored INTEGER, topology INTEGER);
INSERT INTO state VALUES (1, 1, 0, 1);
CREATE TABLE node(id INTEGER PRIMARY KEY, token TEXT NOT NULL, socket TEXT NOT NULL, pid INTEGER NOT NULL);
CREATE TABLE link(id INTEGER PRIMARY KEY, node INTEGER NOT NULL, client TEXT UNIQUE);
CREATE TABLE line(
    id INTEGER PRIMARY KEY, topic INTEGER NOT NULL, name TEXT NOT NULL, temporary INTEGER NOT NULL,
    owner INTEGER NOT NULL DEFAULT 0, returns INTEGER NOT NULL DEFAULT 0,
    client TEXT, key TEXT, durable INTEGER NOT NULL DEFAULT 0, shared INTEGER NOT NULL DEFAULT 0,
    selector TEXT, no_local INTEGER NOT NULL DEFAULT 0, link INTEGER NOT NULL DEFAULT 0);
CREATE UNIQUE INDEX line_queue ON line(name) WHERE topic = 0;
CREATE INDEX line_topic ON line(name) WHERE topic = 1;
CREATE UNIQUE INDEX line_key ON line(client, key, durable) WHERE key IS NOT NULL;
CREATE TABLE topic(name TEXT PRIMARY KEY, temporary INTEGER NOT NULL, owner INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE consumer(id INTEGER PRIMARY KEY, line INTEGER NOT NULL, node INTEGER NOT NULL, selector TEXT);
CREATE INDEX consumer_line ON consumer(line);
CREATE TABLE grouping(line INTEGER, bucket INTEGER, consumer INTEGER NOT NULL, PRIMARY KEY (line, bucket))
    WITHOUT ROWID;
CREATE INDEX grouping_consumer ON grouping(consumer);
CREATE TABLE duplicate(place TEXT, id TEXT, number INTEGER NOT NULL, PRIMARY KEY (place, id)) WITHOUT ROWID;
CREATE INDEX duplicate_number ON duplicate(place, number);
CREATE TABLE entry(
    id INTEGER PRIMARY KEY, line INTEGER NOT NULL, rank INTEGER NOT NULL, owner INTEGER, count INTEGER NOT NULL,
    failures INTEGER NOT NULL DEFAULT 0,
    due INTEGER NOT NULL, expires INTEGER NOT NULL, bucket INTEGER, kept INTEGER NOT NULL, stamp INTEGER NOT NULL,
    content INTEGER, body BLOB);
CREATE INDEX entry_ready ON entry(line, rank) WHERE owner IS NULL AND due = 0;
CREATE INDEX entry_held ON entry(owner, line) WHERE owner IS NOT NULL;
CREATE INDEX entry_due ON entry(due) WHERE due > 0;
CREATE INDEX entry_expires ON entry(expires) WHERE expires > 0;
CREATE INDEX entry_unkept ON entry(id) WHERE kept = 0;
CREATE INDEX entry_content ON entry(content) WHERE content IS NOT NULL;
CREATE TABLE body(id INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TRIGGER entry_body AFTER DELETE ON entry WHEN old.content IS NOT NULL BEGIN
    DELETE FROM body WHERE id = old.content AND NOT EXISTS (SELECT 1 FROM entry WHERE content = old.content)@ END;
"""
# line: a queue or subscription. entry: one message in one of them; rank orders, owner is the node that holds it, count
# is the number of finished deliveries and failures how many of those failed, kept is false for NON_PERSISTENT ones. A
# large body is in its own table, with the id content: claims do not rewrite it, and the subscriptions of a topic share
# it. @ stands for a semicolon within a statement.


def open_file(path: Path, verify: bool, timeout: float) -> sqlite3.Connection:
    """Connect to the broker in ``path``, which is created if it does not exist; ``ConnectFailed`` if that fails.

    A small file is checked as a whole, rows against indexes; with ``verify``, after damage was found, also a large one.
    Waits for ``timeout`` seconds if another program has locked it.
    """
    for file in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
        if _is_forbidden(file):  # SQLite would open it read-only
            raise ConnectFailed(f"{file} cannot be written; check its owner and permissions")
    _check_names(path)
    try:
        connection = sqlite3.connect(path, timeout=0.0, isolation_level=None, cached_statements=256)
    except sqlite3.Error as error:
        raise ConnectFailed(f"{path}: {_text(error, path, timeout)}") from error
    try:
        _prepare(connection, path, verify, time.monotonic() + timeout)
    except sqlite3.Error as error:
        connection.close()
        raise ConnectFailed(f"{path}: {_text(error, path, timeout)}") from error
    except BackendError:
        connection.close()
        raise
    return connection


def _check_names(path: Path) -> None:
    """``ConnectFailed`` if it is no file, SQLite would delete messages, or processes could have a log each."""
    log = path.with_name(f"{path.name}-wal")
    waiting = _stat(log)  # before the file, because processes that open it make the file first
    file = _stat(path)
    if waiting is not None and waiting.st_size and (file is None or not file.st_size):
        raise ConnectFailed(
            f"{path} is missing or empty, but its log {log} has messages; restore the file, or delete the log as well"
        )
    if file is not None and not stat.S_ISREG(file.st_mode) and not stat.S_ISDIR(file.st_mode):
        raise ConnectFailed(f"{path} is a pipe, a socket or a device; give the path of a file")
    if file is not None and stat.S_ISREG(file.st_mode) and file.st_nlink > 1:
        raise ConnectFailed(
            f"{path} has another name (a hard link); processes that open it by different names would lose each other's "
            "messages; delete one of the names, or use a symbolic link"
        )


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None  # SQLite names what is wrong


def _prepare(connection: sqlite3.Connection, path: Path, verify: bool, deadline: float) -> None:
    _check(connection, path, deadline)
    for pragma in (
        "journal_mode = WAL",
        "synchronous = NORMAL",
        f"wal_autocheckpoint = {MOST}",
        "journal_size_limit = 67108864",
        "cache_size = -16000",
        "cell_size_check = ON",
        "trusted_schema = OFF",
        "temp_store = MEMORY",
    ):
        _patiently(connection, f"PRAGMA {pragma}", deadline)
    begin(connection, deadline)
    if not _check(connection, path, deadline):
        for statement in _TABLES.split(";"):
            connection.execute(statement.replace("@", ";"))
        connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        connection.execute(f"PRAGMA user_version = {_VERSION}")
    connection.execute("COMMIT")
    if verify or path.stat().st_size <= _SMALL:
        found = " ".join(str(connection.execute("PRAGMA integrity_check(1)").fetchone()[0]).split())
        if found != "ok":
            raise ConnectFailed(f"{path} is damaged ({found}); {_REPAIR}")


_REPAIR: Final = "restore it from a copy, or salvage it with the sqlite3 program (.recover)"


def _check(connection: sqlite3.Connection, path: Path, deadline: float) -> bool:
    """Whether the file is a broker's; False if it is empty, ``ConnectFailed`` if it is something else."""
    tables = _patiently(connection, "SELECT count(*) FROM sqlite_master", deadline)
    application = _patiently(connection, "PRAGMA application_id", deadline)
    version = _patiently(connection, "PRAGMA user_version", deadline)
    if application == _APPLICATION:
        if version != _VERSION:
            raise ConnectFailed(
                f"{path} has format {version}, but this version of jmsbridge reads format {_VERSION}; "
                "open it with the version that wrote it"
            )
        return True
    if application or version or tables:
        raise ConnectFailed(f"{path} is a database of another program; choose another file for the embedded broker")
    return False


def begin(connection: sqlite3.Connection, deadline: float) -> None:
    """Start a transaction; waits for other processes until the monotonic ``deadline``."""
    _patiently(connection, "BEGIN IMMEDIATE", deadline)


def _patiently(connection: sqlite3.Connection, statement: str, deadline: float) -> Any:
    """Execute, waiting for locks until ``deadline``; return the first value, if any."""
    pause = 0.0002
    while True:
        try:
            return next((row[0] for row in connection.execute(statement).fetchall()), None)
        except sqlite3.OperationalError as error:
            if _code(error) not in _BUSY or time.monotonic() > deadline:
                raise
        time.sleep(pause)  # sleep: no event tells; SQLite's own waits grow to 100 ms, while batches take one
        pause = min(pause * 1.5, 0.002)


def _code(error: sqlite3.Error) -> int:
    return int(getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)) & 0xFF


def is_fatal(error: Exception) -> bool:
    """Whether the file cannot be used any more."""
    if isinstance(error, sqlite3.Error):
        return _code(error) in _DEAD
    return not isinstance(error, _UNFIT)


def is_busy(error: Exception) -> bool:
    """Whether another program had locked the file all the time."""
    return isinstance(error, sqlite3.Error) and _code(error) in _BUSY


def is_damage(error: Exception) -> bool:
    """Whether a fatal error means that the file is damaged."""
    return isinstance(error, (Damaged, ValueError)) or (isinstance(error, sqlite3.Error) and _code(error) in _CORRUPT)


def is_unknown(error: Exception) -> bool:
    """Whether a COMMIT that failed with this error may have taken effect."""
    return isinstance(error, sqlite3.Error) and _code(error) == sqlite3.SQLITE_IOERR


def explained(error: Exception, path: Path, *, in_doubt: bool = False) -> BackendError:
    """The error with which to answer a ticket."""
    if isinstance(error, BackendError):
        return error
    if not is_fatal(error):
        return SendRefused(f"{path}: {_text(error, path, LOCK_WAIT)}")
    made = LinkLost(f"{path}: {_text(error, path, LOCK_WAIT)}", in_doubt=in_doubt)
    made.__cause__ = error
    return made


def _text(error: Exception, path: Path, waited: float) -> str:
    if isinstance(error, OSError):
        return _of_the_disk(error)
    if isinstance(error, UnicodeEncodeError):
        return f"a name, a client id or a duplicate id contains half of a surrogate pair ({error})"
    if isinstance(error, OverflowError):
        return f"a number is out of range ({error})"
    if not isinstance(error, sqlite3.Error):
        return f"{error}; {_REPAIR}"
    code = _code(error)
    if code == sqlite3.SQLITE_FULL:
        return "the disk is full; free some space; confirmed messages are safe"
    if code in _BUSY:
        return f"another program has locked the file for {waited:g} s; end that program, or try again later"
    if code == sqlite3.SQLITE_NOTADB:
        return "the file is not a database; choose another file for the embedded broker"
    if code == sqlite3.SQLITE_CORRUPT:
        return f"the file is damaged ({error}); {_REPAIR}"
    if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
        return _place(path, error)
    if code == sqlite3.SQLITE_IOERR:
        return _of_the_disk(error)
    return str(error)


def _of_the_disk(error: Exception) -> str:
    return f"the disk failed ({error}); check limits, quotas and the system's log"


def _place(path: Path, error: Exception) -> str:
    folder = path.parent
    if not folder.is_dir():
        return f"the folder {folder} does not exist; create it"
    if path.is_dir():
        return "this is a folder; give the path of a file"
    if not _is_writable(folder):
        return f"the folder {folder} cannot be written; the broker writes the file and further files beside it"
    return f"the file cannot be written ({error}); the broker writes it and further files beside it"


def _is_forbidden(path: Path) -> bool:
    """Whether the file exists and is not writable; checked twice, because another process may be deleting it."""
    return all(path.is_file() and not _is_writable(path) for _ in range(2))


def _is_writable(path: Path) -> bool:
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)
