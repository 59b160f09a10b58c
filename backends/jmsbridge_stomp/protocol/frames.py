"""Encodes frames. Pure.

A name or value can never end its line or its frame: what a version of the protocol cannot escape is ``Unencodable``.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

__all__ = [
    "BEAT",
    "MOST_HEADERS",
    "MOST_LINE",
    "V10",
    "V11",
    "V12",
    "Frame",
    "Unencodable",
    "Version",
    "encode",
    "header",
]

BEAT: Final = b"\n"
"""A heart-beat."""

MOST_LINE: Final = 10_000
"""Bytes of a header line. ActiveMQ closes the connection for lines of more than 10 KiB."""
MOST_HEADERS: Final = 900
"""Headers of a frame. ActiveMQ closes the connection for more than 1000."""

_UNESCAPED_FRAMES: Final = frozenset({"CONNECT", "STOMP", "CONNECTED"})  # these are written as in STOMP 1.0


class Unencodable(ValueError):
    """A header that this version of the protocol, or its brokers, cannot carry."""


class Frame(msgspec.Struct, frozen=True, gc=False):
    """A frame that arrived. ``headers`` keeps their order; of several with one name, the first is valid."""

    command: str
    headers: dict[str, str]
    body: bytes = b""


class Version(msgspec.Struct, frozen=True):
    """One version of the protocol: which characters of headers it escapes."""

    name: str
    escapes: dict[str, str]


V10: Final = Version("1.0", {})
V11: Final = Version("1.1", {"\\": "\\\\", "\n": "\\n", ":": "\\c"})
V12: Final = Version("1.2", {"\\": "\\\\", "\n": "\\n", ":": "\\c", "\r": "\\r"})


def header(name: str, value: str, version: Version = V12) -> bytes:
    """One header line; Unencodable if it cannot be written as one, or is longer than brokers accept."""
    if not name:
        raise Unencodable("a header without a name")
    line = f"{_escaped(name, version, is_name=True)}:{_escaped(value, version)}\n"
    try:
        data = line.encode()
    except UnicodeEncodeError as error:
        raise Unencodable(f"the header {name[:40]!r} has an unpaired surrogate") from error
    if len(data) > MOST_LINE:
        raise Unencodable(f"the header {name[:40]!r} has {len(data):,} bytes; brokers accept {MOST_LINE:,}")
    return data


def _escaped(text: str, version: Version, *, is_name: bool = False) -> str:
    if "\\" in text or ":" in text or "\n" in text or "\r" in text:
        for character, escape in version.escapes.items():  # the backslash comes first
            text = text.replace(character, escape)
    if "\n" in text or "\r" in text or "\0" in text or (is_name and ":" in text):
        shown = repr(text[:40]) if is_name else "this text"  # which may be a password
        raise Unencodable(f"STOMP {version.name} has no escape for a character of {shown} in a header")
    return text


def encode(command: str, headers: Iterable[tuple[str, str]], body: bytes = b"", version: Version = V12) -> bytes:
    """The bytes of a frame. A body that contains NUL needs a header ``content-length``."""
    if command in _UNESCAPED_FRAMES:
        version = V10
    lines = [header(name, value, version) for name, value in headers]
    if len(lines) > MOST_HEADERS:
        raise Unencodable(f"a frame with {len(lines)} headers; brokers accept {MOST_HEADERS}")
    return b"".join((command.encode(), b"\n", *lines, b"\n", body, b"\0"))
