"""How soon a session whose channel dies again and again gets another one, and when it gets none any more."""

import random

from jmsbridge.config import Options
from jmsbridge.core.runtime.clock import Clock

__all__ = ["ChannelDeaths"]

_LONG_LIFE = 60.0  # seconds; a channel that lived so long died for a reason of its own
_MOST = 8  # deaths in a row


class ChannelDeaths:
    """Counts the deaths in a row of one session's channels. Used on the supervisor's thread."""

    def __init__(self, clock: Clock, options: Options) -> None:
        self._clock = clock
        self._first_pause = options.reconnect_delay
        self._longest_pause = options.reconnect_delay_max
        self._last = 0.0
        self.in_a_row = 0

    def count(self) -> None:
        """A channel died, or could not be made."""
        now = self._clock.monotonic()
        if now - self._last >= _LONG_LIFE:
            self.in_a_row = 0
        self._last = now
        self.in_a_row += 1

    @property
    def are_too_many(self) -> bool:
        """Whether another channel would not live long either."""
        return self.in_a_row > _MOST

    def pause(self) -> float:
        """Seconds until the next channel may be made: none after the first death, then doubling."""
        if self.in_a_row <= 1:
            return 0.0
        longest = min(self._first_pause * 2.0 ** (self.in_a_row - 2), self._longest_pause)
        return longest * random.uniform(0.5, 1.0)
