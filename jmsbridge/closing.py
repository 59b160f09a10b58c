"""The base of everything with ``close``: a context manager."""

from typing import Self

__all__ = ["Closing"]


class Closing:
    """Is closed at the end of a ``with`` block, also after an error in it."""

    __slots__ = ()

    def close(self) -> None:
        """Close it; idempotent."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
