"""The log of a worker process on standard error: a line of text in a terminal, a line of JSON elsewhere."""

import logging
import os
import sys
import threading
import traceback
from datetime import UTC, datetime
from typing import Any

from jmsbridge.cli.printing import json_text
from jmsbridge.core.runtime.interrupts import calling_thread

__all__ = ["JsonLines", "log_early", "log_to_stderr"]

_MAIN = threading.main_thread()


class JsonLines(logging.Formatter):
    """One JSON object per line: time, level, logger, thread, process, message, and the traceback of an error."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "thread": _MAIN.name if calling_thread() == _MAIN.ident else record.threadName,
            "process": os.getpid(),
            "message": record.getMessage(),
        }
        if record.exc_info and record.exc_info[1] is not None:
            line["error"] = "".join(traceback.format_exception(record.exc_info[1]))
        return json_text(line)


def log_to_stderr(json_lines: bool) -> None:
    """Log everything from INFO on, unless the application has configured its logging itself."""
    root = logging.getLogger()
    if root.handlers:
        return
    root.addHandler(_handler(json_lines))
    root.setLevel(logging.INFO)


def log_early(json_lines: bool) -> None:
    """Show what is logged before that, from WARNING on, in the same form, and let the application configure it."""
    logging.lastResort = _handler(json_lines)
    logging.lastResort.setLevel(logging.WARNING)


def _handler(json_lines: bool) -> "logging.StreamHandler[Any]":
    handler = logging.StreamHandler(sys.stderr)
    text = logging.Formatter("%(asctime)s %(levelname)s %(process)d %(name)s: %(message)s")
    handler.setFormatter(JsonLines() if json_lines else text)
    return handler
