"""Patterns of LIKE: ``_`` is one character, ``%`` any run of them, everything else itself (section 3.8.1.1).

Matching takes at most length of text times length of pattern, whatever the pattern: between two ``%`` stands a piece of
fixed length, and its leftmost place is always the right one to take.
"""

import re
from collections.abc import Callable
from itertools import groupby
from typing import Final, TypeAlias

__all__ = ["Matcher", "compile_pattern"]

Matcher: TypeAlias = Callable[[str], bool]

_ONE: Final = object()
_RUN: Final = object()
_Place: TypeAlias = str | object


def compile_pattern(pattern: str, escape: str | None = None) -> Matcher:
    """A function that tells whether a text matches; case-sensitive, and a line end is a character like any other.

    The escape character makes the next character literal; at the very end of the pattern it stands for itself.
    """
    places = _places(pattern, escape)
    pieces = _split(places)
    if len(pieces) == 1:
        return _whole(pieces[0])
    first, *middle, last = pieces
    if middle or any(_ONE in piece for piece in pieces):
        return _floating(first, [piece for piece in middle if piece], last)
    return _edges(_plain(first), _plain(last))


def _places(pattern: str, escape: str | None) -> list[_Place]:
    places: list[_Place] = []
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            places.append(next(characters, character))
        else:
            places.append({"_": _ONE, "%": _RUN}.get(character, character))
    return places


def _split(places: list[_Place]) -> list[list[_Place]]:
    """The pieces between the runs; empty ones at the edges stay, they mean that nothing is anchored there."""
    pieces: list[list[_Place]] = [[]]
    for is_run, group in groupby(places, lambda place: place is _RUN):
        if is_run:
            pieces.append([])
        else:
            pieces[-1].extend(group)
    return pieces


def _plain(piece: list[_Place]) -> str:
    return "".join(str(place) for place in piece)


def _expression(piece: list[_Place]) -> re.Pattern[str]:
    """Without any repetition, so the engine has nothing to go back to."""
    return re.compile("".join("." if place is _ONE else re.escape(str(place)) for place in piece), re.DOTALL)


def _whole(piece: list[_Place]) -> Matcher:
    if _ONE not in piece:
        return _plain(piece).__eq__
    expression = _expression(piece)
    return lambda text: expression.fullmatch(text) is not None


def _edges(head: str, tail: str) -> Matcher:
    least = len(head) + len(tail)
    return lambda text: len(text) >= least and text.startswith(head) and text.endswith(tail)


_Finder: TypeAlias = Callable[[str, int, int], int]
"""From a text and a stretch of it to the end of the leftmost place where the piece stands, -1 for none."""


def _finder(piece: list[_Place]) -> _Finder:
    if _ONE not in piece:
        wanted = _plain(piece)

        def find(text: str, start: int, end: int) -> int:
            found = text.find(wanted, start, end)
            return found if found < 0 else found + len(wanted)

        return find
    expression = _expression(piece)

    def search(text: str, start: int, end: int) -> int:
        found = expression.search(text, start, end)
        return -1 if found is None else found.end()

    return search


def _floating(first: list[_Place], middle: list[list[_Place]], last: list[_Place]) -> Matcher:
    head, tail = _whole(first), _whole(last)
    head_length, tail_length = len(first), len(last)
    least = head_length + tail_length
    finders = [_finder(piece) for piece in middle]

    def matches(text: str) -> bool:
        end = len(text) - tail_length
        if len(text) < least or not head(text[:head_length]) or not tail(text[end:]):
            return False
        position = head_length
        for find in finders:
            position = find(text, position, end)
            if position < 0:
                return False
        return True

    return matches
