"""The log of a process, a line for each step, in a file that survives the process."""

import enum
import os
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

__all__ = ["MARKED", "Entry", "Ledger", "Reader", "Step"]

MARKED = "redelivered"
"""The detail of a message that was marked as redelivered."""


class Step(enum.StrEnum):
    """What happened to a message in this process."""

    SENT = "sent"
    """The message is about to be passed to jmsbridge."""
    CONFIRMED = "confirmed"
    """The broker has the message."""
    REFUSED = "refused"
    """The broker certainly does not have it."""
    UNKNOWN = "unknown"
    """The outcome is unknown."""
    GOT = "got"
    """The application received it."""
    DONE = "done"
    """The application has processed it, and its acknowledgement succeeded."""
    MAYBE = "maybe"
    """Its acknowledgement is in doubt, as jmsbridge has reported."""
    HOLDS = "holds"
    """The process is connected; at most ``number`` messages can be unacknowledged, or unanswered, at a time."""
    CLOSED = "closed"
    """Its connection was closed normally; later disturbances do not explain redeliveries."""


class Entry(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One line. ``key`` is producer and message, ``number`` counts the producer's calls of ``send`` from 0."""

    at: float
    step: Step
    key: str = ""
    number: int = 0
    detail: str = ""


class Ledger:
    """Writes the log of one process, or of those that do one's work. Thread-safe; a line is passed to the operating
    system before ``write`` returns.
    """

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._encoder = msgspec.json.Encoder()

    def write(self, step: Step, key: str = "", number: int = 0, detail: str = "") -> None:
        """Log a step with the time of the machine's clock, which all processes share."""
        entry = Entry(time.monotonic(), step, key, number, detail)
        os.write(self._file, self._encoder.encode(entry) + b"\n")


class Reader:
    """Reads a ledger while it grows."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = 0
        self._decoder = msgspec.json.Decoder(Entry)

    def more(self) -> Iterator[Entry]:
        """The entries since the last call."""
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            file.seek(self._at)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                self._at += len(line)
                yield self._decoder.decode(line)
