"""What a link may offer beyond messaging: looking at destinations and tidying them.

Optional: the command line and tests ask ``isinstance(link, Admin)``. All verbs block and raise ``BackendError``.
"""

from typing import Protocol, runtime_checkable

import msgspec

from jmsbridge.spi.envelope import Address

__all__ = ["Admin", "DestinationInfo"]


class DestinationInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A queue, a topic, or a durable or shared subscription of a topic.

    ``depth`` counts the messages in it, delayed and delivered but unsettled ones included; 0 for a topic, which holds
    none itself. ``oldest`` is the JMSTimestamp of the oldest one, in milliseconds since the epoch. ``subscription``
    is the name of a subscription, ``client_id`` its client id.
    """

    address: Address
    depth: int
    consumers: int
    oldest: int | None = None
    subscription: str | None = None
    client_id: str | None = None


@runtime_checkable
class Admin(Protocol):
    """Administration of the broker behind a link."""

    dead_letters: Address | None
    """Where rejected messages go; None where the broker has no such queue."""

    def list_destinations(self) -> list[DestinationInfo]:
        """All queues, topics and subscriptions, temporary ones included, sorted by name."""

    def depth(self, address: Address) -> int:
        """How many messages a queue holds, as far as the broker says; 0 where there is no such queue."""

    def create(self, address: Address) -> None:
        """Make a queue or topic; no error when it exists."""

    def remove(self, address: Address) -> None:
        """Remove a queue or topic with its messages; ``AddressInUse`` while it has consumers."""

    def purge(self, address: Address, selector: str | None = None) -> int:
        """Delete the messages of a queue that match and that nobody holds; how many it were."""

    def move(self, source: Address, target: Address, selector: str | None = None, limit: int | None = None) -> int:
        """Move matching messages that nobody holds to another queue, in order, each in one step; how many it were."""
