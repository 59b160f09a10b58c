"""The clock for times in envelopes."""

import time

from jmsbridge.spi import Envelope

__all__ = ["is_expired", "now_ms"]


def now_ms() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def is_expired(envelope: Envelope) -> bool:
    """Whether the message has expired, by this machine's clock."""
    return envelope.expiration != 0 and envelope.expiration <= now_ms()
