"""What a delivered message is known by."""

import msgspec

from jmsbridge.spi import Envelope

__all__ = ["Token"]


class Token(msgspec.Struct, frozen=True, gc=False, eq=False):
    """One claimed message: its row, its place, its deliveries that are over, those that failed, and what it says."""

    id: int
    rank: int
    count: int
    failures: int
    envelope: Envelope
