"""Writes the write-ahead log back into the file in the background, so that no COMMIT waits for a slow disk.

A checkpoint writes pages all over the file and syncs them. SQLite would do that in a COMMIT, and every send and receive
of the process would wait. Here a thread with its own connection does most of it while others write. Only for the short
rest it keeps them out, because otherwise the log would never restart from its beginning.
"""

import contextlib
import logging
import sqlite3
import threading
from pathlib import Path
from typing import Final

from jmsbridge_embedded.file.disk.forking import Use

__all__ = ["MOST", "Log"]

_log = logging.getLogger("jmsbridge.embedded")

_ENOUGH: Final = 4000
"""Pages after which the thread writes back."""

MOST: Final = 4 * _ENOUGH
"""Pages after which a COMMIT writes back nevertheless: the thread is too slow, or has ended."""

_REST: Final = 400
"""Pages that may be written back while other writers wait."""

_ROUNDS: Final = 4
_LONGEST_END: Final = 10.0  # seconds that closing waits for a write-back under way
_PATIENCE: Final = 0.2  # seconds that the rest waits for other writers
_CHANGES_PER_PAGE: Final = 8
_PAGES_PER_COMMIT: Final = 4
_PAGE: Final = 4096


class Log:
    """The log of one file in this process; ``wrote`` is called on the store's thread."""

    def __init__(self, path: Path, name: str) -> None:
        self._path = path
        self._pages = 0
        self._changes = 0
        self._use = Use()
        self._due = threading.Event()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name=f"jmsbridge-embedded-{name}-log-io", daemon=True)
        self._thread.start()

    def wrote(self, changes: int, size: int) -> None:
        """Note a commit: all changes of the connection so far, and the bytes of this transaction."""
        more, self._changes = changes - self._changes, changes
        if more:
            self._pages += _PAGES_PER_COMMIT + more // _CHANGES_PER_PAGE + size // _PAGE
            if self._pages >= _ENOUGH:
                self._pages = 0
                self._due.set()

    def close(self) -> None:
        """End the thread; wait for a write-back in progress, for at most ``_LONGEST_END`` seconds."""
        self._stopped = True
        self._due.set()
        self._thread.join(_LONGEST_END)

    def _run(self) -> None:
        try:
            where = f"{self._path.as_uri()}?mode=rw"  # does not create a file
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
                except sqlite3.Error as error:  # a later COMMIT does it, or reports the error
                    _log.debug("%s: the log was not written back: %s", self._path, error)

    def _write_back(self, connection: sqlite3.Connection) -> None:
        before = 0
        for _ in range(_ROUNDS):
            with self._use:
                _, pages, _ = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            if self._stopped:
                return
            if pages - before <= _REST:  # few were added during this round, so few are left
                with self._use:
                    connection.execute("PRAGMA wal_checkpoint(FULL)").fetchone()
                return
            before = pages
