"""Who owns which message group of one queue."""

from typing import TYPE_CHECKING
from zlib import crc32

from jmsbridge.spi import Envelope

if TYPE_CHECKING:
    from jmsbridge_embedded.consumer import Consumer

__all__ = ["GROUP", "Groups", "bucket_of"]

GROUP = "JMSXGroupID"

_BUCKETS = 8192
"""Groups share this many owners, so that an endless supply of group ids does not fill the memory."""


def bucket_of(envelope: Envelope) -> int | None:
    """Which owner the message's group has; None for a message without group."""
    group = envelope.properties.get(GROUP)
    return None if group is None else crc32(str(group).encode("utf-8", "surrogatepass")) % _BUCKETS


class Groups:
    """The consumer that got the first message of a group gets the others while it lives."""

    __slots__ = ("_owners",)

    def __init__(self) -> None:
        self._owners: dict[int, Consumer] = {}

    def owner(self, envelope: Envelope, asking: "Consumer") -> "Consumer":
        """Who is to get this message: its group's owner, or else the one who asks, who becomes the owner.

        A message that the owner's selector does not match goes to the one who asks.
        """
        bucket = bucket_of(envelope)
        if bucket is None:
            return asking
        owner = self._owners.setdefault(bucket, asking)
        return owner if owner.view.matches(envelope) else asking

    def free(self, consumer: "Consumer") -> None:
        """The consumer is gone."""
        if self._owners:
            self._owners = {bucket: owner for bucket, owner in self._owners.items() if owner is not consumer}
