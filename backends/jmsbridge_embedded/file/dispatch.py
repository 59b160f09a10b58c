"""Which consumer of this process gets which message: consumers by queue, and claiming messages for them."""

from collections import deque
from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from jmsbridge.spi import DEAD_LETTER_EXPIRED, Arrival, Envelope, Inbox, Interest
from jmsbridge_embedded.file.batch import Batch
from jmsbridge_embedded.file.disk.catalog import QueueRow, selector_of
from jmsbridge_embedded.file.disk.entries import BAND, Row
from jmsbridge_embedded.file.disk.wire import decode

__all__ = ["Dispatcher", "LocalQueue", "Taker", "Token", "View"]

_BANDS: Final = 10
_LAST: Final = _BANDS * BAND
_PAGE: Final = 250
_AT_ONCE: Final = 2000
"""Messages examined for one queue per transaction; then other operations run before it continues."""


class Token(msgspec.Struct, frozen=True, gc=False, eq=False):
    """One claimed message: row id, rank, finished deliveries, failed deliveries, and the envelope."""

    id: int
    rank: int
    count: int
    failures: int
    envelope: Envelope


class View:
    """A selector, and for each priority the rank up to which no waiting message matches it (``floors``)."""

    def __init__(self, text: str) -> None:
        self.selector = selector_of(text)
        self.floors = [band * BAND for band in range(_BANDS)]
        self.users = 0

    def reset(self) -> None:
        """Examine all messages again."""
        self.floors = [band * BAND for band in range(_BANDS)]


class Taker:
    """A consumer of this process as its queue sees it; ``expired`` names the queue for messages that expire here."""

    def __init__(self, queue: QueueRow, number: int, interest: Interest, inbox: Inbox) -> None:
        self.queue = queue
        self.id = number
        self.put = inbox.put
        self.presettled = interest.presettled
        self.expired = interest.expired or None
        self.credit = 0
        self.held: dict[int, Token] = {}
        self.view: View | None = None

    def matches(self, envelope: Envelope) -> bool:
        """Whether its selector matches."""
        return self.view is None or self.view.selector.matches_envelope(envelope)

    def forget(self, number: int) -> None:
        """Drop a claim that was rolled back."""
        self.held.pop(number, None)


class LocalQueue:
    """The consumers that one queue has in this process.

    ``ring`` holds those with credit, the next one first; ``expiry_consumers`` name a queue for expired messages.
    """

    def __init__(self, queue: QueueRow) -> None:
        self.queue = queue
        self.address = queue.address
        self.ring: deque[Taker] = deque()
        self.consumers: dict[int, Taker] = {}
        self.views: dict[str, View] = {}
        self.returns = -1
        self.expiry_consumers: list[Taker] = []

    def saved(self) -> Callable[[], None]:
        """A function that restores the present state."""
        ring, returns = list(self.ring), self.returns
        credits = [(consumer, consumer.credit) for consumer in self.consumers.values()]
        floors = [(view, list(view.floors)) for view in self.views.values()]

        def restore() -> None:
            self.ring, self.returns = deque(ring), returns
            for consumer, credit in credits:
                consumer.credit = credit
            for view, levels in floors:
                view.floors = levels

        return restore

    def expire(self, batch: Batch, row: Row) -> None:
        """Remove an expired message; move it to the expiry queue that a matching consumer here names, if any."""
        if self.expiry_consumers:
            envelope = decode(row[5], self.address)
            consumer = next((one for one in self.expiry_consumers if one.matches(envelope)), None)
            if consumer is not None:
                batch.dead_letter(envelope, consumer.expired, self.queue.origin, row[2], DEAD_LETTER_EXPIRED)
        batch.entries.forget((row[0],))

    def pause(self, consumer: Taker) -> None:
        """Set the consumer's credit to zero."""
        consumer.credit = 0
        if consumer in self.ring:
            self.ring.remove(consumer)


class Dispatcher:
    """The queues that have consumers in this process. For the store's thread; other threads may read ``locals``."""

    def __init__(self) -> None:
        self.locals: dict[int, LocalQueue] = {}

    def join(self, queue: QueueRow, consumer: Taker, selector: str | None) -> None:
        """Add a consumer, without credit."""
        local = self.locals.get(queue.id) or self.locals.setdefault(queue.id, LocalQueue(queue))
        local.consumers[consumer.id] = consumer
        if consumer.expired is not None:
            local.expiry_consumers.append(consumer)
        if selector is not None:
            view = local.views.get(selector) or local.views.setdefault(selector, View(selector))
            view.users += 1
            consumer.view = view

    def leave(self, consumer: Taker) -> None:
        """Remove a consumer."""
        local = self.locals.get(consumer.queue.id)
        if local is None or local.consumers.pop(consumer.id, None) is None:
            return
        local.pause(consumer)
        local.expiry_consumers = [other for other in local.expiry_consumers if other is not consumer]
        if consumer.view is not None:
            consumer.view.users -= 1
            local.views = {text: view for text, view in local.views.items() if view.users}
        if not local.consumers:
            del self.locals[consumer.queue.id]

    def grant(self, batch: Batch, consumer: Taker, count: int) -> None:
        """Add credit, unless the consumer has ended or was retired."""
        local = self.locals.get(consumer.queue.id)
        if local is None or consumer.id not in local.consumers:
            return
        self._save(batch, local)
        if not consumer.credit:
            local.ring.append(consumer)
        consumer.credit += count
        batch.granted.add(consumer.queue.id)

    def pause(self, batch: Batch, consumer: Taker) -> None:
        """Set the consumer's credit to zero."""
        local = self.locals.get(consumer.queue.id)
        if local is not None:
            self._save(batch, local)
            local.pause(consumer)

    def put_back(
        self, batch: Batch, queue: int, tokens: Iterable[Token], deliveries: int | None, failures: int
    ) -> None:
        """Return messages to their places, adding to both counts; ``deliveries`` None means a death."""
        held = [(token.id, token.rank) for token in tokens]
        if not held:
            return
        batch.entries.put_back([number for number, _ in held], deliveries, failures)
        batch.catalog.returned(queue)
        batch.available.add(queue)
        local = self.locals.get(queue)
        if local is None:
            return
        self._save(batch, local)
        local.returns += 1
        for view in local.views.values():
            for _, rank in held:
                band = rank // BAND
                view.floors[band] = min(view.floors[band], rank - 1)

    def _save(self, batch: Batch, local: LocalQueue) -> None:
        """Before credit or order of a queue's consumers change: let ``Batch.undo`` restore them."""
        if local.queue.id not in batch.saved:
            batch.saved.add(local.queue.id)
            batch.on_undo(local.saved())

    def sweep(self, batch: Batch) -> bool:
        """Remove or move expired messages that are not held; False if there are more to examine.

        Queues that only other processes consume are left to those, which know the expiry queues.
        """
        expiry_consumers = [queue for queue, local in self.locals.items() if local.expiry_consumers]
        rows = batch.entries.expired(expiry_consumers, batch.now, _AT_ONCE) if expiry_consumers else []
        for queue, row in rows:
            self.locals[queue].expire(batch, row)
        others = [queue for queue, nodes in batch.catalog.foreign.items() if nodes and queue not in self.locals]
        batch.entries.sweep(batch.now, [*expiry_consumers, *others])
        return len(rows) < _AT_ONCE

    def has_credit(self, queue: int) -> bool:
        """Whether a consumer of this process has credit for this queue."""
        local = self.locals.get(queue)
        return local is not None and bool(local.ring)

    def dispatch(self, batch: Batch, queue: int) -> bool:
        """Claim waiting messages for the consumers with credit; False if there are more to examine."""
        local = self.locals.get(queue)
        if local is None or not local.ring:
            return True
        self._save(batch, local)
        scan = _Scan(batch, local)
        try:
            return scan.run()
        finally:
            scan.finish()


class _Scan:
    """One pass over the waiting messages of a queue, in order."""

    def __init__(self, batch: Batch, local: LocalQueue) -> None:
        self._batch = batch
        self._local = local
        self._budget = _AT_ONCE
        self._claimed: list[int] = []
        self._blocked = False
        self._known: dict[View, bool] = {}

    def run(self) -> bool:
        """Continue until no consumer has credit or no message is left; False if it takes too long."""
        local = self._local
        if not local.views:
            return self._range(0, -1, _LAST)
        returns = self._batch.catalog.returns(local.queue.id)
        if returns != local.returns:
            local.returns = returns
            for view in local.views.values():
                view.reset()
        for band in range(_BANDS):
            start = band * BAND
            floors = [start if one.view is None else one.view.floors[band] for one in local.ring]
            self._blocked = False
            if floors and not self._range(band, min(floors), start + BAND):
                return False
        return True

    def finish(self) -> None:
        """Record the claims in the file."""
        if self._claimed:
            self._batch.entries.claim(self._claimed, self._batch.catalog.node)

    def _range(self, band: int, after: int, before: int) -> bool:
        local = self._local
        while local.ring:
            if self._budget <= 0:
                return False
            wanted = _PAGE if local.views else min(_PAGE, sum(consumer.credit for consumer in local.ring))
            rows = self._batch.entries.page(local.queue.id, after, before, wanted)
            self._budget -= len(rows)
            for row in rows:
                if not local.ring:
                    return True
                after = row[1]
                self._offer(row, band)
            if len(rows) < wanted:
                return True
        return True

    def _offer(self, row: Row, band: int) -> None:
        _, rank, _, expires, bucket, body, _ = row
        local = self._local
        if expires and expires <= self._batch.now:
            local.expire(self._batch, row)
            return
        envelope = decode(body, local.address)
        if not local.views and bucket is None:
            self._deliver(local.ring[0], row, envelope)
            return
        self._known = {}
        looking = {consumer.view for consumer in local.ring if consumer.view is not None}
        consumer = self._choose(envelope, bucket, band, rank)
        if not self._blocked:
            for view in looking:
                view.floors[band] = max(view.floors[band], rank)
        if consumer is not None:
            self._deliver(consumer, row, envelope)

    def _choose(self, envelope: Envelope, bucket: int | None, band: int, rank: int) -> Taker | None:
        """The consumer for a message: its group's owner, else the first whose selector matches, which becomes owner."""
        taker = next((one for one in self._local.ring if self._wants(one.view, envelope, band, rank)), None)
        if bucket is None:
            return taker
        catalog, queue = self._batch.catalog, self._local.queue.id
        owner = catalog.group_owner(queue, bucket)
        if owner is None:
            if taker is not None:
                catalog.own_group(queue, bucket, taker.id)
            return taker
        number, _, selector = owner
        if selector is not None and not selector_of(selector).matches_envelope(envelope):
            return taker
        known = self._local.consumers.get(number)
        if known is not None and known.credit > 0:
            return known
        self._blocked = True  # the message waits for its owner: the floors must stay below it
        return None

    def _wants(self, view: View | None, envelope: Envelope, band: int, rank: int) -> bool:
        if view is None:
            return True
        known = self._known.get(view)
        if known is None:
            known = rank > view.floors[band] and view.selector.matches_envelope(envelope)
            self._known[view] = known
        return known

    def _deliver(self, consumer: Taker, row: Row, envelope: Envelope) -> None:
        number, rank, count = row[:3]
        ring = self._local.ring
        consumer.credit -= 1
        if ring[0] is consumer:
            ring.popleft()
        else:
            ring.remove(consumer)
        if consumer.credit:
            ring.append(consumer)
        batch = self._batch
        token = Token(number, rank, count, row[6], envelope)
        if consumer.presettled:
            batch.entries.forget((number,))
        else:
            self._claimed.append(number)
            consumer.held[number] = token
            batch.on_undo(lambda: consumer.forget(number))
        batch.effects.append((consumer.put, Arrival(token, envelope, count > 0, count + 1, row[6])))
