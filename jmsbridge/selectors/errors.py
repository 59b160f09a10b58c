"""What is wrong with a selector, and where."""

__all__ = ["Misfit", "SelectorError"]

_SHOWN = 40


class SelectorError(ValueError):
    """The text is not a selector of section 3.8.

    ``position`` counts characters from 0 and ``piece`` is the offending part of the text, empty if the text ends too
    early. The public API turns it into InvalidSelector.
    """

    def __init__(self, reason: str, position: int = 0, piece: str = "") -> None:
        super().__init__(reason, position, piece)
        self.reason = reason
        self.position = position
        self.piece = piece

    def __str__(self) -> str:
        if not self.piece:
            return f"invalid selector: {self.reason} at position {self.position}"
        shown = self.piece if len(self.piece) <= _SHOWN else self.piece[:_SHOWN] + "…"
        return f"invalid selector: {self.reason} at position {self.position}: {shown!r}"


class Misfit(Exception):
    """Raised where the text is not at hand; becomes a SelectorError about ``text[start:end]``."""

    def __init__(self, reason: str, start: int, end: int) -> None:
        super().__init__(reason, start, end)
        self.reason = reason
        self.start = start
        self.end = end
