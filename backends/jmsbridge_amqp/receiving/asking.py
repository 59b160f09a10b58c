"""Asks over a connection of its own whether the broker takes the consumer of a shared subscription.

Artemis ends the whole connection of a consumer that wants to share a non-durable subscription with another topic or
selector than the subscription has. Only subscriptions without client id can clash with those of other connections.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from jmsbridge.spi import Arrival, BackendError, Channel, Interest, LinkLost, SubscriptionRefused
from jmsbridge.transport.network.diagnosis import CLOSE_FIRST

__all__ = ["NoEvents", "OtherLink", "asked_apart"]

_CLASHES = ("AMQ229082", "AMQ229083")  # Artemis' codes: another topic, another selector


class OtherLink(Protocol):
    """A second link to the same broker."""

    def channel(self, transacted: bool) -> Channel:
        """Open a channel."""

    def close(self) -> None:
        """Close the connection."""


class NoEvents:
    """Ignores the events of a link that lives only as long as its question: the verb in progress fails, too."""

    def lost(self, *_: Any, **__: Any) -> None:
        """Ignore it, like the others."""

    channel_lost = subscription_lost = throttled = lost


class _NoInbox:
    """The inbox of a consumer without credit."""

    def put(self, arrival: Arrival) -> None:
        """Nothing arrives."""

    def put_again(self, arrival: Arrival) -> None:
        """Nothing arrives."""


@contextmanager
def asked_apart(interest: Interest, connect: Callable[[], OtherLink]) -> Iterator[None]:
    """Consume over another link first, without credit, and keep that consumer until the end of the block.

    ``SubscriptionRefused`` if the broker has the subscription with another topic or selector.
    """
    link = connect()
    try:
        try:
            link.channel(False).subscribe(interest, _NoInbox())
        except LinkLost as lost:
            if not any(code in str(lost) for code in _CLASHES):
                raise BackendError(f"the broker could not be asked for {interest.key!r}: {lost}") from lost
            raise SubscriptionRefused(
                f"subscription {interest.key!r} has a consumer with another topic or selector ({lost}); {CLOSE_FIRST}"
            ) from lost
        yield
    finally:
        link.close()
