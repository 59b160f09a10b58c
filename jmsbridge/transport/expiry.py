"""The time as envelopes have it."""

import time

from jmsbridge.spi import Envelope

__all__ = ["is_expired", "now_ms"]


def now_ms() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def is_expired(envelope: Envelope) -> bool:
    """Whether its time is over, by this machine's clock."""
    return envelope.expiration != 0 and envelope.expiration <= now_ms()
