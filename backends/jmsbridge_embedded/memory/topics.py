"""Topics and their subscriptions."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from jmsbridge.spi import Address, Envelope, Interest
from jmsbridge_embedded.client import Client
from jmsbridge_embedded.memory.queues.duplicates import Window
from jmsbridge_embedded.memory.queues.queue import Queue
from jmsbridge_embedded.memory.queues.state import BrokerState
from jmsbridge_embedded.memory.queues.steps import registering
from jmsbridge_embedded.rules import check_creatable, check_reusable, check_unsubscribe

if TYPE_CHECKING:
    from jmsbridge.selectors import Selector, SelectorIndex

__all__ = ["Identity", "Topic", "TopicSubscription", "Topics"]

Identity = tuple[str | None, str]
"""Client id and subscription name."""

_MakeQueue = Callable[[str, Callable[[Queue], None]], Queue]
"""Creates a queue with this origin, which calls the function when it is idle."""


class Topic:
    """The subscriptions of a topic: each that wants a message gets a copy."""

    def __init__(self, owner: Client | None = None) -> None:
        self.owner = owner
        self.kept = False
        self.subscriptions: dict[TopicSubscription, None] = {}
        self.window = Window()
        self._plain: dict[TopicSubscription, None] = {}
        self._selecting: SelectorIndex[TopicSubscription] | None = None

    def add(self, subscription: "TopicSubscription") -> None:
        """Add a subscription."""
        self.subscriptions[subscription] = None
        if subscription.selector is None:
            self._plain[subscription] = None
            return
        from jmsbridge.selectors import SelectorIndex  # imported here: it loads the grammar

        if self._selecting is None:
            self._selecting = SelectorIndex()
        self._selecting.add(subscription, subscription.selector)

    def discard(self, subscription: "TopicSubscription") -> None:
        """Remove a subscription."""
        self.subscriptions.pop(subscription, None)
        self._plain.pop(subscription, None)
        if self._selecting is not None:
            self._selecting.discard(subscription)

    def wanting(self, envelope: Envelope, sender: Client) -> list[Queue]:
        """The queues of the subscriptions that want a copy of this message."""
        found = list(self._plain)
        if self._selecting is not None:
            found += self._selecting.candidates(envelope)
        return [each.queue for each in found if each.wants(envelope, sender)]


class TopicSubscription:
    """A subscription's queue, and the rule for what goes into it (sections 4.2.2 to 4.2.4)."""

    def __init__(
        self,
        interest: Interest,
        selector: "Selector | None",
        client: Client,
        make_queue: _MakeQueue,
        on_idle: Callable[["TopicSubscription"], None],
    ) -> None:
        self.address = interest.address
        self.identity: Identity | None = None if interest.key is None else (client.client_id, interest.key)
        self.durable = interest.durable
        self.shared = interest.shared
        self.definition = (interest.address, interest.selector, interest.no_local)
        key = "" if interest.key is None else f"/{interest.key}"
        self.queue = make_queue(f"{interest.address}{key}", lambda _: on_idle(self))
        self.selector = selector
        self._no_local = interest.no_local and not interest.shared
        self._client = client

    def wants(self, envelope: Envelope, sender: Client) -> bool:
        """Whether a copy of this message belongs in the subscription's queue."""
        if self._no_local:
            if sender is self._client:
                return False
            client_id = self._client.client_id
            if self.durable and client_id is not None and sender.client_id == client_id:
                return False
        return self.selector is None or self.selector.matches_envelope(envelope)

    def belongs_to(self, client: Client) -> None:
        """Note that this client reactivated an unshared durable subscription."""
        self._client = client


class Topics:
    """All topics and subscriptions of one broker; the broker's lock is held in every method."""

    def __init__(self, state: BrokerState, make_queue: _MakeQueue) -> None:
        self.topics: dict[str, Topic] = {}
        self._state = state
        self._make_queue = make_queue
        self._durable: dict[Identity, TopicSubscription] = {}
        self._shared: dict[Identity, TopicSubscription] = {}

    def subscribe(self, interest: Interest, selector: "Selector | None", client: Client) -> TopicSubscription:
        """Find or create the subscription that this interest names."""
        if interest.key is None or not (interest.durable or interest.shared):
            return self._start(interest, selector, client)
        identity = (client.client_id, interest.key)
        registry = self._durable if interest.durable else self._shared
        found = registry.get(identity)
        if found is not None:
            same = found.definition == (interest.address, interest.selector, interest.no_local)
            check_reusable(interest, found.address, found.shared, same, bool(found.queue.consumers))
            if same:
                found.belongs_to(client)
                return found
            self._end(found)
        created = registry[identity] = self._start(interest, selector, client)
        return created

    def unsubscribe(self, identity: Identity) -> None:
        """Delete a durable subscription."""
        found = self._durable.get(identity)
        queue = None if found is None else found.queue
        consumers, unsettled = bool(queue and queue.consumers), bool(queue and queue.unsettled)
        check_unsubscribe(*identity, found is not None, consumers, unsettled)
        if found is not None:
            self._end(found)

    def remove(self, name: str) -> None:
        """Remove a topic and its subscriptions."""
        topic = self.topics.get(name)
        if topic is not None:
            for subscription in list(topic.subscriptions):
                self._end(subscription)
            self.topics.pop(name, None)

    def find(self, address: Address, keep: bool = False) -> Topic:
        """The topic of that name; a new one is registered only with ``keep``."""
        topic = self.topics.get(address.name)
        if topic is None:
            check_creatable(address)
            topic = Topic()
            if keep:
                self._state.do(registering)
                self.topics[address.name] = topic
        return topic

    def _idle(self, subscription: TopicSubscription) -> None:
        """End a non-durable subscription, whose last consumer has gone."""
        if not subscription.durable and not subscription.queue.ended:
            self._end(subscription)

    def _start(self, interest: Interest, selector: "Selector | None", client: Client) -> TopicSubscription:
        subscription = TopicSubscription(interest, selector, client, self._make_queue, self._idle)
        self.find(subscription.address, keep=True).add(subscription)
        return subscription

    def _end(self, subscription: TopicSubscription) -> None:
        subscription.queue.end()
        if subscription.identity is not None:
            registry = self._durable if subscription.durable else self._shared
            if registry.get(subscription.identity) is subscription:
                del registry[subscription.identity]
        name = subscription.address.name
        topic = self.topics.get(name)
        if topic is None:
            return
        topic.discard(subscription)
        self._forget_idle(name, topic)

    def repair(self) -> None:
        """After an interrupt: forget unused topics."""
        for name, topic in list(self.topics.items()):
            self._forget_idle(name, topic)

    def _forget_idle(self, name: str, topic: Topic) -> None:
        if not topic.subscriptions and topic.owner is None and not (topic.kept or len(topic.window)):
            del self.topics[name]
