"""Message groups: their property, and how they are mapped to consumers."""

from zlib import crc32

from jmsbridge.spi import Envelope

__all__ = ["GROUP", "bucket_of"]

GROUP = "JMSXGroupID"

_BUCKETS = 8192
"""Group ids are hashed into this many buckets, each with one owner, so that memory stays bounded."""


def bucket_of(envelope: Envelope) -> int | None:
    """The bucket of the message's group; None for a message without a group."""
    group = envelope.properties.get(GROUP)
    return None if group is None else crc32(str(group).encode("utf-8", "surrogatepass")) % _BUCKETS
