"""What was found in a project."""

from dataclasses import dataclass, field
from typing import Literal

__all__ = ["Finding", "Job", "Kind", "Problem"]

Kind = Literal["call", "class", "annotation", "injection"]
"""How a use is written."""


@dataclass(frozen=True)
class Finding:
    """One use of messaging: where it is, what it says in Java, what it is in Python, and the features it needs."""

    file: str
    line: int
    kind: Kind
    java: str
    python: str
    features: tuple[str, ...] = ()


@dataclass(frozen=True)
class Problem:
    """A file, or a part of one, that was not understood."""

    file: str
    line: int
    reason: str


@dataclass
class Job:
    """A listener, or a method that sends: what a skeleton is written for.

    ``destination`` is as the command line writes it, None where the sources do not say it. ``settings`` are arguments
    of ``App.listener``; ``takes`` has the parameters of the Java method, each with its type and, for a header, the name
    of the property; ``remarks`` are settings that the sources do not say, ``client_id`` is that of its connection.
    ``sends`` has the line of each send, where it goes, and whether it waits for a reply.
    """

    kind: Literal["listener", "sender"]
    file: str
    line: int
    owner: str
    method: str
    destination: str | None = None
    settings: dict[str, object] = field(default_factory=dict)
    takes: list[tuple[str, str, str | None]] = field(default_factory=list)
    returns: str = "void"
    remarks: list[str] = field(default_factory=list)
    client_id: str | None = None
    sends: list[tuple[int, str | None, Literal["send", "request"]]] = field(default_factory=list)
