"""Reads the head of a message with the same names as those before it by one regular expression, which is faster. Pure."""

import re
from collections.abc import Sequence
from typing import Final

__all__ = ["KnownHead", "KnownHeads"]

_MOST_NAMES: Final = 64
_MOST_HEADS: Final = 64


class KnownHead:
    """Reads heads with these names, in this order, whose lines end with LF, and whose only escape is that of ``:``."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(dict.fromkeys(names))
        lines = []
        for place, name in enumerate(names):
            value = b".*" if name in names[:place] else b"(.*)"  # of several with one name, the first is valid
            lines.append(b"%b:%b\n" % (re.escape(name.encode()), value))
        self._match = re.compile(b"\n*MESSAGE\n%b\n" % b"".join(lines)).match

    def read(self, data: bytearray, start: int) -> tuple[dict[str, str], int] | None:
        """The headers, and where the body begins; None if the head is another one, or not complete."""
        match = self._match(data, start)
        if match is None:
            return None
        try:
            values = b"\n".join(match.groups()).decode().replace("\\c", ":")
        except UnicodeDecodeError:
            return None
        if "\\" in values or "\r" in values:
            return None
        return dict(zip(self._names, values.split("\n"), strict=True)), match.end()


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
