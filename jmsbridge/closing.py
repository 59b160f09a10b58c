"""Everything with ``close`` is a context manager."""

from types import TracebackType
from typing import Self

__all__ = ["Closing"]


class Closing:
    """Closes itself at the end of a ``with`` block, whatever happened in it."""

    __slots__ = ()

    def close(self) -> None:
        """End it; idempotent."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
