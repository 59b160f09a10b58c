"""The queues and topics of one broker, and sending to them."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING
from uuid import uuid4

from jmsbridge.spi import Address, AddressRefused, Envelope, Interest, SendRefused
from jmsbridge_embedded.client import Client
from jmsbridge_embedded.memory.queues.backlog import Entry
from jmsbridge_embedded.memory.queues.duplicates import Window
from jmsbridge_embedded.memory.queues.queue import Queue
from jmsbridge_embedded.memory.queues.schedule import Schedule
from jmsbridge_embedded.memory.queues.state import BrokerState
from jmsbridge_embedded.memory.queues.steps import kept, registering
from jmsbridge_embedded.memory.topics import Topic, Topics
from jmsbridge_embedded.rules import check_creatable, check_interest, check_owner, check_unused, full

if TYPE_CHECKING:
    from jmsbridge.selectors import Selector

__all__ = ["Destinations"]


class Destinations:
    """Queues and topics by name; the broker's lock is held in every method."""

    def __init__(self, state: BrokerState, schedule: Schedule, where: str) -> None:
        self.state = state
        self.where = where
        self.queues: dict[str, Queue] = {}
        self.topics = Topics(state, self._make)
        self._schedule = schedule

    def repair(self) -> None:
        """After an interrupt: dispatch waiting messages, and forget unused destinations."""
        subscriptions = [each for topic in self.topics.topics.values() for each in topic.subscriptions]
        for queue in [*self.queues.values(), *(each.queue for each in subscriptions)]:
            queue.repair()
        self.topics.repair()

    def clear(self) -> None:
        """Drop all queues and topics."""
        self.queues.clear()
        self.topics = Topics(self.state, self._make)

    # -- sending -------------------------------------------------------------------------------------------------

    def publish(self, envelope: Envelope, client: Client) -> None:
        """Send one message now; in the common case the channel adds it to the queue without this call."""
        self.admit(envelope, client)
        for queue in self._keep_copies(envelope, client):
            queue.dispatch()

    def publish_all(self, envelopes: Iterable[Envelope], client: Client) -> None:
        """Send messages that passed ``check``; all are stored before the first is delivered."""
        touched: dict[Queue, None] = {}
        for envelope in envelopes:
            for queue in self._keep_copies(envelope, client):
                touched[queue] = None
        for queue in touched:
            queue.dispatch()

    def admit(self, envelope: Envelope, client: Client) -> None:
        """Raise if the message cannot be sent: no such destination, or the broker is full."""
        address = envelope.address
        copies = len(self.topics.find(address).subscriptions) if address.topic else 1
        if not address.topic and address.name not in self.queues:
            check_creatable(address)
        if self.state.stored + copies > client.max_messages:
            raise self._full(client)

    def check(self, envelopes: Iterable[Envelope], client: Client) -> None:
        """Raise unless all of these messages, which count as stored already, could be sent."""
        more = 0
        for envelope in envelopes:
            if envelope.address.topic:
                more += len(self.topics.find(envelope.address).subscriptions) - 1
            elif envelope.address.name not in self.queues:
                check_creatable(envelope.address)
        if more > 0 and self.state.stored + more > client.max_messages:
            raise self._full(client)

    def _full(self, client: Client) -> SendRefused:
        """The error for a send beyond this client's limit."""
        return full(self.where, self.state.stored, client.max_messages)

    def _keep_copies(self, envelope: Envelope, client: Client) -> list[Queue]:
        """Store the message, or its copies for subscriptions, unless it is a duplicate. The caller dispatches."""
        address = envelope.address
        duplicate_id = envelope.duplicate_id
        place: Topic | Queue
        place = self.topics.find(address, keep=duplicate_id is not None) if address.topic else self.queue(address)
        if duplicate_id is not None and duplicate_id in place.window:
            return []
        queues = [place] if isinstance(place, Queue) else place.wanting(envelope, client)
        copies = []
        for queue in queues:
            made = queue.make_entry(envelope)
            if made is not None:
                copies.append((queue, *made, queue.size + 1))
        window = None if duplicate_id is None else place.window
        stored = self.state.stored + len(copies)
        self.state.do(_published, copies, stored, window, duplicate_id, client.duplicate_window)
        return queues

    # -- receiving -----------------------------------------------------------------------------------------------

    def consumable(self, interest: Interest, selector: "Selector | None", client: Client) -> Queue:
        """The queue, or the subscription's queue, for a consumer with this interest."""
        address = interest.address
        check_interest(interest, client.client_id)
        if address.topic:
            check_owner(address, self.topics.find(address).owner not in (None, client))
            return self.topics.subscribe(interest, selector, client).queue
        queue = self.browsable(interest, client)
        self.queues[address.name] = queue
        return queue

    def browsable(self, interest: Interest, client: Client) -> Queue:
        """The queue of that name; browsing does not create it."""
        check_interest(interest, client.client_id)
        address = interest.address
        queue = self.queues.get(address.name) or self._new_queue(address)
        check_owner(address, queue.owner not in (None, client))
        return queue

    # -- destinations --------------------------------------------------------------------------------------------

    def queue(self, address: Address) -> Queue:
        """The queue of that name, created on first use unless it is temporary."""
        queue = self.queues.get(address.name)
        if queue is None:
            queue = self._new_queue(address)
            self.state.do(registering)
            self.queues[address.name] = queue
        return queue

    def _make(self, origin: str, on_idle: Callable[[Queue], None], owner: Client | None = None) -> Queue:
        return Queue(self.state, self._schedule, origin, self.queue, on_idle, owner)

    def _new_queue(self, address: Address, owner: Client | None = None) -> Queue:
        """A new queue; without owner it is forgotten when it is idle, empty and remembers no duplicate ids."""
        if owner is None:
            check_creatable(address)

        def forget(queue: Queue) -> None:
            if (
                not (queue.size or queue.owner or queue.kept or len(queue.window))
                and self.queues.get(address.name) is queue
            ):
                queue.end()
                del self.queues[address.name]

        return self._make(str(address), forget, owner)

    def declare(self, address: Address, client: Client) -> Address:
        """Create a temporary destination of this client, under the requested name unless it is taken."""
        taken = self.topics.topics if address.topic else self.queues
        name = address.name or "temporary"
        made = Address(f"{name}-{uuid4().hex}" if name in taken else name, address.topic, True)
        if made.topic:
            self.topics.topics[made.name] = Topic(client)
        else:
            self.queues[made.name] = self._new_queue(made, client)
        return made

    def find(self, address: Address) -> Topic | Queue | None:
        """The queue or topic of that name, or None."""
        return self.topics.topics.get(address.name) if address.topic else self.queues.get(address.name)

    def delete(self, address: Address, client: Client) -> None:
        """Delete a temporary destination of this client that has no consumers."""
        place = self.find(address)
        if place is None or place.owner is None:
            raise AddressRefused(f"{address} is not a temporary destination of {self.where}")
        check_owner(address, place.owner is not client, "delete")
        self.remove_unused(address, place, "deleting")

    def remove_unused(self, address: Address, place: Topic | Queue, doing: str) -> None:
        """Remove a queue or topic; ``AddressInUse`` while it has consumers."""
        queues = [place] if isinstance(place, Queue) else [each.queue for each in place.subscriptions]
        check_unused(address, any(queue.consumers for queue in queues), doing)
        self.remove(address)

    def remove(self, address: Address) -> None:
        """Remove a queue or topic with its messages."""
        if address.topic:
            self.topics.remove(address.name)
            return
        queue = self.queues.pop(address.name, None)
        if queue is not None:
            queue.end()


def _published(
    again: bool,
    copies: Sequence[tuple[Queue, Entry, int, int]],
    stored: int,
    window: Window | None,
    duplicate_id: str | None,
    bound: int,
) -> None:
    """A step: copies wait in queues, given with due time and the queue's size, and the duplicate id is remembered."""
    for queue, entry, due, size in copies:
        kept(again, queue, entry, due, size, stored)
    if window is not None and duplicate_id is not None:
        window.remember(duplicate_id, bound)
