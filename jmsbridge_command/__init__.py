"""Where the console script ``jmsbridge`` begins: ready for Ctrl-C before the library is imported.

This package is beside ``jmsbridge``, not in it, because the import of any of its modules imports it first. That takes
0.5 s and more, and Python loses a KeyboardInterrupt in some places of an import: the command would go on to its end.
"""

import os
import signal
import sys
from types import FrameType

__all__ = ["main"]

_INTERRUPTED = 130


def main() -> None:
    """Run the command line of the process."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:  # otherwise it is ignored, as in the background of a script
        signal.signal(signal.SIGINT, _end)
    from jmsbridge.cli import main as run

    try:
        signal.signal(signal.SIGINT, handler)
        run()
    except KeyboardInterrupt:  # outside of the commands
        sys.exit(_INTERRUPTED)


def _end(number: int, frame: FrameType | None) -> None:
    os._exit(_INTERRUPTED)  # nothing has been done yet
