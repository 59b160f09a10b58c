"""The order in which messages wait: by priority, then by arrival."""

from typing import Final

__all__ = ["BASES", "SEQUENCE", "key_of"]

_BITS: Final = 50
SEQUENCE: Final = (1 << _BITS) - 1
"""Mask of the part of a key that numbers the arrivals."""

BASES: Final = tuple((9 - priority) << _BITS for priority in range(10))
"""The part of a key that depends on the priority, by priority."""


def key_of(priority: int, sequence: int) -> int:
    """The sort key of a message: the smallest key is delivered first."""
    return BASES[priority] + sequence
