"""Standard streams that the shell closed (``<&-``, ``>&-``)."""

import io
import os
import sys

__all__ = ["replace_closed_streams"]


class _Closed(io.BufferedIOBase):
    """What is written here would be lost, so it is refused."""

    def writable(self) -> bool:
        """As every output says."""
        return True

    def write(self, data: object) -> int:
        """Refuse."""
        raise OSError("standard output is closed")


def replace_closed_streams() -> None:
    """Let closed standard input be empty, closed standard output refuse what is written, closed errors go nowhere.

    Their file descriptors are taken as well: otherwise the next file or socket would get one of them, and a child's
    output would go there.
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
