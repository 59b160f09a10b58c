"""Unexpected Python errors below Java calls: they are logged, kept here, and fail the run."""

import logging
import threading
from typing import Any, TextIO

__all__ = ["UNEXPECTED", "ListenerThrew", "watch"]

UNEXPECTED: list[str] = []
"""The logged errors with their tracebacks; a run with any of them has failed."""


class ListenerThrew(RuntimeError):
    """An exception of a Java listener: the facade logs it, but it is not an error of the face."""


class _Watch(logging.StreamHandler[TextIO]):
    """Prints log records as Python does by default, and keeps errors with a traceback, also those of the facade."""

    def emit(self, record: logging.LogRecord) -> None:
        """Handle one record."""
        super().emit(record)
        if record.levelno >= logging.ERROR and record.exc_info and not isinstance(record.exc_info[1], ListenerThrew):
            UNEXPECTED.append(self.format(record))


def watch() -> None:
    """Keep unexpected errors from now on, including those that end a thread."""
    logging.getLogger().addHandler(_Watch())
    threading.excepthook = _died


def _died(how: Any) -> None:
    if how.exc_type is not SystemExit:
        logging.getLogger("conformance").error("a thread died", exc_info=how[:3])
