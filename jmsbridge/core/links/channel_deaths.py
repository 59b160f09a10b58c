"""When a session whose channel is lost repeatedly gets another one, and when it is given up."""

from jmsbridge.config import Options
from jmsbridge.core.links.pauses import pause_after
from jmsbridge.core.runtime.clock import Clock

__all__ = ["ChannelDeaths"]

_LONG_LIFE = 60.0  # seconds; after a channel lived so long, the count starts again
_MOST = 8  # losses in a row


class ChannelDeaths:
    """Counts how often in a row the channel of one session was lost. Used on the supervisor's thread."""

    def __init__(self, clock: Clock, options: Options) -> None:
        self._clock = clock
        self._options = options
        self._last = 0.0
        self.in_a_row = 0

    def count(self) -> None:
        """A channel was lost, or could not be opened."""
        now = self._clock.monotonic()
        if now - self._last >= _LONG_LIFE:
            self.in_a_row = 0
        self._last = now
        self.in_a_row += 1

    @property
    def are_too_many(self) -> bool:
        """Whether to give the session up, because another channel would soon be lost, too."""
        return self.in_a_row > _MOST

    def pause(self) -> float:
        """Seconds until the next channel may be opened: 0 after the first loss, then doubling."""
        return pause_after(self.in_a_row, self._options)
