"""Who owns which message group of one queue."""

from typing import TYPE_CHECKING

from jmsbridge.spi import Envelope
from jmsbridge_embedded.groups import bucket_of

if TYPE_CHECKING:
    from jmsbridge_embedded.memory.consumer import Consumer

__all__ = ["Groups"]


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
