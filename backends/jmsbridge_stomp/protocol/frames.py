"""Encodes frames of STOMP 1.2. Pure.

A name or value can never end its line or its frame: what the protocol cannot escape is ``Unencodable``.
"""

import re
from collections.abc import Iterable
from typing import Final

import msgspec

__all__ = ["BEAT", "MOST_HEADERS", "MOST_LINE", "Frame", "Unencodable", "encode", "header", "unescaped"]

BEAT: Final = b"\n"
"""A heart-beat."""

MOST_LINE: Final = 10_000
"""Bytes of a header line. ActiveMQ closes the connection for lines of more than 10 KiB."""
MOST_HEADERS: Final = 900
"""Headers of a frame. ActiveMQ closes the connection for more than 1000."""

_ESCAPES: Final = {"\\": "\\\\", "\n": "\\n", ":": "\\c", "\r": "\\r"}
"""How characters are written in headers; the backslash comes first."""
_ESCAPE: Final = re.compile(r"\\(.?)", re.DOTALL)
_CHARACTERS: Final = {escape[1]: character for character, escape in _ESCAPES.items()}
_UNESCAPED: Final = frozenset({"CONNECT", "CONNECTED"})  # frames whose headers have no escapes


class Unencodable(ValueError):
    """A header that the protocol, or its brokers, cannot carry."""


class Frame(msgspec.Struct, frozen=True, gc=False):
    """A frame that arrived. ``headers`` keeps their order; of several with one name, the first is valid.

    The values of a MESSAGE still have their escapes, since most are not looked at: see ``unescaped``.
    """

    command: str
    headers: dict[str, str]
    body: bytes = b""


def unescaped(text: str) -> str:
    """What a name or value of a MESSAGE is; undefined escapes stay, because Classic does not escape all names."""
    if "\\" not in text:
        return text
    plain = text.replace("\\c", ":")
    if "\\" not in plain:
        return plain
    return _ESCAPE.sub(lambda match: _CHARACTERS.get(match[1], match[0]), text)


def header(name: str, value: str, *, escapes: bool = True) -> bytes:
    """One header line; Unencodable if it cannot be written as one, or is longer than brokers accept."""
    if not name:
        raise Unencodable("a header without a name")
    line = f"{_written(name, escapes, is_name=True)}:{_written(value, escapes)}\n"
    try:
        data = line.encode()
    except UnicodeEncodeError as error:
        raise Unencodable(f"the header {name[:40]!r} has an unpaired surrogate") from error
    if len(data) > MOST_LINE:
        raise Unencodable(f"the header {name[:40]!r} has {len(data):,} bytes; brokers accept {MOST_LINE:,}")
    return data


def _written(text: str, escapes: bool, *, is_name: bool = False) -> str:
    if escapes and ("\\" in text or ":" in text or "\n" in text or "\r" in text):
        for character, escape in _ESCAPES.items():
            text = text.replace(character, escape)
    if "\n" in text or "\r" in text or "\0" in text or (is_name and ":" in text):
        shown = repr(text[:40]) if is_name else "this text"  # which may be a password
        raise Unencodable(f"STOMP has no escape for a character of {shown} in a header")
    return text


def encode(command: str, headers: Iterable[tuple[str, str]], body: bytes = b"") -> bytes:
    """The bytes of a frame. A body that contains NUL needs a header ``content-length``."""
    escapes = command not in _UNESCAPED
    lines = [header(name, value, escapes=escapes) for name, value in headers]
    if len(lines) > MOST_HEADERS:
        raise Unencodable(f"a frame with {len(lines)} headers; brokers accept {MOST_HEADERS}")
    return b"".join((command.encode(), b"\n", *lines, b"\n", body, b"\0"))
