"""Requests whose replies nobody waits for any more."""

from collections import deque
from typing import Any

from jmsbridge.message import Message

__all__ = ["GivenUp"]

_MOST = 1000


class GivenUp:
    """The last requests of a requestor that were given up; it asks one after the other."""

    __slots__ = ("_ids",)

    def __init__(self) -> None:
        self._ids: deque[str] = deque(maxlen=2 * _MOST)

    def add(self, asking: Any) -> None:
        """This request timed out, or failed: its reply may still come."""
        ids = asking.jms_message_id, asking.jms_correlation_id
        self._ids.extend(each for each in ids if each is not None)

    def has(self, reply: Message, asking: Any) -> bool:
        """Whether the reply belongs to one of them and not to this request."""
        answered = reply.jms_correlation_id
        return answered in self._ids and answered != asking.jms_correlation_id
