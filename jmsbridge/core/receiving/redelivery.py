"""How often and how soon a message that failed is delivered again."""

import msgspec

__all__ = ["Redelivery"]

_NO_DEAD_LETTERS = 30.0  # seconds between further redeliveries where the broker has no dead-letter queue


class Redelivery(msgspec.Struct, frozen=True):
    """After ``first_delay`` seconds, then after ``delay``, each time ``factor`` times longer up to ``delay_max``; after
    ``maximum`` redeliveries (negative: without limit) to the dead-letter queue.
    """

    maximum: int
    delay: float
    delay_max: float
    first_delay: float = 0.0
    factor: float = 2.0

    def delay_before(self, count: int) -> float:
        """Seconds to wait before delivery number ``count``."""
        if self.is_exhausted(count):
            return _NO_DEAD_LETTERS
        if count <= 2:
            return self.first_delay
        try:
            return min(self.delay_max, self.delay * self.factor ** (count - 3))
        except OverflowError:
            return self.delay_max

    def is_exhausted(self, count: int) -> bool:
        """Whether delivery number ``count`` is one too many."""
        return 0 <= self.maximum < count - 1
