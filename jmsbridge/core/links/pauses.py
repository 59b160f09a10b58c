"""The pauses between attempts to get a new link or channel."""

import random

from jmsbridge.config import Options

__all__ = ["pause_after"]

_DOUBLINGS = 64  # at most, since later ones would exceed a float


def pause_after(failures: int, options: Options) -> float:
    """Seconds until the next attempt after so many failures in a row: 0 after the first, then doubling, with jitter."""
    if failures <= 1:
        return 0.0
    longest = min(options.reconnect_delay * 2.0 ** min(failures - 2, _DOUBLINGS), options.reconnect_delay_max)
    return longest * random.uniform(0.5, 1.0)
