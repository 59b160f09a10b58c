"""The write-ahead log goes into the file in the background, so that no COMMIT waits for a disk with few operations a
second.

A checkpoint writes pages all over the file and has the disk confirm them; done in a COMMIT, as SQLite does by itself,
that held up every send and receive of the process. A connection and a thread of its own do most of it while others
write; only the rest, which is short by then, keeps them out, since without that the log would never begin anew.
"""

import contextlib
import logging
import sqlite3
import threading
from pathlib import Path
from typing import Final

__all__ = ["MOST", "Log"]

_log = logging.getLogger("jmsbridge.embedded")

_ENOUGH: Final = 4000
"""Pages after which it is time."""

MOST: Final = 4 * _ENOUGH
"""Pages after which a COMMIT waits for it after all: the thread does not keep up, or is gone."""

_REST: Final = 400
"""Pages for which others may be kept out."""

_ROUNDS: Final = 4
_LONGEST_END: Final = 10.0  # seconds that closing waits for a write-back under way
_PATIENCE: Final = 0.2  # seconds that the rest waits for its turn
_CHANGES_PER_PAGE: Final = 8
_PAGES_PER_COMMIT: Final = 4
_PAGE: Final = 4096


class Log:
    """The log of one file in this process; ``wrote`` is called by the store's thread, others by whoever has it."""

    def __init__(self, path: Path, name: str) -> None:
        self._path = path
        self._pages = 0
        self._changes = 0
        self._due = threading.Event()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name=f"jmsbridge-embedded-{name}-log-io", daemon=True)
        self._thread.start()

    def wrote(self, changes: int, size: int) -> None:
        """A transaction was committed; all changes of the connection so far, and bytes that came with this one."""
        more, self._changes = changes - self._changes, changes
        if more:
            self._pages += _PAGES_PER_COMMIT + more // _CHANGES_PER_PAGE + size // _PAGE
            if self._pages >= _ENOUGH:
                self._pages = 0
                self._due.set()

    def close(self) -> None:
        """End it; what is under way comes to its end, and is waited for a while."""
        self._stopped = True
        self._due.set()
        self._thread.join(_LONGEST_END)

    def _run(self) -> None:
        try:
            where = f"{self._path.as_uri()}?mode=rw"  # never makes a file
            connection = sqlite3.connect(where, uri=True, timeout=_PATIENCE, isolation_level=None)
        except sqlite3.Error as error:
            _log.debug("%s: the log is not written back in the background: %s", self._path, error)
            return
        with contextlib.closing(connection):
            while True:
                self._due.wait()
                self._due.clear()
                if self._stopped:
                    return
                try:
                    self._write_back(connection)
                except sqlite3.Error as error:  # COMMIT does it, or says what is wrong
                    _log.debug("%s: the log was not written back: %s", self._path, error)

    def _write_back(self, connection: sqlite3.Connection) -> None:
        before = 0
        for _ in range(_ROUNDS):
            _, pages, _ = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            if self._stopped:
                return
            if pages - before <= _REST:  # so many came during the round before: now it is not many more
                connection.execute("PRAGMA wal_checkpoint(FULL)").fetchone()
                return
            before = pages
