"""Patterns of LIKE: ``_`` is one character, ``%`` any run of them, everything else itself (section 3.8.1.1).

Matching takes time at most proportional to the length of the text times that of the pattern: the pieces between two
``%`` have a fixed length, so that taking the leftmost match of each is always right.
"""

import re
from collections.abc import Callable
from itertools import groupby
from typing import Final, TypeAlias

__all__ = ["Matcher", "compile_pattern"]

Matcher: TypeAlias = Callable[[str], bool]

_ONE: Final = object()
_RUN: Final = object()
_Element: TypeAlias = str | object


def compile_pattern(pattern: str, escape: str | None = None) -> Matcher:
    """A function that tells whether a text matches; case-sensitive, and a line end is an ordinary character.

    The escape character makes the next character literal; at the end of the pattern it stands for itself.
    """
    elements = _elements(pattern, escape)
    pieces = _split(elements)
    if len(pieces) == 1:
        return _whole(pieces[0])
    first, *middle, last = pieces
    if middle or any(_ONE in piece for piece in pieces):
        return _floating(first, [piece for piece in middle if piece], last)
    return _edges(_plain(first), _plain(last))


def _elements(pattern: str, escape: str | None) -> list[_Element]:
    elements: list[_Element] = []
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            elements.append(next(characters, character))
        else:
            elements.append({"_": _ONE, "%": _RUN}.get(character, character))
    return elements


def _split(elements: list[_Element]) -> list[list[_Element]]:
    """The pieces between the runs; an empty first or last piece means that this end is not anchored."""
    pieces: list[list[_Element]] = [[]]
    for is_run, group in groupby(elements, lambda element: element is _RUN):
        if is_run:
            pieces.append([])
        else:
            pieces[-1].extend(group)
    return pieces


def _plain(piece: list[_Element]) -> str:
    return "".join(str(element) for element in piece)


def _expression(piece: list[_Element]) -> re.Pattern[str]:
    """A regular expression without repetition, so that it never backtracks."""
    return re.compile("".join("." if element is _ONE else re.escape(str(element)) for element in piece), re.DOTALL)


def _whole(piece: list[_Element]) -> Matcher:
    if _ONE not in piece:
        return _plain(piece).__eq__
    expression = _expression(piece)
    return lambda text: expression.fullmatch(text) is not None


def _edges(head: str, tail: str) -> Matcher:
    least = len(head) + len(tail)
    return lambda text: len(text) >= least and text.startswith(head) and text.endswith(tail)


_Finder: TypeAlias = Callable[[str, int, int], int]
"""Takes a text, start and end; returns the end of the leftmost match of the piece, or -1."""


def _finder(piece: list[_Element]) -> _Finder:
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


def _floating(first: list[_Element], middle: list[list[_Element]], last: list[_Element]) -> Matcher:
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
