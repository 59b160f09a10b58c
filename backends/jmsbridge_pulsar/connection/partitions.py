"""Partitions by their names: the third one of the topic ``x`` is the topic ``x-partition-2``."""

from typing import Final

__all__ = ["MARK", "number_of_partition", "whole_of"]

MARK: Final = "-partition-"
"""What is between the name of the whole topic and the number."""


def number_of_partition(topic: str) -> int:
    """Its number, from 0; -1 if the topic is not a partition."""
    _, mark, number = topic.rpartition(MARK)
    return int(number) if mark and number.isdecimal() else -1


def whole_of(topic: str) -> str:
    """The topic that this one is a partition of, or itself: no other topic of ours has such a name."""
    return topic if number_of_partition(topic) < 0 else topic.rpartition(MARK)[0]
