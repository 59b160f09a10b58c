"""A bounded cache: programs use the same few names again and again."""

from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["Cache"]

_K = TypeVar("_K")
_V = TypeVar("_V")


class Cache(dict[_K, _V], Generic[_K, _V]):
    """Values by key; ``make`` makes one that is missing. Emptied when it holds ``most``."""

    def __init__(self, make: Callable[[_K], _V], most: int = 1024) -> None:
        super().__init__()
        self._make = make
        self._most = most

    def __missing__(self, key: _K) -> _V:
        made = self._make(key)
        if len(self) >= self._most:
            self.clear()
        self[key] = made
        return made
