"""Warnings that point to the line that asked for what they warn of."""

import sys
import threading
import warnings
from types import FrameType

__all__ = ["warn"]


def warn(text: str, category: type[Warning]) -> None:
    """Warn, at the line of whoever called the library, however deep inside it this is.

    On a thread of the library nobody called: the warning then names the thread in the place of a file.
    """
    frame = sys._getframe(1)
    level = 1
    while _is_ours(frame):
        if frame.f_back is None:
            break
        frame, level = frame.f_back, level + 1
    if frame.f_globals.get("__name__") == "threading":
        name = threading.current_thread().name
        warnings.warn_explicit(f"{text} (found on the thread {name})", category, f"<{name}>", 1, "jmsbridge")
    else:
        warnings.warn(text, category, stacklevel=level + 1)


def _is_ours(frame: FrameType) -> bool:
    """Whether it is code of the library or of a backend, or what Python has put between two such calls."""
    package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    return package == "jmsbridge" or package.startswith("jmsbridge_") or package in _BETWEEN


_BETWEEN = {"concurrent", "contextlib", "functools"}
