"""Messages that were requeued to a quorum queue nearly as often as its delivery limit allows. Pure.

From half of the limit on, such a message is replaced by a confirmed copy at the tail of its queue, for which the broker
counts from 0. The other half of the limit is for requeues that the client cannot prevent: when a process is killed or a
connection breaks.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

from jmsbridge_rabbitmq.protocol.frames import Content

__all__ = ["DeliveryLimit", "NearLimit"]

_ROOM = 64


class NearLimit(NamedTuple):
    """A message near the limit."""

    content: Content
    returns: int
    """How often it was requeued, as the broker counts."""
    deliveries: int
    """How often it was delivered, including this time."""


class DeliveryLimit:
    """The limit of one queue, and the unsettled messages of one consumer that are near it.

    ``limit`` is how often the broker lets a message be requeued; None: without limit.
    """

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self.near_from = math.inf if limit is None else (limit + 1) // 2
        """The number of requeues from which a message is near the limit."""
        self._near: dict[int, NearLimit] = {}

    def arrived(
        self, content: Content, returns: int, deliveries: int, is_unsettled: Callable[[int], bool]
    ) -> NearLimit:
        """Note a message near the limit; ``is_unsettled`` says for a tag whether its note is still needed."""
        if len(self._near) >= _ROOM:
            self.unsettled(is_unsettled)
        near = self._near[content.delivery_tag] = NearLimit(content, returns, deliveries)
        return near

    def find(self, content: Content) -> NearLimit | None:
        """The note of a message, if it is near the limit."""
        return self._near.get(content.delivery_tag) if self._near else None

    def is_reached(self, near: NearLimit) -> bool:
        """Whether the broker would drop or dead-letter it at the next requeue."""
        return self.limit is not None and near.returns >= self.limit

    def unsettled(self, is_unsettled: Callable[[int], bool]) -> list[NearLimit]:
        """The unsettled messages near the limit, in order of arrival; the notes of others are dropped."""
        self._near = {tag: near for tag, near in self._near.items() if is_unsettled(tag)}
        return list(self._near.values())
