"""The messages that the application had over links that are lost: one that comes again is marked as redelivered.

Not every broker marks it, least of all one that was killed before it had written the settlement.
"""

from collections import deque
from collections.abc import Iterable
from itertools import islice

from jmsbridge.core.receiving.acknowledgement import by_inbox
from jmsbridge.core.receiving.delivery import Delivery
from jmsbridge.core.receiving.inbox import Inbox

__all__ = ["LostDeliveries"]

_MOST = 50_000  # messages that are remembered, though most of them do not come again
_MOST_LOSSES = 10_000  # inboxes whose messages were not looked at, because no message has come since


class LostDeliveries:
    """Those of one session. Added by any thread; ``mark`` is for the thread that receives."""

    def __init__(self) -> None:
        self.is_empty = True
        self._added: deque[tuple[str, Iterable[str | None]]] = deque(maxlen=_MOST_LOSSES)
        self._ids: dict[tuple[str | None, str | None], None] = {}  # with their lines; oldest first

    def add_inbox(self, inbox: Inbox) -> None:
        """Its link is lost. ``mark`` reads its ids, because a message may be handed over just now."""
        self._add(inbox, inbox.had)

    def add(self, deliveries: Iterable[Delivery]) -> None:
        """Unsettled messages, which may be more than an inbox remembers."""
        for inbox, group in by_inbox(deliveries):
            self._add(inbox, [delivery.arrival.envelope.message_id for delivery in group])

    def _add(self, inbox: Inbox, ids: Iterable[str | None]) -> None:
        if inbox.line is not None:
            self._added.append((inbox.line, ids))
            self.is_empty = False

    def mark(self, delivery: Delivery) -> None:
        """Mark it if it came before."""
        while self._added:
            line, ids = self._added[0]
            self._ids.update(dict.fromkeys((line, one) for one in ids if one is not None))
            self._added.popleft()  # last: a signal handler may interrupt
            for old in list(islice(self._ids, max(0, len(self._ids) - _MOST))):
                del self._ids[old]
        key = delivery.inbox.line, delivery.arrival.envelope.message_id
        if key in self._ids:
            if not delivery.redelivered:
                delivery.uncounted += 1
            del self._ids[key]
