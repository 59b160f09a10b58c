"""Optional for a link: list, create, remove and empty destinations.

The command line and tests ask ``isinstance(link, Admin)``. All verbs block and raise ``BackendError``.
"""

from typing import Protocol, runtime_checkable

import msgspec

from jmsbridge.spi.envelope import Address

__all__ = ["Admin", "DestinationInfo"]


class DestinationInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A queue, a topic, or a durable or shared subscription of a topic.

    ``depth`` counts the messages in it, including delayed ones and those that are delivered but unsettled; a topic has
    none itself, so 0. ``oldest`` is the JMSTimestamp of the oldest one, in milliseconds since the epoch.
    ``subscription`` is the name of a subscription, ``client_id`` its client id.
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
        """How many messages a queue holds, as far as the broker says; 0 if the queue does not exist."""

    def create(self, address: Address) -> None:
        """Create a queue or topic; does nothing when it exists."""

    def remove(self, address: Address) -> None:
        """Remove a queue or topic with its messages; ``AddressInUse`` while it has consumers."""

    def purge(self, address: Address, selector: str | None = None) -> int:
        """Delete the matching messages of a queue, except those delivered to a consumer; returns their number."""

    def move(self, source: Address, target: Address, selector: str | None = None, limit: int | None = None) -> int:
        """Move matching messages to another queue, in order, each atomically; returns their number.

        Messages that are delivered to a consumer stay where they are.
        """
