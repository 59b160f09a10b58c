"""The law of places: no file names a machine's folders, a package registry, or an address outside this machine."""

import re
from collections.abc import Iterator

from tools.laws.source import Source, Violation

__all__ = ["check"]

# Written with [x] so that this file does not violate the law itself.
_FORBIDDEN = {
    "a folder of one machine": re.compile(r"(?<![\w.])/(?:wor[k]|tm[p]|hom[e]|roo[t]|User[s])/\w"),
    "a package registry": re.compile(
        r"\b(?:pypi[.]org|pythonhosted[.]org|crates[.]io|npmjs[.]\w+|repo\d?[.]maven|proxy[.]golang[.]org)"
    ),
    "an address outside this machine": re.compile(
        r"(?<![\d.])(?!127[.]|0[.]0[.]0[.]0|255[.])(?:10|172|192|[1-9]\d{1,2})(?:[.]\d{1,3}){3}(?![\d.])"
    ),
}


def check(source: Source) -> Iterator[Violation]:
    """No file depends on one machine."""
    if source.path.name == "LICENSE":
        return
    for number, line in enumerate(source.lines, 1):
        for what, pattern in _FORBIDDEN.items():
            match = pattern.search(line)
            if match:
                yield source.broken(number, f"{match[0]!r} is {what}")
