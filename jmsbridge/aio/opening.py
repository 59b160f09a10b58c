"""What ``connect`` and the ``create_…`` methods return: await it, or use it with ``async with``."""

from collections.abc import Coroutine, Generator
from typing import Any, Generic, Protocol, Self, TypeVar

__all__ = ["AsyncClosing", "Opening"]


class _Closes(Protocol):
    async def close(self) -> None: ...


C = TypeVar("C", bound=_Closes)


class AsyncClosing:
    """Is closed at the end of an ``async with`` block, also after an error in it."""

    __slots__ = ()

    async def close(self) -> None:
        """Close it; idempotent."""
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()


class Opening(Coroutine[Any, Any, C], Generic[C]):
    """``await`` gives the object; ``async with`` gives it, and closes it at the end of the block."""

    __slots__ = ("_made", "_making")

    def __init__(self, making: Coroutine[Any, Any, C]) -> None:
        self._making = making

    def __await__(self) -> Generator[Any, Any, C]:
        return self._making.__await__()

    def send(self, value: Any) -> Any:
        """As of a coroutine."""
        return self._making.send(value)

    def throw(self, *error: Any) -> Any:
        """As of a coroutine."""
        return self._making.throw(*error)

    def close(self) -> None:
        """As of a coroutine: nothing is made."""
        self._making.close()

    async def __aenter__(self) -> C:
        self._made = await self._making
        return self._made

    async def __aexit__(self, *error: object) -> None:
        await self._made.close()
