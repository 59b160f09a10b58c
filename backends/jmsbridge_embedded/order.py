"""In which order messages wait: higher priorities first, then as they came."""

from typing import Final

__all__ = ["BASES", "SEQUENCE", "key_of"]

_BITS: Final = 50
SEQUENCE: Final = (1 << _BITS) - 1
"""The part of a key that says when the message came."""

BASES: Final = tuple((9 - priority) << _BITS for priority in range(10))
"""The other part of the key of a message, by its priority."""


def key_of(priority: int, sequence: int) -> int:
    """The place of a message: the smallest key is delivered first."""
    return BASES[priority] + sequence
