"""What is in a queue: where each message waits, and what happens to it in time."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop
from typing import TYPE_CHECKING, Final

from jmsbridge_embedded.groups import GROUP
from jmsbridge_embedded.memory.queues.backlog import Backlog, Entry, View
from jmsbridge_embedded.memory.queues.schedule import Alarm
from jmsbridge_embedded.memory.queues.state import Common
from jmsbridge_embedded.memory.queues.steps import appeared, forgotten
from jmsbridge_embedded.order import key_of
from jmsbridge_embedded.rules import is_expired

if TYPE_CHECKING:
    from jmsbridge.selectors import Selector, SelectorIndex
    from jmsbridge_embedded.memory.consumer import Consumer

__all__ = ["Contents"]

_SWEEP_EVERY: Final = 1000
"""Milliseconds between two sweeps of one queue, at least."""

_MOST_SHARED: Final = 1000


class Contents:
    """The messages of a queue; every method expects the broker's lock to be held.

    All that wait are in ``main``, those that a selector matches in its view too, but what waits for the owner of its
    group is in the owner's ``own`` only, and what is not due yet in ``delayed``, a heap. ``plain`` says that there is
    only ``main``: nobody selects, and no message has a group. ``size`` counts those that are held, too.
    ``heirs`` are the consumers that name a queue for what expires here, ``fed`` the queues that got some of it.
    """

    def __init__(self, common: Common) -> None:
        self.common = common
        self.ended = False
        self.plain = True
        self.size = 0
        self.sequence = 0
        self.main = View()
        self.views: dict[str, View] = {}
        self.consumers: list[Consumer] = []
        self.retired: list[Consumer] = []
        self.heirs: list[Consumer] = []
        self.fed: dict[Contents, None] = {}
        self.grouped: set[Entry] = set()
        self.delayed: list[tuple[int, int, Entry]] = []
        self.alarm: Alarm | None = None
        self.touched: dict[View, None] = {}
        self._index: SelectorIndex[View] | None = None
        self._shared: dict[tuple[Backlog, ...], tuple[Backlog, ...]] = {}
        self._sweep_at = 0
        self._appearing = False

    def dispatch(self) -> None:
        """Hand out what can be handed out."""
        raise NotImplementedError

    def rest(self) -> None:
        """Say so if nobody consumes from here."""
        raise NotImplementedError

    def feed(self) -> None:
        """Hand out what was moved to other queues."""
        raise NotImplementedError

    # -- places --------------------------------------------------------------------------------------------------

    def place(self, entry: Entry, views: Sequence[View] | None = None) -> None:
        """Put a waiting message where it may be taken from; the caller dispatches."""
        if GROUP in entry.envelope.properties:
            self.grouped.add(entry)
            self.plain = False
        if self.plain:
            self.main.push(entry)
            return
        views = self.views_of(entry) if views is None else views
        entry.places = self.shared(tuple(views))
        for view in views:
            view.push(entry)
            self.touched[view] = None

    def shared(self, places: tuple[Backlog, ...]) -> tuple[Backlog, ...]:
        """One tuple for all messages in the same places: a million of them would keep the garbage collector busy."""
        if len(self._shared) > _MOST_SHARED:
            self._shared.clear()
        return self._shared.setdefault(places, places)

    def unplace(self, entry: Entry) -> None:
        """Take a message out of everything in which it waited."""
        for place in entry.places or (self.main,):
            place.remove(entry)
        entry.places = None

    def views_of(self, entry: Entry) -> list[View]:
        """The views in which the message belongs."""
        found = [self.main]
        if self._index is not None:
            found += [view for view in self._index.candidates(entry.envelope) if view.wants(entry)]
        return found

    def backlogs(self) -> list[Backlog]:
        """Where messages wait."""
        return [self.main, *(consumer.own for consumer in self.consumers if consumer.own is not None)]

    def add_view(self, text: str, view: View, selector: "Selector") -> None:
        """Somebody selects."""
        from jmsbridge.selectors import SelectorIndex  # here, since it loads the grammar

        if self._index is None:
            self._index = SelectorIndex()
        self.views[text] = view
        self._index.add(view, selector)
        self.plain = False

    def drop_view(self, view: View) -> None:
        """Nobody selects like this any more."""
        self.views = {text: other for text, other in self.views.items() if other is not view}
        if self._index is not None:
            self._index.discard(view)
        self._shared.clear()
        self.touched.pop(view, None)
        self._discard(view)
        self.plain = not (self.views or self.grouped)

    # -- ends ----------------------------------------------------------------------------------------------------

    def forget(self, entries: Sequence[Entry]) -> None:
        """These messages, which nobody holds, are done with; they are given in order."""
        count = len(entries)
        self.common.do(forgotten, self, entries, self.size - count, self.common.stored - count)

    def expire(self, entries: Sequence[Entry]) -> None:
        """These messages, which nobody holds, were not taken in time; they are given in order."""
        if not self.heirs:
            self.forget(entries)
            return
        for entry in entries:
            heir = next((one for one in self.heirs if one.view.matches(entry.envelope)), None)
            if heir is None:
                self.forget((entry,))
            else:
                heir.put_aside(entry)

    def ungroup(self, entries: Iterable[Entry]) -> None:
        """These messages are gone; without messages of groups there is nothing to be looked after."""
        if self.grouped:
            self.grouped.difference_update(entries)
            if not self.grouped:
                self.plain = not self.views

    def end(self) -> None:
        """Drop the messages that wait; those that are held are dropped when they are settled."""
        self.ended = True
        held = sum(len(consumer.held) for consumer in (*self.consumers, *self.retired))
        self.common.stored -= self.size - held
        self.size = held
        self._sweep_at = 0
        self.common.schedule.call_off(self.alarm)
        self.alarm = None
        for backlog in (*self.backlogs(), *self.views.values()):
            self._discard(backlog)
        for place in (self.delayed, self.grouped):
            if place:
                self.common.schedule.start(_emptied(place))
        self.delayed, self.grouped = [], set()

    def _discard(self, backlog: Backlog) -> None:
        """Nobody takes from this any more: free its memory, a lot of it bit by bit."""
        chunks, backlog.chunks = backlog.chunks, Backlog().chunks
        if len(chunks) > 1:
            self.common.schedule.start(_emptied(chunks))

    # -- in time -------------------------------------------------------------------------------------------------

    def watch(self, entry: Entry) -> None:
        """See that a message appears when it is due, and is swept after it expired."""
        expiration = entry.envelope.expiration
        if expiration:
            self._sweep_after(expiration)
        if expiration or self.delayed:
            self.arm()

    def _sweep_after(self, expiration: int) -> None:
        # not too often: a sweep looks at every message
        earliest = self.common.clock() + _SWEEP_EVERY + self.size // 100
        due = -(-max(expiration, earliest) // _SWEEP_EVERY) * _SWEEP_EVERY
        if not self._sweep_at or due < self._sweep_at:
            self._sweep_at = due

    def arm(self) -> None:
        """Be called when there is something to do."""
        due = self.delayed[0][0] if self.delayed and not self._appearing else 0
        if self._sweep_at and (not due or self._sweep_at < due):
            due = self._sweep_at
        alarm = self.alarm
        if due and (alarm is None or alarm.queue is None or alarm.due > due):
            self.common.schedule.set(self, due)

    def wake(self, now: int) -> None:
        """Do what is due; called by the schedule."""
        if self.delayed and self.delayed[0][0] <= now and not self._appearing:
            self._appearing = True
            self.common.schedule.start(self._appear(now))
        if self._sweep_at and self._sweep_at <= now:
            self._sweep_at = 0
            self.common.schedule.start(self._sweep(now))
        self.arm()

    def catch_up(self) -> bool:
        """Let the next message appear that is due, so that an answer given after the last one is right to the
        millisecond; whether there was one.
        """
        return bool(self.delayed) and self._appear_next(self.common.clock())

    def _appear(self, now: int) -> Iterator[None]:
        """Delayed messages that are due take their places behind those that are there."""
        while self._appear_next(now):
            yield
        self._appearing = False
        self.arm()

    def _appear_next(self, now: int) -> bool:
        delayed = self.delayed
        if not delayed or delayed[0][0] > now:
            return False
        item = delayed[0]
        entry = item[2]
        if entry.holder is None and is_expired(entry.envelope, now):
            self.expire((entry,))
            self.feed()
        if entry.holder is not None:
            heappop(delayed)
        else:
            self.sequence += 1
            self.common.do(appeared, self, item, key_of(entry.envelope.priority, self.sequence))
            self.dispatch()
        return True

    def _sweep(self, now: int) -> Iterator[None]:
        """Drop expired messages."""
        soonest = 0
        for backlog in self.backlogs():
            after = -1
            while page := backlog.page(after):
                timed = [entry for entry in page if entry.holder is None and entry.envelope.expiration]
                expired = [entry for entry in timed if entry.envelope.expiration <= now]
                if expired:
                    self.expire(expired)
                    self.feed()
                left = [entry.envelope.expiration for entry in timed if entry.holder is None]
                if left:
                    soonest = min(*left, soonest or left[0])
                after = page[-1].key
                yield
        if soonest and not self.ended:
            self._sweep_after(soonest)
            self.arm()
        self.rest()


def _emptied(place: list[deque[Entry]] | list[tuple[int, int, Entry]] | set[Entry]) -> Iterator[None]:
    """Free what nobody uses any more, bit by bit."""
    while place:
        place.pop()
        yield
