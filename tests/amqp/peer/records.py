"""What the peer saw, for tests on any thread."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.amqp.peer.script import Outcome

__all__ = ["PATIENCE", "Records", "Sent", "Settled"]

PATIENCE = 20.0
"""Seconds after which what a test waits for will not come."""
_LOOK = 0.02  # seconds between two looks at a condition that is not only about these records, which nothing wakes


@dataclass
class Sent:
    """A message that arrived at the peer."""

    data: bytes
    address: str | None
    """Of the link."""
    settled: bool
    """Whether the client wants no outcome."""
    txn: bytes | None
    answer: Callable[[Outcome], None] = field(repr=False, compare=False)
    """Give it an outcome now; from any thread."""


@dataclass
class Settled:
    """What the client did with a message that the peer delivered."""

    data: bytes
    state: int
    failed: bool
    undeliverable: bool
    txn: bytes | None
    settled: bool


class Records:
    """Grows on the peer's thread; every wait has a deadline."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.sent: list[Sent] = []
        """In order of arrival."""
        self.accepted: list[bytes] = []
        """The messages that the peer has: accepted outside of transactions, or committed."""
        self.settled: list[Settled] = []
        self.events: list[tuple[str, Any]] = []
        """What else happened: its name, such as ``attach`` or ``lost``, and what it happened to."""

    def note(self, change: Callable[[], None]) -> None:
        """Change the records, and wake who waits."""
        with self._changed:
            change()
            self._changed.notify_all()

    def event(self, name: str, about: Any = None) -> None:
        """Add one."""
        self.note(lambda: self.events.append((name, about)))

    def of(self, name: str) -> list[Any]:
        """What events of that name were about."""
        with self._changed:
            return [about for each, about in self.events if each == name]

    def wait(self, condition: Callable[[], object], what: str) -> None:
        """Until that is true; AssertionError says what did not happen."""
        deadline = time.monotonic() + PATIENCE
        with self._changed:
            while not condition():
                left = deadline - time.monotonic()
                if left <= 0:
                    raise AssertionError(f"not within {PATIENCE:g} s: {what}; events {self.events}")
                self._changed.wait(min(left, _LOOK))

    def wait_sent(self, count: int) -> list[Sent]:
        """The messages, once there are so many."""
        self.wait(lambda: len(self.sent) >= count, f"{count} messages")
        return list(self.sent)

    def wait_settled(self, count: int) -> list[Settled]:
        """The settlements, once there are so many."""
        self.wait(lambda: len(self.settled) >= count, f"{count} settlements")
        return list(self.settled)

    def wait_event(self, name: str, count: int = 1) -> Any:
        """What the event was about, once it happened so often."""
        self.wait(lambda: len([each for each, _ in self.events if each == name]) >= count, f"{count} x {name}")
        return self.of(name)[count - 1]
