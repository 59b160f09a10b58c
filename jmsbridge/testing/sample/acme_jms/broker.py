"""The broker: stores messages and dispatches them to subscriptions. Everything runs under its one lock."""

import bisect
import itertools
import threading
from typing import TYPE_CHECKING

from jmsbridge.spi import Address, Arrival, Envelope, Outcome

if TYPE_CHECKING:
    from .link import Link, Subscription

__all__ = ["Broker", "Entry", "Store"]


class Entry:
    """One message in one store; it is also the token of its arrival."""

    def __init__(self, number: int, envelope: Envelope) -> None:
        self.number = number
        self.envelope = envelope
        self.redelivered = False


class Store:
    """Messages in order, and the subscriptions that take turns in getting them."""

    def __init__(self) -> None:
        self.waiting: list[Entry] = []
        self.subscriptions: list[Subscription] = []

    def put(self, entry: Entry) -> None:
        """Add or return a message, at the position given by its number."""
        bisect.insort(self.waiting, entry, key=lambda each: each.number)

    def dispatch(self) -> None:
        """Deliver as many messages as the credit allows."""
        while self.waiting:
            ready = next((each for each in self.subscriptions if each.credit), None)
            if ready is None:
                return
            self.subscriptions.remove(ready)
            self.subscriptions.append(ready)
            entry = self.waiting.pop(0)
            ready.credit -= 1
            if not ready.presettled:
                ready.unsettled[entry] = None
            ready.inbox.put(Arrival(entry, entry.envelope, entry.redelivered, 2 if entry.redelivered else 1))

    def settle(self, subscription: "Subscription", entries: list[Entry], outcome: Outcome) -> None:
        """Drop accepted messages and return the others, in one step."""
        for entry in entries:
            del subscription.unsettled[entry]
            if outcome is not Outcome.ACCEPTED:
                entry.redelivered |= outcome in (Outcome.FAILED, Outcome.REQUEUED)
                self.put(entry)
        self.dispatch()


class Broker:
    """Queues by name, and for each topic the stores of its subscriptions."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # guards all of the broker; inboxes and tickets may be called under it
        self.links: list[Link] = []
        self._queues: dict[str, Store] = {}
        self._topics: dict[str, list[Store]] = {}
        self._numbers = itertools.count()

    def send(self, envelope: Envelope) -> None:
        """Take responsibility for a message."""
        address = envelope.address
        stores = self._topics.get(address.name, []) if address.topic else [self._queue(address.name)]
        for store in stores:
            store.put(Entry(next(self._numbers), envelope))
            store.dispatch()

    def _queue(self, name: str) -> Store:
        return self._queues.setdefault(name, Store())

    def attach(self, address: Address, subscription: "Subscription") -> Store:
        """The store of a new subscription: that of its queue, or a new one on its topic."""
        store = Store() if address.topic else self._queue(address.name)
        if address.topic:
            self._topics.setdefault(address.name, []).append(store)
        store.subscriptions.append(subscription)
        return store

    def detach(self, address: Address, subscription: "Subscription") -> None:
        """End a subscription; its unsettled messages return to the store."""
        store = subscription.store
        if subscription in store.subscriptions:
            store.subscriptions.remove(subscription)
            if address.topic:
                self._topics[address.name].remove(store)
            store.settle(subscription, list(subscription.unsettled), Outcome.REQUEUED)

    @property
    def stored(self) -> int:
        """The number of messages in queues and subscriptions."""
        with self.lock:
            stores = [*self._queues.values(), *itertools.chain.from_iterable(self._topics.values())]
            held = [each.unsettled for store in stores for each in store.subscriptions]
            return sum(map(len, [*(store.waiting for store in stores), *held]))

    def cut(self) -> None:
        """End all links, as when the network fails."""
        with self.lock:
            for link in list(self.links):
                link.die("the network failed")
