"""A queue, or the backlog of one topic subscription: who gets which message when."""

from collections import deque
from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from jmsbridge.spi import Envelope
from jmsbridge_embedded.backlog import GONE, Backlog, Entry, in_order, key_of
from jmsbridge_embedded.duplicates import Window
from jmsbridge_embedded.groups import GROUP, Groups
from jmsbridge_embedded.schedule import Common

if TYPE_CHECKING:
    from jmsbridge.selectors import Selector
    from jmsbridge_embedded.consumer import Consumer
    from jmsbridge_embedded.link import Link

__all__ = ["Queue"]

_SWEEP_EVERY = 1000
"""Milliseconds between two sweeps of one queue, at least."""


class Queue:
    """Messages and those among whom they are shared out; every method expects the broker's lock to be held.

    A message changes hands as soon as it can: after each method no consumer with credit could take a waiting message.
    ``ring`` holds the consumers with credit, the next one first. While nobody selects and no message has a group
    (``plain``), all consumers take from ``main`` and nothing else needs to be looked at. ``on_idle`` is told when the
    last consumer has gone, and again when the last message goes after that.
    """

    def __init__(
        self, common: Common, origin: str, on_idle: Callable[["Queue"], None], owner: "Link | None" = None
    ) -> None:
        self.common = common
        self.origin = origin
        self.owner = owner
        self.ended = False
        self.kept = False
        self._on_idle = on_idle
        self.plain = True
        self.size = 0
        self.delayed = 0
        self.main = Backlog()
        self.views: dict[str, Backlog] = {}
        self.ring: deque[Consumer] = deque()
        self.consumers: list[Consumer] = []
        self._retired: list[Consumer] = []
        self.window = Window()
        self._groups = Groups()
        self._grouped = False
        self._moved = False
        self._sequence = 0
        self._sweep_at = 0

    def add(self, envelope: Envelope, at_once: bool = True, count: int = 0) -> None:
        """A new message that failed ``count`` times elsewhere.

        With ``at_once`` false the caller dispatches, once all that belong together are there.
        """
        self._sequence = sequence = self._sequence + 1
        entry = Entry(envelope, key_of(envelope.priority, sequence), count)
        if (envelope.delivery_time or envelope.expiration) and self._is_timed_out(entry):
            return
        self.size += 1
        self.common.stored += 1
        if GROUP in envelope.properties:
            self._grouped = True
            self.plain = False
        if self.plain and not self.main.heap:
            run = self.main.run
            if not run:
                if self.ring and at_once:
                    self._hand(self.ring[0], entry)
                else:
                    run.append(entry)
                return
            if not self.ring and run[-1].key < entry.key:
                run.append(entry)
                return
        self._place(entry)
        if at_once and self.ring:
            self.dispatch()

    def appear(self, entry: Entry, now: int) -> None:
        """A delayed message is due: it takes its place behind those that are there."""
        if self.ended:
            return
        self.delayed -= 1
        expiration = entry.envelope.expiration
        if expiration and expiration <= now:
            self.forget(entry)
            return
        self._sequence += 1
        entry.key = key_of(entry.envelope.priority, self._sequence)
        if expiration:
            self._watch(expiration, now)
        if GROUP in entry.envelope.properties:
            self._grouped = True
            self.plain = False
        self._place(entry)
        self.dispatch()

    def forget(self, entry: Entry) -> None:
        """The message is done with."""
        entry.holder = GONE
        self.size -= 1
        self.common.stored -= 1

    def give_back(self, entries: Iterable[Entry], failures: int) -> None:
        """Delivered messages return to their places, each counting that many failures; the caller dispatches."""
        for entry in entries:
            if self.ended:
                self.forget(entry)
                continue
            entry.holder = None
            entry.count += failures
            if entry.envelope.expiration:
                self._watch(entry.envelope.expiration, self.common.clock())
            self._place(entry)

    def waiting(self) -> list[Entry]:
        """The messages that a browser sees, in order."""
        entries = self.main.waiting()
        own = [entry for consumer in self.consumers for _, entry in consumer.own]
        return in_order(entries + own) if own else entries

    def known(self) -> list[Entry]:
        """The messages that wait or are held."""
        held = [entry for consumer in (*self.consumers, *self._retired) for entry in consumer.held]
        return self.waiting() + held

    def end(self) -> None:
        """Drop the messages that wait; those held by a transaction are dropped with it."""
        self.ended = True
        for entry in self.waiting():
            self.forget(entry)
        if self.delayed:
            self.size -= self.delayed
            self.common.stored -= self.delayed
            self.delayed = 0
            self.common.schedule.forget(self)

    def sweep(self, due: int, now: int) -> None:
        """Drop expired messages; called by the schedule."""
        if self.ended or due != self._sweep_at:
            return
        self._sweep_at = earliest = 0
        for entry in self.waiting():
            expiration = entry.envelope.expiration
            if not expiration:
                continue
            if expiration <= now:
                self.forget(entry)
            elif not earliest or expiration < earliest:
                earliest = expiration
        self.main.compact()
        for view in self.views.values():
            view.compact()
        if earliest:
            self._watch(earliest, now)
        self.rest()

    def _is_timed_out(self, entry: Entry) -> bool:
        """Whether a new message does not appear now: too late, or not yet."""
        now = self.common.clock()
        envelope = entry.envelope
        due, expiration = envelope.delivery_time, envelope.expiration
        if expiration and expiration <= max(now, due):
            return True
        if due <= now:
            self._watch(expiration, now)
            return False
        self.size += 1
        self.common.stored += 1
        self.delayed += 1
        self.common.schedule.add(due, self, entry)
        return True

    def _watch(self, expiration: int, now: int) -> None:
        """See that the queue is swept after ``expiration``, but not too often: a sweep looks at every message."""
        if not expiration:
            return
        earliest = now + _SWEEP_EVERY + self.size // 100
        due = -(-max(expiration, earliest) // _SWEEP_EVERY) * _SWEEP_EVERY
        if not self._sweep_at or due < self._sweep_at:
            self._sweep_at = due
            self.common.schedule.add(due, self, None)

    def _place(self, entry: Entry) -> None:
        """Put a waiting message into every view that shows it."""
        self.main.push(entry)
        bound = 2 * self.size + 64
        if len(self.main) > bound:
            self.main.compact()
        for view in self.views.values():
            if view.matches(entry.envelope):
                view.push(entry)
                if len(view) > bound:
                    view.compact()

    @property
    def in_transaction(self) -> bool:
        """Whether consumers that are gone left messages accepted in an open transaction."""
        return any(consumer.held for consumer in self._retired)

    def join(self, consumer: "Consumer", selector: str | None, compiled: "Selector | None") -> None:
        """A consumer comes, without credit."""
        self.consumers.append(consumer)
        if selector is None or compiled is None:
            return
        view = self.views.get(selector)
        if view is None:
            view = self.views[selector] = Backlog(compiled)
            view.run.extend(entry for entry in self.main.waiting() if compiled.matches_envelope(entry.envelope))
        view.users += 1
        consumer.view = view
        self.plain = False

    def leave(self, consumer: "Consumer") -> None:
        """A consumer goes; its groups are free, and what was kept for it is there for others."""
        self.pause(consumer)
        self.consumers.remove(consumer)
        self._retired = [other for other in (*self._retired, consumer) if other.held]
        self._groups.free(consumer)
        kept, consumer.own = consumer.own, []
        for _, entry in kept:
            if entry.holder is None:
                self._place(entry)
        view = consumer.view
        if view is not self.main:
            view.users -= 1
            if not view.users:
                self.views = {text: other for text, other in self.views.items() if other is not view}
                self.main.compact()
                self.plain = not (self.views or self._grouped)
            consumer.view = self.main
        self.dispatch()
        self.rest()

    def rest(self) -> None:
        """Say so if nobody consumes from here."""
        if not self.consumers:
            self._on_idle(self)

    def pause(self, consumer: "Consumer") -> None:
        """The consumer has no credit any more."""
        if consumer.credit > 0:
            consumer.credit = 0
            self.ring.remove(consumer)

    def dispatch(self) -> None:
        """Hand out what can be handed out, one message per consumer in turn."""
        ring = self.ring
        misses = 0
        while misses < len(ring):
            entry = self._next(ring[0])
            if entry is not None:
                self._hand(ring[0], entry)
                misses = 0
                continue
            ring.rotate(-1)
            misses = 0 if self._moved else misses + 1
            self._moved = False

    def _hand(self, consumer: "Consumer", entry: Entry) -> None:
        """Deliver to the first consumer of the ring."""
        credit = consumer.credit = consumer.credit - 1
        ring = self.ring
        if not credit:
            ring.popleft()
        elif len(ring) > 1:
            ring.rotate(-1)
        consumer.deliver(entry)

    def _next(self, consumer: "Consumer") -> Entry | None:
        """The message that this consumer is to get now."""
        while True:
            entry = self.main.take() if self.plain else self._select(consumer)
            if entry is None:
                return None
            expiration = entry.envelope.expiration
            if not expiration or expiration > self.common.clock():
                return entry
            self.forget(entry)

    def _select(self, consumer: "Consumer") -> Entry | None:
        """The same where there are selectors or groups."""
        own, view = consumer.own, consumer.view
        while True:
            while own and own[0][1].holder is not None:
                heappop(own)
            entry = view.peek()
            if own and (entry is None or own[0][0] <= entry.key):
                return heappop(own)[1]
            if entry is None:
                return None
            view.take()
            owner = self._groups.owner(entry.envelope, consumer) if self._grouped else consumer
            if owner is consumer:
                return entry
            heappush(owner.own, (entry.key, entry))
            self._moved = True
