"""Topics and their subscriptions."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from jmsbridge.spi import Address, Envelope, Interest, SubscriptionRefused, SubscriptionUnknown
from jmsbridge_embedded.memory.queues.duplicates import Window
from jmsbridge_embedded.memory.queues.queue import Queue
from jmsbridge_embedded.memory.queues.state import Common
from jmsbridge_embedded.memory.queues.steps import registering
from jmsbridge_embedded.rules import check_creatable

if TYPE_CHECKING:
    from jmsbridge.selectors import Selector, SelectorIndex
    from jmsbridge_embedded.memory.link import Link

__all__ = ["Identity", "Topic", "TopicSubscription", "Topics"]

Identity = tuple[str | None, str]
"""A subscription's name within its client id."""


class Topic:
    """Where copies of a message are made: one per subscription that wants it."""

    def __init__(self, owner: "Link | None" = None) -> None:
        self.owner = owner
        self.kept = False
        self.subscriptions: dict[TopicSubscription, None] = {}
        self.window = Window()
        self._plain: dict[TopicSubscription, None] = {}
        self._selecting: SelectorIndex[TopicSubscription] | None = None

    def add(self, subscription: "TopicSubscription") -> None:
        """Copies are made for it from now on."""
        self.subscriptions[subscription] = None
        if subscription.selector is None:
            self._plain[subscription] = None
            return
        from jmsbridge.selectors import SelectorIndex  # here, since it loads the grammar

        if self._selecting is None:
            self._selecting = SelectorIndex()
        self._selecting.add(subscription, subscription.selector)

    def discard(self, subscription: "TopicSubscription") -> None:
        """No copies any more."""
        self.subscriptions.pop(subscription, None)
        self._plain.pop(subscription, None)
        if self._selecting is not None:
            self._selecting.discard(subscription)

    def wanting(self, envelope: Envelope, sender: "Link") -> list[Queue]:
        """The backlogs in which a copy of this message belongs."""
        found = list(self._plain)
        if self._selecting is not None:
            found += self._selecting.candidates(envelope)
        return [each.queue for each in found if each.wants(envelope, sender)]


class TopicSubscription:
    """A backlog of its own and the rule of what goes into it (sections 4.2.2 to 4.2.4)."""

    def __init__(
        self,
        interest: Interest,
        selector: "Selector | None",
        link: "Link",
        common: Common,
        on_idle: Callable[["TopicSubscription"], None],
    ) -> None:
        self.address = interest.address
        self.identity: Identity | None = None if interest.key is None else (link.client_id, interest.key)
        self.durable = interest.durable
        self.shared = interest.shared
        self.definition = (interest.address, interest.selector, interest.no_local)
        key = "" if interest.key is None else f"/{interest.key}"
        self.queue = Queue(common, f"{interest.address}{key}", lambda _: on_idle(self))
        self.selector = selector
        self._no_local = interest.no_local and not interest.shared
        self._client_id = link.client_id
        self._link = link

    def wants(self, envelope: Envelope, sender: "Link") -> bool:
        """Whether a copy of this message belongs in the backlog."""
        if self._no_local:
            if sender is self._link:
                return False
            if self.durable and self._client_id is not None and sender.client_id == self._client_id:
                return False
        return self.selector is None or self.selector.matches_envelope(envelope)

    def belongs_to(self, link: "Link") -> None:
        """An unshared durable subscription was taken up by this link."""
        self._link = link


class Topics:
    """All topics and subscriptions of one broker; every method expects the broker's lock to be held."""

    def __init__(self, common: Common) -> None:
        self.topics: dict[str, Topic] = {}
        self._common = common
        self._durable: dict[Identity, TopicSubscription] = {}
        self._shared: dict[Identity, TopicSubscription] = {}

    def subscribe(self, interest: Interest, selector: "Selector | None", link: "Link") -> TopicSubscription:
        """Find or make the subscription that this interest names."""
        if interest.key is None or not (interest.durable or interest.shared):
            return self._start(interest, selector, link)
        identity = (link.client_id, interest.key)
        registry = self._durable if interest.durable else self._shared
        found = registry.get(identity)
        if found is not None:
            _check(found, interest)
            if found.definition == (interest.address, interest.selector, interest.no_local):
                found.belongs_to(link)
                return found
            self._end(found)
        created = registry[identity] = self._start(interest, selector, link)
        return created

    def unsubscribe(self, identity: Identity) -> None:
        """Forget a durable subscription."""
        found = self._durable.get(identity)
        if found is None:
            raise SubscriptionUnknown(f"the embedded broker has no durable subscription {_named(identity)}")
        if found.queue.consumers:
            raise SubscriptionRefused(f"subscription {_named(identity)} has an active consumer; close it first")
        if found.queue.unsettled:
            raise SubscriptionRefused(
                f"subscription {_named(identity)} has messages that the session of a closed consumer has not yet "
                "acknowledged or committed; do that first, or roll back"
            )
        self._end(found)

    def remove(self, name: str) -> None:
        """A topic goes, with every subscription on it."""
        topic = self.topics.get(name)
        if topic is not None:
            for subscription in list(topic.subscriptions):
                self._end(subscription)
            self.topics.pop(name, None)

    def find(self, address: Address, keep: bool = False) -> Topic:
        """The topic of that name; a new one is forgotten unless somebody keeps it."""
        topic = self.topics.get(address.name)
        if topic is None:
            check_creatable(address)
            topic = Topic()
            if keep:
                self._common.do(registering)
                self.topics[address.name] = topic
        return topic

    def _idle(self, subscription: TopicSubscription) -> None:
        """A non-durable subscription ends with its last consumer."""
        if not subscription.durable and not subscription.queue.ended:
            self._end(subscription)

    def _start(self, interest: Interest, selector: "Selector | None", link: "Link") -> TopicSubscription:
        subscription = TopicSubscription(interest, selector, link, self._common, self._idle)
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

    def mend(self) -> None:
        """After an interrupt: forget a topic that nobody came to use."""
        for name, topic in list(self.topics.items()):
            self._forget_idle(name, topic)

    def _forget_idle(self, name: str, topic: Topic) -> None:
        if not topic.subscriptions and topic.owner is None and not (topic.kept or len(topic.window)):
            del self.topics[name]


def _check(found: TopicSubscription, interest: Interest) -> None:
    """Whether the interest may take up, or replace, what is there (the table of section 2.J of the facts)."""
    name = f"subscription {interest.key!r} on {found.address}"
    if found.shared != interest.shared:
        kind = "shared" if found.shared else "unshared"
        raise SubscriptionRefused(f"{name} is a {kind} durable subscription; unsubscribe it first or use another name")
    if not found.queue.consumers:
        return
    if not found.shared:
        raise SubscriptionRefused(f"{name} has an active consumer; close it first")
    if found.definition != (interest.address, interest.selector, interest.no_local):
        raise SubscriptionRefused(f"{name} has active consumers with another topic or selector")


def _named(identity: Identity) -> str:
    client_id, key = identity
    return repr(key) if client_id is None else f"{key!r} of client id {client_id!r}"
