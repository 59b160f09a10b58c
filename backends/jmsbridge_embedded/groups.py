"""Message groups: what they are called, and how many owners they have."""

from zlib import crc32

from jmsbridge.spi import Envelope

__all__ = ["GROUP", "bucket_of"]

GROUP = "JMSXGroupID"

_BUCKETS = 8192
"""Groups share this many owners, so that an endless supply of group ids does not fill the memory."""


def bucket_of(envelope: Envelope) -> int | None:
    """Which owner the message's group has; None for a message without group."""
    group = envelope.properties.get(GROUP)
    return None if group is None else crc32(str(group).encode("utf-8", "surrogatepass")) % _BUCKETS
