"""A queue, or the backlog of one topic subscription: who gets which message when."""

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from jmsbridge.spi import Arrival, Envelope
from jmsbridge_embedded.groups import GROUP
from jmsbridge_embedded.memory.queues.backlog import CHUNK, GONE, Backlog, Entry, View
from jmsbridge_embedded.memory.queues.contents import Contents
from jmsbridge_embedded.memory.queues.duplicates import Window
from jmsbridge_embedded.memory.queues.groups import Groups
from jmsbridge_embedded.memory.queues.state import Common
from jmsbridge_embedded.memory.queues.steps import handed, kept, moved
from jmsbridge_embedded.memory.queues.walk import Walk
from jmsbridge_embedded.order import BASES, key_of

if TYPE_CHECKING:
    from jmsbridge.selectors import Selector
    from jmsbridge_embedded.memory.consumer import Consumer
    from jmsbridge_embedded.memory.link import Link

__all__ = ["Queue"]

_key: Final = attrgetter("key")
_turn: Final = attrgetter("turn")


class Queue(Contents):
    """Messages and those among whom they are shared out; every method expects the broker's lock to be held.

    A message changes hands as soon as it can: after each verb no consumer with credit could take a waiting message.
    While the queue is ``plain``, all consumers take from ``main`` and nothing else needs to be looked at. ``on_idle``
    is told when the last consumer has gone, and again when the last message goes after that.
    """

    def __init__(
        self, common: Common, origin: str, on_idle: Callable[["Queue"], None], owner: "Link | None" = None
    ) -> None:
        super().__init__(common)
        self.origin = origin
        self.owner = owner
        self.kept = False
        self.ring = self.main.ring
        self.window = Window()
        self._on_idle = on_idle
        self._groups = Groups()
        self._eager: list[Consumer] = []
        self._turns = 0

    # -- messages come -------------------------------------------------------------------------------------------

    def add(self, envelope: Envelope, at_once: bool = True, count: int = 0, failures: int = 0) -> None:
        """A new message that was delivered ``count`` times elsewhere, ``failures`` times of them in vain.

        With ``at_once`` false the caller dispatches, once all that belong together are there.
        """
        self.sequence = sequence = self.sequence + 1
        entry = Entry(envelope, BASES[envelope.priority] + sequence)
        if count:
            entry.count, entry.failures = count, failures
        common = self.common
        size = self.size + 1
        stored = common.stored + 1
        if not self.plain or envelope.expiration or envelope.delivery_time or GROUP in envelope.properties:
            self._add_specially(entry, size, stored, at_once)
            return
        tail = self.main.chunks[-1]  # where anything waits, nobody has credit
        if not tail and at_once and self.ring:
            self._hand(self.ring[0], entry, size, stored)
            return
        common.step = (kept, self, entry, 0, size, stored)
        self.size = size
        common.stored = stored
        if tail and sequence % CHUNK and tail[-1].key < entry.key:
            tail.append(entry)
        else:
            self.main.push(entry)  # which begins another piece once this one is long enough

    def _add_specially(self, entry: Entry, size: int, stored: int, at_once: bool) -> None:
        """A message that waits for its time or expires, or that not everybody may have."""
        envelope = entry.envelope
        now = self.common.clock() if envelope.expiration or envelope.delivery_time else 0
        if _is_late(envelope, now):
            return
        due = envelope.delivery_time if envelope.delivery_time > now else 0
        views = None if due or GROUP in envelope.properties else self.views_of(entry)
        taker = None if views is None or not at_once else self._taker(views)
        if taker is not None:
            self._turns = taker.turn = self._turns + 1
            self._hand(taker, entry, size, stored)
            return
        self.common.do(kept, self, entry, due, size, stored, views)
        if at_once and not due:
            self.dispatch()

    def _taker(self, views: Sequence[View]) -> "Consumer | None":
        """Who gets a new message at once: nobody when none has credit, or when others are to be handed out first."""
        ready = [view for view in views if view.ring]
        if not ready or any(view.peek() is not None for view in ready):
            return None
        return min((view.ring[0] for view in ready), key=_turn)

    def make_entry(self, envelope: Envelope) -> tuple[Entry, int] | None:
        """What is going to be a message here, and when it will appear (0: now); None when it is too late for it."""
        now = self.common.clock()
        if _is_late(envelope, now):
            return None
        self.sequence += 1
        due = envelope.delivery_time if envelope.delivery_time > now else 0
        return Entry(envelope, key_of(envelope.priority, self.sequence)), due

    def give_back(self, entries: Iterable[Entry], deliveries: int, failures: int) -> None:
        """Delivered messages return to their places, each counting that many of both; the caller dispatches."""
        for entry in sorted(entries, key=_key, reverse=True):  # each to the front, which costs least
            if self.ended:
                self.forget((entry,))
                continue
            entry.holder = None
            entry.count += deliveries
            entry.failures += failures
            self.place(entry)
            self.watch(entry)

    def move(self, entry: Entry, envelope: Envelope, target: "Queue") -> None:
        """A message that nobody holds goes to another queue in this form; it is handed out there by ``feed``."""
        target.sequence += 1
        made = Entry(envelope, BASES[envelope.priority] + target.sequence)
        size = self.size - 1
        target_size = self.size if target is self else target.size + 1
        self.fed[target] = None
        self.common.do(moved, self, entry, size + (target is self), target, made, target_size, self.common.stored)

    def feed(self) -> None:
        """Hand out what was moved to other queues; not in the middle of handing out here."""
        while self.fed:
            self.fed.popitem()[0].dispatch()

    # -- consumers -----------------------------------------------------------------------------------------------

    @property
    def unsettled(self) -> bool:
        """Whether consumers that are gone left messages which are not settled, or accepted in an open transaction."""
        return any(consumer.held for consumer in self.retired)

    def join(self, consumer: "Consumer", text: str | None, selector: "Selector | None") -> None:
        """A consumer comes, without credit; ``look`` is to be called until it says that there is nothing more."""
        self.consumers.append(consumer)
        if consumer.expired is not None:
            self.heirs.append(consumer)
        if text is None or selector is None:
            return
        view = self.views.get(text)
        if view is None:
            view = View(selector, Walk(self.sequence))
            self.add_view(text, view, selector)
        view.users += 1
        consumer.view = view

    def look(self, view: View) -> bool:
        """Look which of some more of the messages that waited when a view was made belong in it; whether to go on."""
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

    def leave(self, consumer: "Consumer") -> None:
        """A consumer goes, though it may hold messages still; its groups are free, and others get what waits for it."""
        if consumer in self.consumers:
            self.pause(consumer)
            self.consumers.remove(consumer)
            self.heirs = [other for other in self.heirs if other is not consumer]
            self._groups.free(consumer)
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
        """Say so if nobody consumes from here."""
        if not self.consumers:
            self._on_idle(self)

    def pause(self, consumer: "Consumer") -> None:
        """The consumer has no credit any more."""
        if consumer.credit > 0:
            consumer.view.ring.remove(consumer)
            consumer.credit = 0

    # -- messages are handed out ---------------------------------------------------------------------------------

    def serve(self, consumer: "Consumer") -> None:
        """A consumer has more credit: hand out what waits for it."""
        if not self.plain:
            self.touched[consumer.view] = None
            if consumer.own is not None:
                self._eager.append(consumer)
        self.dispatch()

    def dispatch(self) -> None:
        """Hand out what can be handed out, one message per consumer in turn."""
        if self.plain:
            self._dispatch_plainly()
        else:
            self._dispatch_selectively()
        if self.fed:
            self.feed()

    def _dispatch_plainly(self) -> None:
        """Everybody may have every message."""
        ring, main, common = self.ring, self.main, self.common
        while ring:
            front = main.chunks[0]
            if not front:
                return
            entry = front[0]
            expiration = entry.envelope.expiration
            if entry.holder is not None:
                main.peek()  # drops it
            elif expiration and expiration <= common.clock():
                self.expire((entry,))
            else:
                self._hand(ring[0], entry, self.size, common.stored)
                if len(front) > 1 and front[0] is entry:
                    front.popleft()
                else:
                    main.peek()

    def _hand(self, consumer: "Consumer", entry: Entry, size: int, stored: int) -> None:
        """Deliver to a consumer with credit; the numbers are those afterwards."""
        count = entry.count
        envelope = entry.envelope
        arrival = Arrival(entry, envelope, True, count + 1, entry.failures) if count else Arrival(entry, envelope)
        credit = consumer.credit - 1
        common = self.common
        if consumer.presettled:
            size -= 1
            stored -= 1
        common.step = (handed, consumer, entry, arrival, credit, size, stored)
        consumer.credit = credit
        ring = consumer.view.ring
        if ring[0] is not consumer:
            if not credit:
                ring.remove(consumer)
        elif not credit:
            ring.popleft()
        elif len(ring) > 1:
            ring.rotate(-1)
        self.size = size
        common.stored = stored
        if consumer.presettled:
            entry.holder = GONE
            self.ungroup((entry,))
        else:
            entry.holder = consumer
            consumer.held.add(entry)
        if entry.places is not None or not self.plain:
            self.unplace(entry)
        consumer.put(arrival)

    def _dispatch_selectively(self) -> None:
        """Where there are selectors or groups: only views that were touched may have something to give."""
        touched, eager = self.touched, self._eager
        while True:
            feeding = bool(eager)
            if feeding:
                consumer = eager[0]
            else:
                ready = [view.ring[0] for view in touched if view.ring]
                if not ready:
                    touched.clear()
                    return
                consumer = min(ready, key=_turn)
            entry = self._best(consumer) if consumer.credit else None
            if entry is not None:
                self._turns = consumer.turn = self._turns + 1
                self._hand(consumer, entry, self.size, self.common.stored)
            elif feeding:
                eager.remove(consumer)
            else:
                touched.pop(consumer.view, None)

    def _best(self, consumer: "Consumer") -> Entry | None:
        """The message that this consumer is to get now; those before it that others own are set aside for them."""
        while True:
            own = None if consumer.own is None else consumer.own.peek()
            entry = consumer.view.peek()
            if own is not None and (entry is None or own.key <= entry.key):
                entry = own
            elif entry is None:
                return None
            elif self.grouped:
                owner = self._groups.owner(entry.envelope, consumer)
                if owner is not consumer:
                    self._set_aside(entry, owner, consumer.view)
                    continue
            expiration = entry.envelope.expiration
            if not expiration or expiration > self.common.clock():
                return entry
            self.expire((entry,))

    def _set_aside(self, entry: Entry, owner: "Consumer", view: View) -> None:
        """A message waits for the owner of its group only."""
        own = owner.own
        if own is None:
            own = owner.own = Backlog()
        own.push(entry)
        places = entry.places or (self.main,)
        entry.places = (own,)
        for place in (*places, view):
            if place is not own:
                place.remove(entry)
        if owner.credit:
            self._eager.append(owner)

    # -- after an interrupt --------------------------------------------------------------------------------------

    def mend(self) -> None:
        """Rings are what the credits say, and whoever may have a message gets it."""
        rings: dict[View, dict[Consumer, None]] = {}
        for view in (self.main, *self.views.values()):
            rings[view] = {consumer: None for consumer in view.ring if consumer.credit > 0}
        for consumer in self.consumers:
            if consumer.credit > 0:
                rings[consumer.view][consumer] = None
        for view, ring in rings.items():
            if list(view.ring) != list(ring):
                view.ring.clear()
                view.ring.extend(ring)
            self.touched[view] = None
        self.plain = not (self.views or self.grouped)
        self._eager[:] = [consumer for consumer in self.consumers if consumer.credit and consumer.own is not None]
        self.arm()
        self.dispatch()
        self.rest()


def _is_late(envelope: Envelope, now: int) -> bool:
    """Whether a new message has expired, or will have when it would appear."""
    return 0 < envelope.expiration <= max(now, envelope.delivery_time)
