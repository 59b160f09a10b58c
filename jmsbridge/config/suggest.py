"""Error texts that name the nearest valid name."""

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["nearest"]


def nearest(name: str, known: Iterable[str], what: str) -> str:
    """The hint after "unknown …": the nearest valid name, or all of them if none is near."""
    names = sorted(set(known))
    folded = {each.lower(): each for each in names}
    close = get_close_matches(name.lower(), folded, n=1, cutoff=0.6)
    if close:
        return f"did you mean {folded[close[0]]!r}?"
    if not names:
        return f"there are no {what}"
    return f"known {what}: {', '.join(names)}"
