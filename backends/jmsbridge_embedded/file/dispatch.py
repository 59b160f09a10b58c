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
    """A selector, or all messages, and for each priority the rank up to which no waiting message matches it, except
    those that wait for the owner of their group (``floors``).
    """

    def __init__(self, text: str | None) -> None:
        self.selector = None if text is None else selector_of(text)
        self.floors = [band * BAND for band in range(_BANDS)]
        self.users = 0

    def reset(self) -> None:
        """Examine all messages again."""
        self.floors = [band * BAND for band in range(_BANDS)]

    def lower(self, band: int, floor: int) -> None:
        """Examine the messages behind this rank again."""
        self.floors[band] = min(self.floors[band], floor)

    def matches(self, envelope: Envelope) -> bool:
        """Whether its selector matches."""
        return self.selector is None or self.selector.matches_envelope(envelope)


class _Waiting:
    """The messages of one priority that wait for the owner of their groups: all are behind the rank ``floor``."""

    def __init__(self, floor: int) -> None:
        self.floor = floor
        self.buckets: set[int] = set()


class Taker:
    """A consumer of this process as its queue sees it; ``expired`` names the queue for messages that expire here."""

    def __init__(self, queue: QueueRow, number: int, interest: Interest, inbox: Inbox) -> None:
        self.view = View(None)  # the queue's, once it has joined
        self.queue = queue
        self.id = number
        self.put = inbox.put
        self.presettled = interest.presettled
        self.expired = interest.expired or None
        self.credit = 0
        self.held: dict[int, Token] = {}

    def forget(self, number: int) -> None:
        """Drop a claim that was rolled back."""
        self.held.pop(number, None)


class LocalQueue:
    """The consumers that one queue has in this process.

    ``ring`` holds those with credit, the next one first; ``expiry_consumers`` name a queue for expired messages.
    ``waiting`` has, by priority and owner, what is passed over until the owner of its group has credit.
    """

    def __init__(self, queue: QueueRow) -> None:
        self.queue = queue
        self.address = queue.address
        self.ring: deque[Taker] = deque()
        self.consumers: dict[int, Taker] = {}
        self.everything = View(None)
        self.views: dict[str, View] = {}
        self.waiting: dict[tuple[int, int], _Waiting] = {}
        self.returns = -1
        self.topology = -1
        self.expiry_consumers: list[Taker] = []

    def saved(self) -> Callable[[], None]:
        """A function that restores the present state."""
        ring = list(self.ring)
        credits = [(consumer, consumer.credit) for consumer in self.consumers.values()]

        def restore() -> None:
            self.ring = deque(ring)
            self.returns = -1
            for consumer, credit in credits:
                consumer.credit = credit

        return restore

    @property
    def is_plain(self) -> bool:
        """Whether the first message is for any consumer."""
        return not (self.views or self.waiting)

    def every_view(self) -> Iterable[View]:
        """The views of all consumers."""
        return (self.everything, *self.views.values())

    def reset(self) -> None:
        """Examine all messages again."""
        self.waiting = {}
        for view in self.every_view():
            view.reset()
        self.topology = -1

    def keep(self, owner: int, bucket: int, rank: int) -> None:
        """A message waits for the owner of its group."""
        waiting = self.waiting.setdefault((rank // BAND, owner), _Waiting(rank - 1))
        waiting.floor = min(waiting.floor, rank - 1)
        waiting.buckets.add(bucket)

    def free(self, owners: set[int]) -> None:
        """Examine again what waits for others than these."""
        for (band, owner), waiting in list(self.waiting.items()):
            if owner not in owners:
                del self.waiting[band, owner]
                for view in self.every_view():
                    view.lower(band, waiting.floor)

    def expire(self, batch: Batch, row: Row) -> None:
        """Remove an expired message; move it to the expiry queue that a matching consumer here names, if any."""
        if self.expiry_consumers:
            envelope = decode(row[5], self.address)
            consumer = next((one for one in self.expiry_consumers if one.view.matches(envelope)), None)
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
        if selector is None:
            consumer.view = local.everything
        else:
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
        if consumer.view is not local.everything:
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
        for view in local.every_view():
            for _, rank in held:
                view.lower(rank // BAND, rank - 1)

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
    """One pass over the waiting messages of a queue, in order.

    ``_takers`` have credit and a view that was not examined up to the end of the present page; None if not known.
    """

    def __init__(self, batch: Batch, local: LocalQueue) -> None:
        self._batch = batch
        self._local = local
        self._budget = _AT_ONCE
        self._claimed: list[int] = []
        self._last = 0  # the last rank of the present page
        self._takers: list[Taker] | None = None
        self._looking: set[View] = set()  # their views
        self._known: dict[View, bool] = {}

    def run(self) -> bool:
        """Continue until no consumer has credit or no message is left; False if it takes too long."""
        local = self._local
        if local.is_plain:
            local.everything.reset()
            return self._range(-1, _LAST)
        self._look_around()
        for band in range(_BANDS):
            if not self._serve_owners(band):
                return False
            floors = [one.view.floors[band] for one in local.ring]
            if floors and not self._range(min(floors), (band + 1) * BAND):
                return False
        return True

    def _look_around(self) -> None:
        """Examine again what other processes have returned, or what waits for consumers that have gone."""
        catalog, local = self._batch.catalog, self._local
        returns = catalog.returns(local.queue.id)
        if returns != local.returns:
            local.returns = returns
            local.reset()
        if local.waiting and local.topology != catalog.topology:
            local.topology = catalog.topology
            local.free(catalog.consumer_ids(local.queue.id))

    def finish(self) -> None:
        """Record the claims in the file."""
        claimed, self._claimed = self._claimed, []
        if claimed:
            self._batch.entries.claim(claimed, self._batch.catalog.node)

    def _serve_owners(self, band: int) -> bool:
        """Deliver what has waited for owners of groups that have credit now; False if it takes too long."""
        local = self._local
        for place in [place for place in local.waiting if place[0] == band]:
            owner = local.consumers.get(place[1])
            more = True
            while more and owner is not None and owner.credit:
                if self._budget <= 0:
                    return False
                more = self._serve(owner, local.waiting[place], band)
            highest = max(view.floors[band] for view in local.every_view())
            if not more and owner is not None and owner.view.floors[band] == highest:
                del local.waiting[place]
        return True

    def _serve(self, owner: Taker, waiting: _Waiting, band: int) -> bool:
        """Deliver a page of what has waited for this owner; False if that was the last one."""
        local = self._local
        rows = self._batch.entries.page(local.queue.id, waiting.floor, owner.view.floors[band] + 1, _PAGE)
        self._budget -= len(rows)
        for row in rows:
            if not owner.credit:
                return True
            waiting.floor = row[1]
            if row[4] not in waiting.buckets:
                continue
            envelope = decode(row[5], local.address)
            if row[3] and row[3] <= self._batch.now:
                local.expire(self._batch, row)
            elif owner.view.matches(envelope):
                self._deliver(owner, row, envelope)
        self.finish()  # the next page shows what is not claimed
        return len(rows) == _PAGE

    def _range(self, after: int, before: int) -> bool:
        local = self._local
        while local.ring:
            if self._budget <= 0:
                return False
            wanted = min(_PAGE, sum(consumer.credit for consumer in local.ring)) if local.is_plain else _PAGE
            rows = self._batch.entries.page(local.queue.id, after, before, wanted)
            self._budget -= len(rows)
            self._last = rows[-1][1] if rows else 0
            self._takers = None
            for row in rows:
                if not local.ring:
                    return True
                after = row[1]
                self._offer(row)
            if len(rows) < wanted:
                return True
        return True

    def _offer(self, row: Row) -> None:
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
        consumer = self._choose(envelope, bucket, rank)
        for view in self._looking:
            view.floors[rank // BAND] = max(view.floors[rank // BAND], rank)
        if consumer is not None:
            self._deliver(consumer, row, envelope)

    def _choose(self, envelope: Envelope, bucket: int | None, rank: int) -> Taker | None:
        """The consumer for a message: its group's owner, else the first whose selector matches, which becomes owner."""
        taker = next((one for one in self._find_takers(rank) if self._wants(one.view, envelope, rank)), None)
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
        self._local.keep(number, bucket, rank)
        return None

    def _find_takers(self, rank: int) -> list[Taker]:
        if self._takers is None:
            band, last = rank // BAND, max(rank, min(self._last, (rank // BAND + 1) * BAND))
            self._takers = [one for one in self._local.ring if one.view.floors[band] < last]
            self._looking = {one.view for one in self._takers}
        return self._takers

    def _wants(self, view: View, envelope: Envelope, rank: int) -> bool:
        known = self._known.get(view)
        if known is None:
            known = self._known[view] = rank > view.floors[rank // BAND] and view.matches(envelope)
        return known

    def _deliver(self, consumer: Taker, row: Row, envelope: Envelope) -> None:
        number, rank, count = row[:3]
        ring = self._local.ring
        consumer.credit -= 1
        self._takers = None
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
