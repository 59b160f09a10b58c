"""Which consumer gets which message of a queue."""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Final

from jmsbridge.spi import DEAD_LETTER_EXPIRED, Address, Arrival, Envelope
from jmsbridge_embedded.memory.queues.backlog import GONE, Backlog, Entry
from jmsbridge_embedded.memory.queues.contents import Contents
from jmsbridge_embedded.memory.queues.schedule import Schedule
from jmsbridge_embedded.memory.queues.state import BrokerState
from jmsbridge_embedded.memory.queues.steps import forgotten, handed, moved
from jmsbridge_embedded.memory.queues.takers import Groups, Taker, View
from jmsbridge_embedded.order import BASES
from jmsbridge_embedded.rules import dead_letter

__all__ = ["Dispatcher"]

_turn: Final = attrgetter("turn")


class Dispatcher(Contents):
    """Messages and the consumers among which they are shared out; the broker's lock is held by its callers.

    A message changes hands as soon as it can: after each verb no consumer with credit could take a waiting message.
    While the queue is ``plain``, all consumers take from ``main`` and nothing else needs to be looked at. ``heirs`` are
    the consumers that name a queue for what expires here, ``fed`` the queues that got some of it; ``find`` gives a
    queue of the same broker.
    """

    def __init__(
        self,
        state: BrokerState,
        schedule: Schedule,
        origin: str,
        find: "Callable[[Address], Dispatcher]",
        wake: Callable[[int], None],
    ) -> None:
        super().__init__(state, schedule, wake)
        self.origin = origin
        self.find = find
        self.ring = self.main.ring
        self.heirs: list[Taker] = []
        self.fed: dict[Dispatcher, None] = {}
        self.groups = Groups()
        self._eager: list[Taker] = []
        self._turns = 0

    def serve(self, consumer: Taker) -> None:
        """A consumer has more credit: hand out what waits for it."""
        if not self.plain:
            self.touched[consumer.view] = None
            if consumer.own is not None:
                self._eager.append(consumer)
        self.dispatch()

    def pause(self, consumer: Taker) -> None:
        """The consumer has no credit any more."""
        if consumer.credit > 0:
            consumer.view.ring.remove(consumer)
            consumer.credit = 0

    def dispatch(self) -> None:
        """Hand out what can be handed out, one message per consumer in turn."""
        if self.plain:
            self._dispatch_plainly()
        else:
            self._dispatch_selectively()
        if self.fed:
            self.feed()

    def hand(self, consumer: Taker, entry: Entry, size: int, stored: int) -> None:
        """Deliver to a consumer with credit; the numbers are those afterwards."""
        count = entry.count
        envelope = entry.envelope
        arrival = Arrival(entry, envelope, True, count + 1, entry.failures) if count else Arrival(entry, envelope)
        credit = consumer.credit - 1
        state = self.state
        if consumer.presettled:
            size -= 1
            stored -= 1
        state.step = (handed, self, consumer, entry, arrival, credit, size, stored)
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
        state.stored = stored
        if consumer.presettled:
            entry.holder = GONE
            self.ungroup((entry,))
        else:
            entry.holder = consumer
            consumer.held.add(entry)
        if entry.places is not None or not self.plain:
            self.unplace(entry)
        consumer.put(arrival)

    def offer(self, entry: Entry, views: Sequence[View], size: int, stored: int) -> bool:
        """Deliver a new message at once; False when no consumer of these views has credit, or others come first."""
        ready = [view for view in views if view.ring]
        if not ready or any(view.peek() is not None for view in ready):
            return False
        taker = min((view.ring[0] for view in ready), key=_turn)
        self._turns = taker.turn = self._turns + 1
        self.hand(taker, entry, size, stored)
        return True

    def _dispatch_plainly(self) -> None:
        """Every consumer may have every message."""
        ring, main, state = self.ring, self.main, self.state
        while ring:
            front = main.chunks[0]
            if not front:
                return
            entry = front[0]
            expiration = entry.envelope.expiration
            if entry.holder is not None:
                main.peek()  # drops it
            elif expiration and expiration <= state.clock():
                self.expire((entry,))
            else:
                self.hand(ring[0], entry, self.size, state.stored)
                if len(front) > 1 and front[0] is entry:
                    front.popleft()
                else:
                    main.peek()

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
                self.hand(consumer, entry, self.size, self.state.stored)
            elif feeding:
                eager.remove(consumer)
            else:
                touched.pop(consumer.view, None)

    def _best(self, consumer: Taker) -> Entry | None:
        """The message that this consumer is to get now; those before it that others own are set aside for them."""
        while True:
            own = None if consumer.own is None else consumer.own.peek()
            entry = consumer.view.peek()
            if own is not None and (entry is None or own.key <= entry.key):
                entry = own
            elif entry is None:
                return None
            elif self.grouped:
                owner = self.groups.owner(entry.envelope, consumer)
                if owner is not consumer:
                    self._set_aside(entry, owner, consumer.view)
                    continue
            expiration = entry.envelope.expiration
            if not expiration or expiration > self.state.clock():
                return entry
            self.expire((entry,))

    def _set_aside(self, entry: Entry, owner: Taker, view: View) -> None:
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

    # -- messages that end ---------------------------------------------------------------------------------------

    def forget(self, entries: Sequence[Entry]) -> None:
        """These messages, which no consumer holds, are done with; they are given in order."""
        count = len(entries)
        self.state.do(forgotten, self, entries, self.size - count, self.state.stored - count)

    def expire(self, entries: Sequence[Entry]) -> None:
        """These messages, which no consumer holds, were not taken in time; they are given in order."""
        if not self.heirs:
            self.forget(entries)
            return
        for entry in entries:
            heir = next((one for one in self.heirs if one.view.matches(entry.envelope)), None)
            if heir is None:
                self.forget((entry,))
            else:
                self.put_aside(entry, heir)

    def put_aside(self, entry: Entry, heir: Taker) -> None:
        """A message that no consumer holds has expired: it goes to the queue that this one names for such messages."""
        to = Address(heir.expired or "")
        made = dead_letter(entry.envelope, to, self.origin, entry.count, self.state.clock(), DEAD_LETTER_EXPIRED)
        self._move(entry, made, self.find(to))

    def feed(self) -> None:
        """Hand out what was moved to other queues; not in the middle of handing out here."""
        while self.fed:
            self.fed.popitem()[0].dispatch()

    def _move(self, entry: Entry, envelope: Envelope, target: "Dispatcher") -> None:
        """A message that no consumer holds goes to another queue in this form; ``feed`` hands it out there."""
        target.sequence += 1
        made = Entry(envelope, BASES[envelope.priority] + target.sequence)
        size = self.size - 1
        target_size = self.size if target is self else target.size + 1
        self.fed[target] = None
        self.state.do(moved, self, entry, size + (target is self), target, made, target_size, self.state.stored)

    # -- after an interrupt --------------------------------------------------------------------------------------

    def mend_rings(self) -> None:
        """The rings follow from the credits again."""
        rings: dict[View, dict[Taker, None]] = {}
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
        self._eager[:] = [consumer for consumer in self.consumers if consumer.credit and consumer.own is not None]
