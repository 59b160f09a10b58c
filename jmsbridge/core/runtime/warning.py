"""Warnings that point to the line of the application that caused them."""

import sys
import threading
import warnings
from types import FrameType

from jmsbridge.core.runtime.interrupts import calling_frame

__all__ = ["warn"]


def warn(text: str, category: type[Warning]) -> None:
    """Warn at the line that called the library, however deep in the library the cause is.

    On a thread of the library that runs no call of the application, the warning names the thread instead of a file.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_ours(frame):
        frame = frame.f_back
    if frame is None or frame.f_globals.get("__name__") == "threading":
        frame = calling_frame()
    while frame is not None and _is_ours(frame):
        frame = frame.f_back
    if frame is None:
        name = threading.current_thread().name
        warnings.warn_explicit(f"{text} (found on the thread {name})", category, f"<{name}>", 1, "jmsbridge")
        return
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    module = str(frame.f_globals.get("__name__", "<unknown>"))
    warnings.warn_explicit(text, category, frame.f_code.co_filename, frame.f_lineno, module, registry)


def _is_ours(frame: FrameType) -> bool:
    """Whether a frame is code of the library or of a backend, or standard library code between two such frames."""

    package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    return package == "jmsbridge" or package.startswith("jmsbridge_") or package in _BETWEEN


_BETWEEN = {"concurrent", "contextlib", "functools"}
