"""The channels for the groups of sends of a session: one, or several where the backend says that it is faster."""

import contextlib
import logging
from collections.abc import Callable, Collection
from typing import NamedTuple

from jmsbridge.spi import BackendError, Channel, GroupChannels, Link

__all__ = ["FreeChannel", "OpenChannels"]

log = logging.getLogger("jmsbridge.send")


class FreeChannel(NamedTuple):
    """A channel; ``topics`` says whether messages to topics may be sent over it."""

    channel: Channel
    topics: bool


class OpenChannels:
    """Each is opened when it is needed first. For the thread of the groups, but ``leave`` and ``leave_all``."""

    def __init__(self, wait_link: Callable[[], Link]) -> None:
        self.most = 1
        """So many groups can be on their way at the same time, as far as known."""
        self._wait_link = wait_link
        self._open: dict[int, Channel] = {}

    def free(self, busy: Collection[Channel]) -> FreeChannel | None:
        """The next one that is not in use; BackendError or JMSException if there is none at all."""
        for number in range(self.most):
            channel = self._open.get(number)
            if channel not in busy:
                return self._opened(number) if channel is None else FreeChannel(channel, not number)
        return None

    def _opened(self, number: int) -> FreeChannel | None:
        try:
            self._open[number] = channel = self._new(number)
        except BackendError as error:
            if not number:
                raise
            log.info("groups of messages have only %d channels, because there is no other: %s", number, error)
            self.most = number
            return None
        return FreeChannel(channel, not number)

    def _new(self, number: int) -> Channel:
        link = self._wait_link()
        if not isinstance(link, GroupChannels):
            self.most = 1
            return link.channel(True)
        self.most = link.group_channels
        return link.group_channel(number)

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
