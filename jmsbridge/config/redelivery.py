"""Redelivery of messages that fail: when, how often, and where they go afterwards."""

import msgspec

from jmsbridge.config.kinds import Factor, Limit, LongestPause, Seconds

__all__ = ["RedeliveryPolicy"]


class RedeliveryPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """How messages of a destination are delivered again after a failure; durations are seconds.

    The first redelivery waits ``first_delay``, the second ``delay``, each further one ``factor`` times as long as the
    previous one, at most ``delay_max``.
    """

    first_delay: Seconds = 0.0
    """The pause before the first redelivery; 0: at once."""
    delay: Seconds = 0.1
    """The pause before the second redelivery."""
    factor: Factor = 2.0
    """The factor by which each further pause is longer; 1: constant."""
    delay_max: LongestPause = 5.0
    """The longest pause, except the first."""
    max_redeliveries: Limit = 6
    """How often a message is delivered again before it goes to the dead-letter queue; -1: unlimited."""
    dead_letter_queue: str | None = None
    """The queue for messages that were redelivered too often; None: the broker's own."""
    expiry_queue: str | None = None
    """The queue for messages whose time to live is over; None: they are dropped."""

    def delay_after(self, failures: int) -> float:
        """Seconds to wait after this many failed deliveries."""
        if failures <= 0:
            return 0.0
        if failures == 1:
            return self.first_delay
        try:
            pause = self.delay * float(self.factor) ** (failures - 2)
        except OverflowError:
            pause = self.delay_max if self.delay else 0.0
        return min(pause, self.delay_max)

    def is_exhausted(self, failures: int) -> bool:
        """Whether this many failed deliveries allow no further one."""
        return 0 <= self.max_redeliveries < failures
