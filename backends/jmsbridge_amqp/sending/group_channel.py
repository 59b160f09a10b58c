"""A transacted channel for groups of sends over its own connection, which ends with the link that it belongs to."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from jmsbridge.spi import BackendError, Cancels, Channel, Envelope, Inbox, Interest, LinkEvents, NotSupported, Ticket

__all__ = ["GroupChannel", "SecondLink"]


class SecondLink(Protocol):
    """A second link to the same broker."""

    def channel(self, transacted: bool) -> Channel:
        """Open a channel."""

    def close(self) -> None:
        """Close the connection."""

    def abandon(self) -> None:
        """End the connection without asking the broker, which rolls back; any thread."""


class GroupChannel:
    """Verbs are those of its channel. ``forget`` is called once it is closed or lost."""

    def __init__(
        self,
        connect: Callable[[LinkEvents], SecondLink],
        events: LinkEvents,
        forget: "Callable[[GroupChannel], None]",
    ) -> None:
        self._events = events
        self._forget = forget
        self._is_over = False
        self._link = connect(self)
        try:
            self._channel = self._link.channel(True)
        except BaseException:
            self._is_over = True
            self._link.close()
            raise
        self.send: Callable[[Envelope, Ticket | None], None] = self._channel.send
        self.commit: Callable[[Ticket], None] = self._channel.commit
        self.rollback: Callable[[Ticket], None] = self._channel.rollback

    def subscribe(self, interest: Interest, inbox: Inbox) -> Any:
        """Not supported: it is only for sends."""
        raise NotSupported("nothing can be consumed on a channel for groups of sends")

    def cancel(self, tickets: Sequence[Ticket]) -> None:
        """Cancel sends that were not written."""
        assert isinstance(self._channel, Cancels)
        self._channel.cancel(tickets)

    def close(self) -> None:
        """Roll back, and close the connection."""
        self._is_over = True
        self._forget(self)
        self._link.close()

    def abandon(self) -> None:
        """The link that it belongs to has ended; any thread."""
        self._is_over = True
        self._link.abandon()

    # -- events of its connection

    def lost(self, error: BackendError) -> None:
        """The connection is lost: that is the loss of the channel."""
        self._forget(self)
        if not self._is_over:
            self._events.channel_lost(self, error)

    def channel_lost(self, channel: Channel, error: BackendError) -> None:
        """The broker ended its session."""
        self._events.channel_lost(self, error)

    def subscription_lost(self, subscription: Any, error: BackendError) -> None:
        """There are no subscriptions."""

    def throttled(self, active: bool) -> None:
        """AMQP 1.0 brokers grant less credit instead."""
