"""Messages of a queue with a limit of deliveries that have come back so often that they must not do so once more.

Such a message goes to the end of its queue, by a confirmed copy that counts anew. That begins at half the limit: what
comes back without our doing, from a process that was killed or over a connection that broke, has the other half. Pure.
"""

from collections.abc import Callable
from typing import NamedTuple

from jmsbridge_rabbitmq.frames import Content

__all__ = ["Wear", "Worn"]

_ROOM = 64


class Worn(NamedTuple):
    """One such message."""

    content: Content
    returns: int
    deliveries: int
    """How often it was delivered, this time included."""


class Wear:
    """Those of one consumer; ``limit`` is how often a message may come back, None for as often as it likes."""

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self._worn: dict[int, Worn] = {}

    def note(self, content: Content, returns: int, deliveries: int, is_open: Callable[[int], bool]) -> Worn | None:
        """A message that arrived, if it is one; ``is_open`` tells which are not settled."""
        if self.limit is None or returns < (self.limit + 1) // 2:
            return None
        if len(self._worn) >= _ROOM:
            self.forget_settled(is_open)
        worn = self._worn[content.delivery_tag] = Worn(content, returns, deliveries)
        return worn

    def find(self, content: Content) -> Worn | None:
        """The same, later."""
        return self._worn.get(content.delivery_tag) if self._worn else None

    def is_last(self, worn: Worn) -> bool:
        """Whether the broker drops or moves it when it comes back once more."""
        return self.limit is not None and worn.returns >= self.limit

    def forget_settled(self, is_open: Callable[[int], bool]) -> list[Worn]:
        """Those that are not settled, in order of arrival."""
        self._worn = {tag: worn for tag, worn in self._worn.items() if is_open(tag)}
        return list(self._worn.values())
