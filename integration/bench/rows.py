"""What is compared: a row is one program in one role, and a comparison is all of them on one broker."""

from collections.abc import Callable
from typing import Protocol

import msgspec

from integration.lab.admin.rest import Rest

__all__ = ["FAST", "LONG", "MIDDLE", "OURS", "OURS_PLAIN", "SLOW", "Comparison", "Queues", "Row"]

OURS = "ours"
OURS_PLAIN = "ours_plain"
"""jmsbridge with all framing left to its client library."""
SLOW, MIDDLE, FAST = 3_000, 12_000, 40_000
"""Messages per window: two seconds or so."""
LONG = 80_000
"""Three seconds: what is sustained, for clients that slow down with what a session has sent."""


class Row(msgspec.Struct, frozen=True):
    """One peer doing one thing. ``program`` is a module of ``integration.bench.clients``, or ``java``."""

    name: str
    group: str
    program: str
    role: str
    count: int
    only: tuple[str, ...] = ()
    """The types of queues that it is measured on; all when none is given."""

    @property
    def is_ours(self) -> bool:
        """Whether it is jmsbridge, which has URLs of its own."""
        return self.program in (OURS, OURS_PLAIN)

    @property
    def receives(self) -> bool:
        """Whether the queue is filled before each window."""
        return self.group == "receive"


class Queues(Protocol):
    """Makes, empties and removes the queues of a run, by the broker's administration."""

    def make(self, admin: Rest, name: str, queue_type: str) -> None:
        """Make one that is durable."""

    def empty(self, admin: Rest, name: str) -> None:
        """Remove the messages in it."""

    def remove(self, admin: Rest, name: str) -> None:
        """Delete it."""


class Comparison(msgspec.Struct, frozen=True):
    """jmsbridge and its peers on one broker, and what it must reach beside them."""

    broker: str
    """A name of ``integration.lab.table``."""
    queue_types: tuple[str, ...]
    rows: tuple[Row, ...]
    loader: Row
    """What fills the queue for a row that receives."""
    queues: Queues
    peer_url: Callable[[str], str]
    """The URL of a peer, from that of jmsbridge."""
    rates: tuple[tuple[str, str, float], ...]
    """Ours, a peer, and the ratio of their rates that is wanted at least."""
    costs: tuple[tuple[str, str], ...]
    """Ours and a peer whose CPU per message is the limit."""
    delayed: tuple[str, ...]
    """The rows that are measured through a long way too; the first one has to keep its rate there."""
    page: str
    """The page of the documentation that keeps the figures."""
    text: str
    """Of that page, with places for the figures."""
    packages: tuple[str, ...]
    """The distributions whose versions the page names."""
    java_client: str
    """The name and version of the Java client."""

    def chosen(self, words: list[str], queue_type: str) -> list[Row]:
        """The rows for this type of queue whose name or group contains one of the words; all without words."""
        rows = [row for row in self.rows if not row.only or queue_type in row.only]
        return [row for row in rows if not words or any(word in f"{row.name} {row.group}" for word in words)]
