"""Python errors that no Java caller should see: who meets one logs it, here it is kept, and it fails the run."""

import logging
import threading
from typing import Any, TextIO

__all__ = ["UNEXPECTED", "ListenerThrew", "watch"]

UNEXPECTED: list[str] = []
"""What was logged, with the tracebacks; a run with any of them has failed."""


class ListenerThrew(RuntimeError):
    """What a Java listener threw: the facade logs that as well, and it is the program's own affair."""


class _Watch(logging.StreamHandler[TextIO]):
    """Shows what is logged, as Python does by itself, and keeps errors with a traceback, also the facade's."""

    def emit(self, record: logging.LogRecord) -> None:
        """Take one record."""
        super().emit(record)
        if record.levelno >= logging.ERROR and record.exc_info and not isinstance(record.exc_info[1], ListenerThrew):
            UNEXPECTED.append(self.format(record))


def watch() -> None:
    """From now on unexpected errors are kept, those that end a thread included."""
    logging.getLogger().addHandler(_Watch())
    threading.excepthook = _died


def _died(how: Any) -> None:
    if how.exc_type is not SystemExit:
        logging.getLogger("conformance").error("a thread died", exc_info=how[:3])
