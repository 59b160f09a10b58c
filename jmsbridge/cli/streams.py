"""The standard streams: those that the shell has closed (``<&-``, ``>&-``), and output that cannot be written."""

import io
import os
import sys

__all__ = ["discard_output", "flush_output", "replace_closed_streams"]


class _Closed(io.BufferedIOBase):
    """Refuses what is written, since it would be lost."""

    def writable(self) -> bool:
        """True, as for every output."""
        return True

    def write(self, data: object) -> int:
        """Refuse."""
        raise OSError("standard output is closed")


def replace_closed_streams() -> None:
    """Make closed standard input empty, let closed standard output refuse writes, and discard closed standard error.

    Also occupies their file descriptors: otherwise the next file or socket would get one of them, and with it the
    output of child processes.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115 - for as long as the process lives
    if sys.stdout is None:
        sys.stdout = io.TextIOWrapper(_Closed(), encoding="utf-8", write_through=True)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - for as long as the process lives


def flush_output() -> None:
    """Write what standard output still has; an error says which output it was."""
    try:
        sys.stdout.flush()
    except OSError as error:
        if error.strerror is None or isinstance(error, BrokenPipeError):
            raise
        discard_output()
        raise OSError(f"standard output: {error.strerror}") from None


def discard_output() -> None:
    """Python flushes standard output again at exit: let that not fail a second time, which would end with 120."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
