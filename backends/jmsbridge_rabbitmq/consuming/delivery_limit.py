"""Messages that have come back to a quorum queue so often that they must not be requeued once more. Pure.

Such a message goes to the tail of its queue, by a confirmed copy, for which the broker counts from 0. That begins at
half of the queue's delivery limit: the other half is for requeues that nobody can prevent, when a process is killed or
a connection breaks.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

from jmsbridge_rabbitmq.protocol.frames import Content

__all__ = ["DeliveryLimit", "NearLimit"]

_ROOM = 64


class NearLimit(NamedTuple):
    """One such message."""

    content: Content
    returns: int
    """How often it has come back, as the broker counts."""
    deliveries: int
    """How often it was delivered, this time included."""


class DeliveryLimit:
    """The limit of one queue, and the unsettled messages of one consumer that are near it.

    ``limit`` is how often the broker lets a message come back; None: as often as it likes.
    """

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self.near_from = math.inf if limit is None else (limit + 1) // 2
        """A message that has come back so often is near the limit."""
        self._near: dict[int, NearLimit] = {}

    def arrived(
        self, content: Content, returns: int, deliveries: int, is_unsettled: Callable[[int], bool]
    ) -> NearLimit:
        """Note a message that is near the limit; ``is_unsettled`` is asked for the tags of others, to forget them."""
        if len(self._near) >= _ROOM:
            self.unsettled(is_unsettled)
        near = self._near[content.delivery_tag] = NearLimit(content, returns, deliveries)
        return near

    def find(self, content: Content) -> NearLimit | None:
        """What was noted of a message, if it is near the limit."""
        return self._near.get(content.delivery_tag) if self._near else None

    def is_reached(self, near: NearLimit) -> bool:
        """Whether the broker drops or dead-letters it when it is requeued once more."""
        return self.limit is not None and near.returns >= self.limit

    def unsettled(self, is_unsettled: Callable[[int], bool]) -> list[NearLimit]:
        """The messages near the limit that are not settled, in order of arrival; the others are forgotten."""
        self._near = {tag: near for tag, near in self._near.items() if is_unsettled(tag)}
        return list(self._near.values())
