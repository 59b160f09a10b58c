"""The rows: a row is one program in one role; a comparison is all rows on one broker."""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

import msgspec

__all__ = [
    "FAST",
    "LONG",
    "MIDDLE",
    "OURS",
    "OURS_APP",
    "OURS_PLAIN",
    "SLOW",
    "Comparison",
    "Cost",
    "Queues",
    "Rate",
    "Row",
    "Server",
]

OURS = "ours"
OURS_PLAIN = "ours_plain"
"""jmsbridge with all framing left to its client library."""
OURS_APP = "ours_app"
"""jmsbridge's containers, template and asyncio."""
SLOW, MIDDLE, FAST = 3_000, 12_000, 40_000
"""Messages per window: about two seconds."""
LONG = 80_000
"""Three seconds: the sustained rate, for clients that slow down with the number of sends of a session."""


class Row(msgspec.Struct, frozen=True):
    """One program in one role. ``program`` is a module of ``integration.bench.clients``, or ``java``."""

    name: str
    group: str
    program: str
    role: str
    count: int
    only: tuple[str, ...] = ()
    """The types of queues on which it is measured; empty means all."""
    client: str = ""
    """Of a Java program: which client, as a folder of ``integration.interop`` with its factory."""
    scheme: str = ""
    """The scheme of its URL, where it is not the broker's first one."""
    options: str = ""
    """Of jmsbridge: the query of its URL."""

    @property
    def is_ours(self) -> bool:
        """Whether it is jmsbridge, whose URLs differ."""
        return self.program in (OURS, OURS_PLAIN, OURS_APP)

    @property
    def receives(self) -> bool:
        """Whether the queue is filled before each window."""
        return self.group == "receive"


class Server(Protocol):
    """What is measured: a broker, or something that only takes messages."""

    @property
    def title(self) -> str:
        """Its name and version."""

    def url(self, scheme: str | None = None) -> str:
        """Where it is; without a scheme by its first one."""


class Queues(Protocol):
    """Makes, empties and removes the queues of a run, by the administration of the comparison's own server."""

    def make(self, server: Any, name: str, queue_type: str) -> None:
        """Create a durable queue."""

    def empty(self, server: Any, name: str) -> None:
        """Remove the messages in it."""

    def remove(self, server: Any, name: str) -> None:
        """Delete it."""


class Rate(NamedTuple):
    """What the rate of one row must be beside that of another one."""

    ours: str
    peer: str
    least: float
    best: bool = False
    """Whether the peer's best window counts, for a Java machine that is still compiling in the first ones; otherwise
    windows of the same turn are compared."""


class Cost(NamedTuple):
    """What the CPU for each message of one row may be beside that of another one."""

    ours: str
    peer: str
    most: float = 1.0


class Comparison(msgspec.Struct, frozen=True):
    """jmsbridge and other clients on one broker, and the required ratios."""

    name: str
    start: Callable[[], AbstractContextManager[Server]]
    queue_types: tuple[str, ...]
    rows: tuple[Row, ...]
    loader: Row
    """The program that fills the queue for a row that receives."""
    queues: Queues
    peer_url: Callable[[str], str]
    """The URL for other clients, made from that of jmsbridge."""
    rates: tuple[Rate, ...]
    costs: tuple[Cost, ...]
    delayed: tuple[Row, ...]
    """The rows that are measured with a round-trip delay and without; the first one has to keep its rate there."""
    kept: float
    """The share of its rate that it has to keep."""
    page: str
    """The page of the documentation for the figures."""
    text: str
    """The template of that page."""
    packages: tuple[str, ...]
    """The distributions whose versions the page names."""
    java_clients: str
    """Names and versions of the Java clients."""
    credit: str = ""
    """Of the delayed rows the one that only the broker's credit limits: nine tenths of its rate are enough, too."""

    def chosen(self, words: list[str], queue_type: str) -> list[Row]:
        """The rows for this type of queue whose name or group contains one of the words; all without words."""
        return _named([row for row in self.rows if not row.only or queue_type in row.only], words)

    def far(self, words: list[str]) -> list[Row]:
        """The same of the rows that are measured with a round-trip delay."""
        return _named(self.delayed, words)


def _named(rows: Iterable[Row], words: list[str]) -> list[Row]:
    return [row for row in rows if not words or any(word in f"{row.name} {row.group}" for word in words)]
