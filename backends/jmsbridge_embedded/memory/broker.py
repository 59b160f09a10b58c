"""One broker in memory: its destinations, its links, and who may do what."""

import time
import weakref
from collections.abc import Callable, Iterable
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING
from uuid import uuid4

from jmsbridge.spi import (
    Address,
    AddressInUse,
    AddressRefused,
    BackendError,
    ClientIdRefused,
    Envelope,
    Inbox,
    Interest,
    LinkEvents,
    LinkLost,
    Mode,
    NotSupported,
    SendRefused,
    SubscriptionRefused,
)
from jmsbridge_embedded.memory.browser import Browser
from jmsbridge_embedded.memory.channel import Channel
from jmsbridge_embedded.memory.consumer import Consumer
from jmsbridge_embedded.memory.link import Link
from jmsbridge_embedded.memory.queues.backlog import Entry
from jmsbridge_embedded.memory.queues.queue import Queue
from jmsbridge_embedded.memory.queues.state import Common
from jmsbridge_embedded.memory.queues.steps import published, registering
from jmsbridge_embedded.memory.topics import Topic, Topics
from jmsbridge_embedded.rules import DEAD_LETTERS, check_creatable, check_owner, dead_letter

if TYPE_CHECKING:
    from jmsbridge.selectors import Selector

__all__ = ["Broker", "brokers"]

_alive: "weakref.WeakSet[Broker]" = weakref.WeakSet()


def brokers() -> list["Broker"]:
    """All brokers of this process that somebody still refers to; what a fork has to take care of."""
    return list(_alive)


def _now() -> int:
    return time.time_ns() // 1_000_000


def _product() -> str:
    try:
        return f"jmsbridge embedded broker {version('jmsbridge')}"
    except PackageNotFoundError:
        return "jmsbridge embedded broker"


class Broker:
    """Queues, topics and links under one lock, ``common.lock``.

    The verbs of links, channels and subscriptions take the lock and work in the caller's thread; all methods here but
    ``open``, ``tick``, ``cut`` and ``end`` expect it to be held. Under it only inboxes are called, which take leaf
    locks and never call back. ``clock`` gives milliseconds since the epoch; without ``threaded`` nothing happens by
    itself at its time, but at ``tick``.
    """

    def __init__(self, name: str, clock: Callable[[], int] = _now, threaded: bool = True) -> None:
        self.common = Common(name, clock, threaded, self._mend)
        self.product = _product()
        self.queues: dict[str, Queue] = {}
        self.topics = Topics(self.common)
        self.links: set[Link] = set()
        self._client_ids: set[str] = set()
        _alive.add(self)

    def _mend(self) -> None:
        """After an interrupt: everybody gets what he may have, and what nobody uses is forgotten."""
        subscriptions = [each for topic in self.topics.topics.values() for each in topic.subscriptions]
        for queue in [*self.queues.values(), *(each.queue for each in subscriptions)]:
            queue.mend()
        self.topics.mend()

    # -- links ---------------------------------------------------------------------------------------------------

    def open(
        self, client_id: str | None, events: LinkEvents, max_messages: int = 1_000_000, duplicate_window: int = 20_000
    ) -> Link:
        """A new link; a client id belongs to one live link at a time (section 6.1.2)."""
        with self.common.lock:
            self.common.mend()
            if client_id is not None:
                if not client_id:
                    raise ClientIdRefused("the client id is empty; leave it out or give it a name")
                if client_id in self._client_ids:
                    raise ClientIdRefused(
                        f"client id {client_id!r} is in use by another connection to {self.product} "
                        f"{self.common.name!r}; close that one or use another id"
                    )
                self._client_ids.add(client_id)
            link = Link(self, client_id, events, max_messages, duplicate_window)
            self.links.add(link)
        return link

    def left(self, link: Link) -> None:
        """A link has ended."""
        self.links.discard(link)
        if link.client_id is not None:
            self._client_ids.discard(link.client_id)
        for address in link.temporaries:
            self.remove(address)
        link.temporaries = set()

    def cut(self, reason: str) -> None:
        """Kill every link as a broken network would."""
        with self.common.lock:
            self.common.mend()
            links = list(self.links)
            for link in links:
                link.end(reason)
            self.common.step = None
        for link in links:
            link.tell(LinkLost(reason))

    def end(self, reason: str) -> None:
        """Kill every link and drop every message."""
        self.cut(reason)
        with self.common.lock:
            self.common.mend()
            self.common.schedule.clear()
            self.queues.clear()
            self.topics = Topics(self.common)

    def tick(self) -> None:
        """Do what is due by now."""
        with self.common.lock:
            self.common.mend()
            self.common.schedule.run(self.common.clock())
            self.common.step = None

    # -- sending -------------------------------------------------------------------------------------------------

    def publish(self, envelope: Envelope, link: Link) -> None:
        """Send one message now, whatever it is; a channel adds a plain one to its queue by itself."""
        self.admit(envelope, link)
        for queue in self._keep_copies(envelope, link):
            queue.dispatch()

    def publish_all(self, envelopes: Iterable[Envelope], link: Link) -> None:
        """Send what ``check`` has passed; every message is there before the first is delivered."""
        touched: dict[Queue, None] = {}
        for envelope in envelopes:
            for queue in self._keep_copies(envelope, link):
                touched[queue] = None
        for queue in touched:
            queue.dispatch()

    def admit(self, envelope: Envelope, link: Link) -> None:
        """Raise where the message has nowhere to go."""
        address = envelope.address
        copies = len(self.topics.find(address).subscriptions) if address.topic else 1
        if not address.topic and address.name not in self.queues:
            check_creatable(address)
        if self.common.stored + copies > link.max_messages:
            raise self.full(link)

    def check(self, envelopes: Iterable[Envelope], link: Link) -> None:
        """Raise where not all of these, which are counted as stored, could be sent."""
        more = 0
        for envelope in envelopes:
            if envelope.address.topic:
                more += len(self.topics.find(envelope.address).subscriptions) - 1
            elif envelope.address.name not in self.queues:
                check_creatable(envelope.address)
        if more > 0 and self.common.stored + more > link.max_messages:
            raise self.full(link)

    def bury(self, entry: Entry, origin: str, deliveries: int, to: str | None, reason: str | None = None) -> None:
        """Put a copy of a rejected message into that queue, or with the broker's dead letters."""
        target = Address(to) if to else DEAD_LETTERS
        self.queue(target).add(dead_letter(entry.envelope, target, origin, deliveries, self.common.clock(), reason))

    def _keep_copies(self, envelope: Envelope, link: Link) -> list[Queue]:
        """Keep copies of this message where they belong; nowhere, if it was sent before. The caller dispatches."""
        address = envelope.address
        duplicate_id = envelope.duplicate_id
        place: Topic | Queue
        place = self.topics.find(address, keep=duplicate_id is not None) if address.topic else self.queue(address)
        if duplicate_id is not None and duplicate_id in place.window:
            return []
        queues = [place] if isinstance(place, Queue) else place.wanting(envelope, link)
        copies = []
        for queue in queues:
            made = queue.make_entry(envelope)
            if made is not None:
                copies.append((queue, *made, queue.size + 1))
        window = None if duplicate_id is None else place.window
        stored = self.common.stored + len(copies)
        self.common.do(published, copies, stored, window, duplicate_id, link.duplicate_window)
        return queues

    def full(self, link: Link) -> BackendError:
        """Why no more messages are taken."""
        return SendRefused(
            f"{self.product} {self.common.name!r} holds {self.common.stored} messages and takes no more from this "
            f"connection; consume some or raise the option max_messages ({link.max_messages})"
        )

    # -- receiving -----------------------------------------------------------------------------------------------

    def subscribe(
        self, channel: Channel, link: Link, interest: Interest, selector: "Selector | None", inbox: Inbox
    ) -> Consumer | Browser:
        """A consumer or browser for this interest."""
        address = interest.address
        if address.topic:
            return self._subscribe_topic(channel, link, interest, inbox, selector)
        queue = self.queues.get(address.name) or self._new_queue(address)
        check_owner(address, queue.owner, link)
        if interest.mode is Mode.BROWSE:
            return Browser(channel, queue, selector, inbox)
        self.queues[address.name] = queue
        consumer = Consumer(channel, queue, interest, inbox)
        queue.join(consumer, interest.selector, selector)
        return consumer

    def _subscribe_topic(
        self, channel: Channel, link: Link, interest: Interest, inbox: Inbox, selector: "Selector | None"
    ) -> Consumer:
        if interest.mode is Mode.BROWSE:
            raise NotSupported(f"{interest.address} is a topic; only queues can be browsed")
        if interest.durable and not interest.shared and link.client_id is None:
            raise SubscriptionRefused(f"durable subscription {interest.key!r} needs a client id, or must be shared")
        check_owner(interest.address, self.topics.find(interest.address).owner, link)
        subscription = self.topics.subscribe(interest, selector, link)
        consumer = Consumer(channel, subscription.queue, interest, inbox)
        subscription.queue.join(consumer, None, None)
        return consumer

    # -- destinations --------------------------------------------------------------------------------------------

    def queue(self, address: Address) -> Queue:
        """The queue of that name, made on first use unless it is a temporary one."""
        queue = self.queues.get(address.name)
        if queue is None:
            queue = self._new_queue(address)
            self.common.do(registering)
            self.queues[address.name] = queue
        return queue

    def _new_queue(self, address: Address, owner: Link | None = None) -> Queue:
        """A queue that is forgotten when it is idle and has nothing to remember, unless it has an owner."""
        if owner is None:
            check_creatable(address)

        def forget(queue: Queue) -> None:
            if (
                not (queue.size or queue.owner or queue.kept or len(queue.window))
                and self.queues.get(address.name) is queue
            ):
                queue.end()
                del self.queues[address.name]

        return Queue(self.common, str(address), forget, owner)

    def declare(self, address: Address, link: Link) -> Address:
        """A new temporary destination of this link, under the name asked for unless it is taken."""
        taken = self.topics.topics if address.topic else self.queues
        name = address.name or "temporary"
        made = Address(f"{name}-{uuid4().hex}" if name in taken else name, address.topic, True)
        if made.topic:
            self.topics.topics[made.name] = Topic(link)
        else:
            self.queues[made.name] = self._new_queue(made, link)
        return made

    def delete(self, address: Address, link: Link) -> None:
        """Remove a temporary destination without consumers, for its owner."""
        place: Topic | Queue | None
        place = self.topics.topics.get(address.name) if address.topic else self.queues.get(address.name)
        if place is None or place.owner is None:
            raise AddressRefused(f"{address} is no temporary destination of {self.product} {self.common.name!r}")
        check_owner(address, place.owner, link)
        queues = [place] if isinstance(place, Queue) else [each.queue for each in place.subscriptions]
        if any(queue.consumers for queue in queues):
            raise AddressInUse(f"{address} has consumers; close them before deleting it")
        self.remove(address)

    def remove(self, address: Address) -> None:
        """A queue or topic goes, with everything in it."""
        if address.topic:
            self.topics.remove(address.name)
            return
        queue = self.queues.pop(address.name, None)
        if queue is not None:
            queue.end()
