"""The messages that the application had over links that are lost: one that comes again is marked as redelivered.

Not every broker marks it, least of all one that was killed before it had written the settlement.
"""

from collections.abc import Iterable
from itertools import islice

from jmsbridge.core.receiving.acknowledgement import by_inbox
from jmsbridge.core.receiving.delivery import Delivery
from jmsbridge.core.receiving.inbox import Inbox
from jmsbridge.core.runtime.locks import Rank, ranked

__all__ = ["LostDeliveries"]

_MOST = 50_000  # messages that are remembered, though most of them do not come again


class LostDeliveries:
    """Those of one connection, since the broker may give a message to another of its sessions. Thread-safe."""

    def __init__(self) -> None:
        self.is_empty = True
        self._lock = ranked(Rank.LEAF)  # guards _known
        self._known: dict[tuple[str, str | None], None] = {}  # the ids, with their lines; oldest first

    def add_inbox(self, inbox: Inbox) -> None:
        """Its link is lost, which it knows: what is handed over from now on is added by ``add``."""
        self._add(inbox, inbox.had.copy())  # a copy, because the session's thread may add to them

    def add(self, deliveries: Iterable[Delivery]) -> None:
        """Unsettled messages, which may be more than an inbox remembers, or one that is handed over just now."""
        for inbox, group in by_inbox(deliveries):
            self._add(inbox, [delivery.arrival.envelope.message_id for delivery in group])

    def _add(self, inbox: Inbox, ids: Iterable[str | None]) -> None:
        line = inbox.line
        if line is None:
            return
        with self._lock:
            self._known.update(dict.fromkeys((line, one) for one in ids if one is not None))
            for old in list(islice(self._known, max(0, len(self._known) - _MOST))):
                del self._known[old]
            self.is_empty = False

    def mark(self, delivery: Delivery) -> None:
        """Mark it if it came before."""
        line = delivery.inbox.line
        if line is None:
            return
        key = line, delivery.arrival.envelope.message_id
        if key in self._known:
            if not delivery.redelivered:
                delivery.uncounted += 1
            with self._lock:
                self._known.pop(key, None)  # last: a signal handler may interrupt
