"""The channels for the groups of sends of a session: one, or several where the backend says that it is faster."""

import contextlib
import logging
from collections.abc import Callable, Collection
from typing import NamedTuple

from jmsbridge.spi import BackendError, Channel, Lanes, Link

__all__ = ["GroupChannels", "GroupLane"]

log = logging.getLogger("jmsbridge.send")


class GroupLane(NamedTuple):
    """A channel; ``topics`` says whether messages to topics may be sent over it."""

    channel: Channel
    topics: bool


class GroupChannels:
    """Each is opened when it is needed first. For the thread of the groups, but ``leave`` and ``leave_all``."""

    def __init__(self, wait_link: Callable[[], Link]) -> None:
        self.most = 1
        """So many groups can be on their way at the same time, as far as known."""
        self._wait_link = wait_link
        self._open: dict[int, Channel] = {}

    def free(self, busy: Collection[Channel]) -> GroupLane | None:
        """The next one that is not in use; BackendError or JMSException if there is none at all."""
        for number in range(self.most):
            channel = self._open.get(number)
            if channel not in busy:
                return self._lane(number) if channel is None else GroupLane(channel, not number)
        return None

    def _lane(self, number: int) -> GroupLane | None:
        try:
            self._open[number] = channel = self._new(number)
        except BackendError as error:
            if not number:
                raise
            log.info("groups of messages have only %d channels, because there is no other: %s", number, error)
            self.most = number
            return None
        return GroupLane(channel, not number)

    def _new(self, number: int) -> Channel:
        link = self._wait_link()
        if not isinstance(link, Lanes):
            self.most = 1
            return link.channel(True)
        self.most = link.lanes
        return link.lane(number)

    def leave(self, channel: Channel | None) -> None:
        """Close this one and do not use it any more: its state or its link is lost."""
        for number, one in list(self._open.items()):
            if one is channel:
                self._open.pop(number, None)
        if channel is not None:
            with contextlib.suppress(BackendError):
                channel.close()

    def leave_all(self, busy: Collection[Channel] = ()) -> None:
        """Leave all that are not in use."""
        for channel in list(self._open.values()):
            if channel not in busy:
                self.leave(channel)
