"""The result of calls that tasks await and threads do not."""

from collections.abc import Generator
from typing import Final

__all__ = ["DONE", "Done"]


class Done:
    """What a call returns that has done its work: nothing. Awaiting it changes nothing."""

    __slots__ = ()

    def __await__(self) -> Generator[None, None, None]:
        yield from ()

    def __repr__(self) -> str:
        return "done"


DONE: Final = Done()
