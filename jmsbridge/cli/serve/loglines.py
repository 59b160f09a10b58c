"""The log of a worker process on standard error: a line of text in a terminal, a line of JSON elsewhere."""

import logging
import os
import sys
import traceback
from datetime import UTC, datetime

from jmsbridge.cli.printing import json_text

__all__ = ["JsonLines", "log_to_stderr"]


class JsonLines(logging.Formatter):
    """One JSON object per line: time, level, logger, thread, process, message, and the traceback of an error."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "thread": record.threadName,
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
    handler = logging.StreamHandler(sys.stderr)
    text = logging.Formatter("%(asctime)s %(levelname)s %(process)d %(name)s: %(message)s")
    handler.setFormatter(JsonLines() if json_lines else text)
    root.addHandler(handler)
    root.setLevel(logging.INFO)
