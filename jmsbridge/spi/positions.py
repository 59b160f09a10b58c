"""Optional for a link: read a destination from one position to another, for brokers that keep messages in a log.

The facade asks ``isinstance(link, Positions)``. All verbs block, may be called from any thread, and raise
``BackendError``: ``AddressRefused`` for a destination or lane that the broker does not know.

**Lanes.** A destination has one or more lanes (partitions), each with an order of its own. Their names stay; a
destination may get more of them.

**Positions.** A position is a text that stands for the place behind a message of a lane, or before its first one. It
has a meaning only for the lane that it is of, but there it keeps it: on other links, in other processes, after a
restart of the broker. New messages come behind every position that the lane has had.

**Ranges.** From ``start`` to ``end`` are the messages that are behind ``start`` and not behind ``end``. Reading a range
takes no message from anybody, needs no subscription, and shows the same messages in the same order each time: delayed,
expired and consumed ones, too. If the broker may have removed some of them since, that is ``PositionLost``, never a
shorter result. Where the broker cannot tell whether a message has been removed it is also ``PositionLost``.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from jmsbridge.spi.envelope import Address, Envelope

__all__ = ["Positioned", "Positions", "Reading", "Skipped"]


class Positioned(NamedTuple):
    """A message, and the position behind it."""

    envelope: Envelope
    after: str


class Skipped(NamedTuple):
    """The position behind some messages, and how many these are."""

    after: str
    messages: int


class Reading(Protocol):
    """A range that is being read, by one thread at a time."""

    def take(self) -> Sequence[Positioned]:
        """The next messages of the range (blocks); none once its end is reached."""

    def close(self) -> None:
        """Stop (blocks); idempotent, from any thread, also when the link is lost. A ``take`` under way fails."""


@runtime_checkable
class Positions(Protocol):
    """Access by position to what is behind a link."""

    def lanes(self, address: Address) -> list[str]:
        """The names of a destination's lanes; one that is not divided has one. The list only grows, at its end."""

    def first(self, address: Address, lane: str) -> str:
        """The position before the first message that the broker still has.

        For a lane without messages it is ``last``: before all messages to come. What comes and is removed again before
        it was read is not noticed.
        """

    def last(self, address: Address, lane: str) -> str:
        """The position behind the last message that the broker has now, every confirmed send included.

        It goes back only if all messages of the lane have been removed.
        """

    def compare(self, one: str, other: str) -> int:
        """Negative, 0 or positive, as the first of two positions of a lane is before, at or behind the second one.

        Does not ask the broker; BackendError for a text that is not a position.
        """

    def skip(self, address: Address, lane: str, start: str, most: int, end: str | None = None) -> Skipped:
        """The position behind the next ``most`` messages after ``start``, or behind all of them if they are fewer.

        It is never behind ``end``, and not before ``start``. ``PositionLost`` as for ``read``.
        """

    def read(self, address: Address, lane: str, start: str, end: str, most: int) -> Reading:
        """Read a range, at most ``most`` messages at a time; it is empty if ``end`` is not behind ``start``."""
