"""Reads the head of a message whose names are those of earlier ones by a regular expression: that is faster. Pure."""

import re
from collections.abc import Sequence
from typing import Final

__all__ = ["KnownHead", "KnownHeads"]

_MOST_NAMES: Final = 64
_MOST_HEADS: Final = 64


class KnownHead:
    """Reads heads with these names, in this order, whose lines end with LF."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(dict.fromkeys(names))
        lines = []
        for place, name in enumerate(names):
            value = ".*" if name in names[:place] else "(.*)"  # of several with one name, the first is valid
            lines.append(f"\n{re.escape(name)}:{value}")
        self._match = re.compile(f"\n*MESSAGE{''.join(lines)}").fullmatch

    def read(self, head: bytearray) -> dict[str, str] | None:
        """The headers; None if the head is another one."""
        try:
            match = self._match(head.decode())
        except UnicodeDecodeError:
            return None
        if match is None or b"\r" in head:
            return None
        return dict(zip(self._names, match.groups(), strict=True))


class KnownHeads:
    """Learns heads from messages that were read without: from the second one in a row with the same names."""

    def __init__(self) -> None:
        self.last: KnownHead | None = None
        """The last one that was learned or met again."""
        self._before: list[str] = []  # the names of the message before
        self._heads: dict[tuple[str, ...], KnownHead] = {}

    def learn(self, lines: Sequence[str]) -> None:
        """Take note of the header lines of a message."""
        names = [line.partition(":")[0] for line in lines]
        before, self._before = self._before, names
        if names != before or len(names) > _MOST_NAMES or any("\\" in name for name in names):
            return
        key = tuple(names)
        known = self._heads.get(key)
        if known is None and len(self._heads) < _MOST_HEADS:
            known = self._heads[key] = KnownHead(key)
        self.last = known or self.last
