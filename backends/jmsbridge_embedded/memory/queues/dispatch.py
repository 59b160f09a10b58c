"""Which consumer gets which message of a queue."""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Final

from jmsbridge.spi import DEAD_LETTER_EXPIRED, Address, Arrival, Envelope
from jmsbridge_embedded.memory.queues.backlog import GONE, Backlog, Entry
from jmsbridge_embedded.memory.queues.contents import Contents
from jmsbridge_embedded.memory.queues.schedule import Schedule
from jmsbridge_embedded.memory.queues.state import BrokerState
from jmsbridge_embedded.memory.queues.steps import delivered, forgotten, moved
from jmsbridge_embedded.memory.queues.takers import Groups, Taker, View
from jmsbridge_embedded.order import BASES
from jmsbridge_embedded.rules import dead_letter

__all__ = ["Dispatcher"]

_turn: Final = attrgetter("turn")


class Dispatcher(Contents):
    """A queue's messages and its consumers; the broker's lock is held in every method.

    Messages are delivered as soon as possible: after each verb, no waiting message matches a consumer with credit.
    While the queue is ``plain``, all consumers take from ``main``. ``expiry_consumers`` name a queue for messages that
    expire here, ``moved_to`` are queues that received such messages and are not dispatched yet; ``find`` gives a queue
    of the same broker.
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
        self.expiry_consumers: list[Taker] = []
        self.moved_to: dict[Dispatcher, None] = {}
        self.groups = Groups()
        self._eager: list[Taker] = []
        self._turns = 0

    def serve(self, consumer: Taker) -> None:
        """Deliver waiting messages to a consumer that got more credit."""
        if not self.plain:
            self.touched[consumer.view] = None
            if consumer.own is not None:
                self._eager.append(consumer)
        self.dispatch()

    def pause(self, consumer: Taker) -> None:
        """Set the consumer's credit to zero."""
        if consumer.credit > 0:
            consumer.view.ring.remove(consumer)
            consumer.credit = 0

    def dispatch(self) -> None:
        """Deliver to consumers with credit, one message each in turn."""
        if self.plain:
            self._dispatch_plainly()
        else:
            self._dispatch_selectively()
        if self.moved_to:
            self.dispatch_moved()

    def deliver(self, consumer: Taker, entry: Entry, size: int, stored: int) -> None:
        """Deliver to a consumer with credit; ``size`` and ``stored`` are the counts that include the message."""
        count = entry.count
        envelope = entry.envelope
        arrival = Arrival(entry, envelope, True, count + 1, entry.failures) if count else Arrival(entry, envelope)
        credit = consumer.credit - 1
        state = self.state
        if consumer.presettled:
            size -= 1
            stored -= 1
        state.step = (delivered, self, consumer, entry, arrival, credit, size, stored)
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
        """Deliver a new message at once; False if no consumer of these views has credit, or older messages wait."""
        ready = [view for view in views if view.ring]
        if not ready or any(view.peek() is not None for view in ready):
            return False
        taker = min((view.ring[0] for view in ready), key=_turn)
        self._turns = taker.turn = self._turns + 1
        self.deliver(taker, entry, size, stored)
        return True

    def _dispatch_plainly(self) -> None:
        """Without selectors and groups: every consumer may get every message."""
        ring, main, state = self.ring, self.main, self.state
        while ring:
            front = main.chunks[0]
            if not front:
                return
            entry = front[0]
            expiration = entry.envelope.expiration
            if entry.holder is not None:
                main.peek()  # drops the entry
            elif expiration and expiration <= state.clock():
                self.expire((entry,))
            else:
                self.deliver(ring[0], entry, self.size, state.stored)
                if len(front) > 1 and front[0] is entry:
                    front.popleft()
                else:
                    main.peek()

    def _dispatch_selectively(self) -> None:
        """With selectors or groups: only views that changed, ``touched``, can have a message to deliver."""
        touched, eager = self.touched, self._eager
        while True:
            own_first = bool(eager)
            if own_first:
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
                self.deliver(consumer, entry, self.size, self.state.stored)
            elif own_first:
                eager.remove(consumer)
            else:
                touched.pop(consumer.view, None)

    def _best(self, consumer: Taker) -> Entry | None:
        """The next message for this consumer; those before it whose groups others own are moved to the owners."""
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
        """Let a message wait for the owner of its group only."""
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

    # -- removing and moving messages ----------------------------------------------------------------------------

    def forget(self, entries: Sequence[Entry]) -> None:
        """Remove messages that no consumer holds, given in order."""
        count = len(entries)
        self.state.do(forgotten, self, entries, self.size - count, self.state.stored - count)

    def expire(self, entries: Sequence[Entry]) -> None:
        """Remove expired messages that no consumer holds, given in order, or move them to the expiry queue."""
        if not self.expiry_consumers:
            self.forget(entries)
            return
        for entry in entries:
            consumer = next((one for one in self.expiry_consumers if one.view.matches(entry.envelope)), None)
            if consumer is None:
                self.forget((entry,))
            else:
                self.move_expired(entry, consumer)

    def move_expired(self, entry: Entry, consumer: Taker) -> None:
        """Move an expired message that no consumer holds to the queue that this consumer names for expired messages."""
        to = Address(consumer.expired or "")
        made = dead_letter(entry.envelope, to, self.origin, entry.count, self.state.clock(), DEAD_LETTER_EXPIRED)
        self._move(entry, made, self.find(to))

    def dispatch_moved(self) -> None:
        """Dispatch the queues to which messages were moved; not called while this queue dispatches."""
        while self.moved_to:
            self.moved_to.popitem()[0].dispatch()

    def _move(self, entry: Entry, envelope: Envelope, target: "Dispatcher") -> None:
        """Move a message that no consumer holds to another queue as ``envelope``; see ``dispatch_moved``."""
        target.sequence += 1
        made = Entry(envelope, BASES[envelope.priority] + target.sequence)
        size = self.size - 1
        target_size = self.size if target is self else target.size + 1
        self.moved_to[target] = None
        self.state.do(moved, self, entry, size + (target is self), target, made, target_size, self.state.stored)

    # -- after an interrupt --------------------------------------------------------------------------------------

    def rebuild_rings(self) -> None:
        """Rebuild the rings from the consumers' credits."""
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
