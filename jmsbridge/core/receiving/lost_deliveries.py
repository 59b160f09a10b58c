"""The messages that the application had over links that are lost: one that comes again is marked as redelivered.

Not every broker marks it, least of all one that was killed before it had written the settlement.
"""

from collections import deque
from collections.abc import Iterable
from itertools import islice

from jmsbridge.core.receiving.acknowledgement import by_inbox
from jmsbridge.core.receiving.delivery import Delivery
from jmsbridge.core.receiving.inbox import Inbox
from jmsbridge.core.runtime.locks import Rank, ranked

__all__ = ["LostDeliveries", "LostIds"]

_MOST = 50_000  # messages that are remembered, though most of them do not come again
_MOST_LOSSES = 10_000  # inboxes whose messages were not looked at, because no message has come since


class LostIds:
    """Those of one connection, since the broker may give a message to another of its sessions. Thread-safe."""

    def __init__(self) -> None:
        self.is_empty = True
        self._lock = ranked(Rank.LEAF)  # guards _known
        self._known: dict[tuple[str | None, str | None], None] = {}  # with their lines; oldest first

    def add(self, line: str, ids: Iterable[str | None]) -> None:
        """These may come again."""
        with self._lock:
            self._known.update(dict.fromkeys((line, one) for one in ids if one is not None))
            for old in list(islice(self._known, max(0, len(self._known) - _MOST))):
                del self._known[old]
            self.is_empty = False

    def take(self, line: str | None, message_id: str | None) -> bool:
        """Whether this one did."""
        with self._lock:
            return self._known.pop((line, message_id), self) is None


class LostDeliveries:
    """Those of one session. Added by any thread; ``mark`` is for the thread that receives."""

    def __init__(self, known: LostIds) -> None:
        self.known = known
        self._added: deque[tuple[str, Iterable[str | None]]] = deque(maxlen=_MOST_LOSSES)

    def add_inbox(self, inbox: Inbox) -> None:
        """Its link is lost. ``mark`` reads its ids again, because a message may be handed over just now."""
        self._add(inbox, inbox.had)

    def add(self, deliveries: Iterable[Delivery]) -> None:
        """Unsettled messages, which may be more than an inbox remembers."""
        for inbox, group in by_inbox(deliveries):
            self._add(inbox, [delivery.arrival.envelope.message_id for delivery in group])

    def _add(self, inbox: Inbox, ids: Iterable[str | None]) -> None:
        if inbox.line is not None:
            self._added.append((inbox.line, ids))
            self.known.add(inbox.line, tuple(ids))  # a copy: the session's thread may add to them

    def mark(self, delivery: Delivery) -> None:
        """Mark it if it came before."""
        while self._added:
            self.known.add(*self._added[0])
            self._added.popleft()  # last: a signal handler may interrupt
        if self.known.take(delivery.inbox.line, delivery.arrival.envelope.message_id) and not delivery.redelivered:
            delivery.uncounted += 1
