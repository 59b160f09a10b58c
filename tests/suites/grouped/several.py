"""A backend whose links have several channels for groups of sends, each on a link of its own to the broker below."""

import contextlib
from collections.abc import Callable
from typing import Any

from jmsbridge.spi import Backend, BackendError, Channel, Endpoint, Link, LinkEvents

__all__ = ["SeveralBackend"]

_CHANNELS = 3


class SeveralBackend:
    """The SPI's Backend."""

    def __init__(self, name: str, inner: Backend) -> None:
        self.name = name
        self.native = inner.native
        self.spi_version = inner.spi_version
        self.options = inner.options
        self.inner = inner

    def open(self, endpoint: Endpoint, options: Any, events: LinkEvents) -> Link:
        """A link of the backend below, which opens further ones."""
        made: Any = self.inner.open(endpoint, options, events)
        return _Link(made, lambda told: self.inner.open(endpoint, options, told), events)


class _Link:
    """Everything but the channels for groups is the inner link's."""

    group_channels = _CHANNELS

    def __init__(self, inner: Any, connect: Callable[[LinkEvents], Link], events: LinkEvents) -> None:
        self.inner = inner
        self._connect = connect
        self._events = events
        self._links: list[Link] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def group_channel(self, number: int) -> Channel:
        """Number 0 is on the link itself."""
        if not number:
            made: Channel = self.inner.channel(True)
            return made
        link = self._connect(_Events(self._events))
        self._links.append(link)
        return link.channel(True)

    def close(self) -> None:
        """With the links of these channels."""
        for link in self._links:
            with contextlib.suppress(BackendError):
                link.close()
        self.inner.close()


class _Events:
    """What happens to the link of such a channel."""

    def __init__(self, events: LinkEvents) -> None:
        self._events = events

    def lost(self, error: BackendError) -> None:
        """Its sends are answered, which is all that the facade needs."""

    def channel_lost(self, channel: Channel, error: BackendError) -> None:
        """As above."""

    def subscription_lost(self, subscription: Any, error: BackendError) -> None:
        """It has none."""

    def throttled(self, active: bool) -> None:
        """It is the same broker."""
        self._events.throttled(active)
