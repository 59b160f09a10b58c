"""A queue, or the queue of one topic subscription: adding and returning messages, consumers, delays and expiry."""

from collections.abc import Callable, Iterable, Iterator
from heapq import heappop
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from jmsbridge.spi import Address, Envelope
from jmsbridge_embedded.client import Client
from jmsbridge_embedded.groups import GROUP
from jmsbridge_embedded.memory.queues.backlog import CHUNK, Entry
from jmsbridge_embedded.memory.queues.dispatch import Dispatcher
from jmsbridge_embedded.memory.queues.duplicates import Window
from jmsbridge_embedded.memory.queues.schedule import Schedule
from jmsbridge_embedded.memory.queues.state import BrokerState
from jmsbridge_embedded.memory.queues.steps import appeared, kept
from jmsbridge_embedded.memory.queues.takers import Taker, View
from jmsbridge_embedded.memory.queues.walk import Walk
from jmsbridge_embedded.order import BASES, key_of
from jmsbridge_embedded.rules import DEAD_LETTERS, dead_letter, is_expired

if TYPE_CHECKING:
    from jmsbridge.selectors import Selector

__all__ = ["Queue"]

_key: Final = attrgetter("key")


class Queue(Dispatcher):
    """A queue; the broker's lock is held in every method.

    ``on_idle`` is called when the last consumer has gone, and when a message is removed after that. ``owner`` is the
    client of a temporary queue; ``kept`` says that the queue stays although it is empty.
    """

    find: "Callable[[Address], Queue]"

    def __init__(
        self,
        state: BrokerState,
        schedule: Schedule,
        origin: str,
        find: "Callable[[Address], Queue]",
        on_idle: "Callable[[Queue], None]",
        owner: Client | None = None,
    ) -> None:
        super().__init__(state, schedule, origin, find, self._wake)
        self.owner = owner
        self.kept = False
        self.window = Window()
        self._on_idle = on_idle

    # -- adding and returning messages ---------------------------------------------------------------------------

    def add(self, envelope: Envelope, at_once: bool = True, count: int = 0, failures: int = 0) -> None:
        """Add a message that was delivered ``count`` times elsewhere, of which ``failures`` failed.

        With ``at_once`` false the caller dispatches, after it has added all messages that belong together.
        """
        self.sequence = sequence = self.sequence + 1
        entry = Entry(envelope, BASES[envelope.priority] + sequence)
        if count:
            entry.count, entry.failures = count, failures
        state = self.state
        size = self.size + 1
        stored = state.stored + 1
        if not self.plain or envelope.expiration or envelope.delivery_time or GROUP in envelope.properties:
            self._add_specially(entry, size, stored, at_once)
            return
        tail = self.main.chunks[-1]  # if a message waits, no consumer has credit
        if not tail and at_once and self.ring:
            self.deliver(self.ring[0], entry, size, stored)
            return
        state.step = (kept, self, entry, 0, size, stored)
        self.size = size
        state.stored = stored
        if tail and sequence % CHUNK and tail[-1].key < entry.key:
            tail.append(entry)
        else:
            self.main.push(entry)  # starts a new piece when this one is full

    def _add_specially(self, entry: Entry, size: int, stored: int, at_once: bool) -> None:
        """Add a message that is delayed or expires, or that not every consumer may get."""
        envelope = entry.envelope
        now = self.state.clock() if envelope.expiration or envelope.delivery_time else 0
        if _is_late(envelope, now):
            return
        due = envelope.delivery_time if envelope.delivery_time > now else 0
        views = None if due or GROUP in envelope.properties else self.views_of(entry)
        if views is not None and at_once and self.offer(entry, views, size, stored):
            return
        self.state.do(kept, self, entry, due, size, stored, views)
        if at_once and not due:
            self.dispatch()

    def make_entry(self, envelope: Envelope) -> tuple[Entry, int] | None:
        """The entry for a message that a step will add, and when it will appear (0: now); None if it expires before."""
        now = self.state.clock()
        if _is_late(envelope, now):
            return None
        self.sequence += 1
        due = envelope.delivery_time if envelope.delivery_time > now else 0
        return Entry(envelope, key_of(envelope.priority, self.sequence)), due

    def put_back(self, entries: Iterable[Entry], deliveries: int, failures: int) -> None:
        """Return delivered messages to their places, adding to both counts; the caller dispatches."""
        for entry in sorted(entries, key=_key, reverse=True):  # inserting at the front costs least
            if self.ended:
                self.forget((entry,))
                continue
            entry.holder = None
            entry.count += deliveries
            entry.failures += failures
            self.place(entry)
            self.timetable.watch(entry, self.size)

    def dead_letter(self, entry: Entry, to: str | None, deliveries: int, reason: str | None) -> None:
        """Put a copy of a rejected message into the queue ``to``, or into the broker's dead-letter queue."""
        target = Address(to) if to else DEAD_LETTERS
        made = dead_letter(entry.envelope, target, self.origin, deliveries, self.state.clock(), reason)
        self.find(target).add(made)

    # -- consumers -----------------------------------------------------------------------------------------------

    @property
    def unsettled(self) -> bool:
        """Whether closed consumers hold messages that are unsettled, or accepted in an open transaction."""
        return any(consumer.held for consumer in self.retired)

    def join(self, consumer: Taker, text: str | None, selector: "Selector | None") -> None:
        """Add a consumer, without credit; the caller then calls ``look`` until it returns False."""
        self.consumers.append(consumer)
        if consumer.expired is not None:
            self.expiry_consumers.append(consumer)
        if text is None or selector is None:
            return
        view = self.views.get(text)
        if view is None:
            view = View(selector, Walk(self.sequence))
            self.add_view(text, view, selector)
        view.users += 1
        consumer.view = view

    def look(self, view: View) -> bool:
        """Put the next page of older messages into the views that they match; return whether to go on."""
        walk = view.walk
        if walk is None:
            return False
        for entry in walk.page([self.main]):
            if view.matches(entry.envelope):
                entry.places = self.shared((*(entry.places or (self.main,)), view))
                view.push(entry)
        if walk.done:
            view.walk = None
        return not walk.done

    def leave(self, consumer: Taker) -> None:
        """Remove a consumer, which may still hold messages; free its groups and the messages waiting for it."""
        if consumer in self.consumers:
            self.pause(consumer)
            self.consumers.remove(consumer)
            self.expiry_consumers = [other for other in self.expiry_consumers if other is not consumer]
            self.groups.free(consumer)
            own, consumer.own = consumer.own, None
            for entry in own or ():
                self.place(entry)
            view, consumer.view = consumer.view, self.main
            if view is not self.main:
                view.users -= 1
                if not view.users:
                    self.drop_view(view)
        self.retired = [other for other in dict.fromkeys((*self.retired, consumer)) if other.held]
        self.dispatch()
        self.rest()

    def rest(self) -> None:
        """Call ``on_idle`` if there is no consumer."""
        if not self.consumers:
            self._on_idle(self)

    # -- delays and expiry ---------------------------------------------------------------------------------------

    def catch_up(self) -> bool:
        """Let the next due message appear without waiting for the timer; return whether there was one."""
        return bool(self.timetable.delayed) and self._appear_next(self.state.clock())

    def _wake(self, now: int) -> None:
        """Start what is due; called by the schedule."""
        times = self.timetable
        if times.delayed and times.delayed[0][0] <= now and not times.appearing:
            times.appearing = True
            self.schedule.start(self._appear(now))
        if times.sweep_at and times.sweep_at <= now:
            times.sweep_at = 0
            self.schedule.start(self._sweep(now))
        times.arm()

    def _appear(self, now: int) -> Iterator[None]:
        """A job: due messages take their places behind the waiting ones."""
        while self._appear_next(now):
            yield
        self.timetable.appearing = False
        self.timetable.arm()

    def _appear_next(self, now: int) -> bool:
        delayed = self.timetable.delayed
        if not delayed or delayed[0][0] > now:
            return False
        item = delayed[0]
        entry = item[2]
        if entry.holder is None and is_expired(entry.envelope, now):
            self.expire((entry,))
            self.dispatch_moved()
        if entry.holder is not None:
            heappop(delayed)
        else:
            self.sequence += 1
            self.state.do(appeared, self, item, key_of(entry.envelope.priority, self.sequence))
            self.dispatch()
        return True

    def _sweep(self, now: int) -> Iterator[None]:
        """A job: remove expired messages."""
        soonest = 0
        for backlog in self.backlogs():
            after = -1
            while page := backlog.page(after):
                timed = [entry for entry in page if entry.holder is None and entry.envelope.expiration]
                expired = [entry for entry in timed if entry.envelope.expiration <= now]
                if expired:
                    self.expire(expired)
                    self.dispatch_moved()
                left = [entry.envelope.expiration for entry in timed if entry.holder is None]
                if left:
                    soonest = min(*left, soonest or left[0])
                after = page[-1].key
                yield
        if soonest and not self.ended:
            self.timetable.sweep_after(soonest, self.size)
            self.timetable.arm()
        self.rest()

    def repair(self) -> None:
        """After an interrupt: rebuild what follows from credits and messages, and dispatch."""
        self.rebuild_rings()
        self.plain = not (self.views or self.grouped)
        self.timetable.arm()
        self.dispatch()
        self.rest()


def _is_late(envelope: Envelope, now: int) -> bool:
    """Whether a new message has expired, or will have expired when it would appear."""
    return 0 < envelope.expiration <= max(now, envelope.delivery_time)
