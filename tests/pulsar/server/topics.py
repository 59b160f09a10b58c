"""What the server stores: topics with entries, subscriptions, and what each consumer has not acknowledged."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.pulsar.server.wire import Command, Fields, Kind, frame, message

if TYPE_CHECKING:
    from tests.pulsar.server.server import Line

__all__ = ["Consumer", "Entry", "Subscription", "Topic"]

LEDGER = 7


@dataclass
class Entry:
    """One message, or several that were sent together."""

    number: int
    payload: bytes
    messages: int


@dataclass
class Subscription:
    """``next`` is the first entry that was delivered to nobody; ``returned`` are those to deliver again."""

    next: int
    is_durable: int = 1
    returned: list[int] = field(default_factory=list)
    counts: dict[int, int] = field(default_factory=dict)
    acknowledged: set[int] = field(default_factory=set)
    consumers: "list[Consumer]" = field(default_factory=list)


@dataclass
class Topic:
    """All entries ever sent, and the subscriptions by name; ``partition`` is its number, if it is one."""

    partition: int | None = None
    entries: list[Entry] = field(default_factory=list)
    subscriptions: dict[str, Subscription] = field(default_factory=dict)

    def store(self, sent: Command) -> int:
        """Keep what a producer sent; returns the number of the entry."""
        self.entries.append(Entry(len(self.entries), sent.payload, sent.fields.number(3, 1)))
        return len(self.entries) - 1


@dataclass(eq=False)
class Consumer:
    """One consumer on a connection."""

    line: "Line"
    number: int
    topic: Topic
    subscription: Subscription
    permits: int = 0
    unacknowledged: set[int] = field(default_factory=set)

    def deliver(self) -> None:
        """Send what there is, as far as the permits go."""
        subscription = self.subscription
        while self.permits > 0:
            if subscription.returned:
                number = subscription.returned.pop(0)
            elif subscription.next < len(self.topic.entries):
                number = subscription.next
                subscription.next += 1
            else:
                return
            if number in subscription.acknowledged:
                continue
            entry = self.topic.entries[number]
            self.permits -= entry.messages
            self.unacknowledged.add(number)
            place = message(f1=LEDGER, f2=number, f3=self.topic.partition)
            count = subscription.counts.get(number) or None
            self.line.raw(frame(Kind.MESSAGE, entry.payload, f1=self.number, f2=place, f3=count))

    def acknowledge(self, places: list[Fields]) -> None:
        """These are consumed; a part of an entry is taken for all of it."""
        for place in places:
            self.unacknowledged.discard(place.number(2))
            self.subscription.acknowledged.add(place.number(2))

    def take_back(self, places: list[Fields] | None, *, counted: bool) -> None:
        """Return these, or all, to the subscription."""
        numbers = sorted(self.unacknowledged) if not places else [place.number(2) for place in places]
        for number in numbers:
            if number in self.unacknowledged:
                self.unacknowledged.discard(number)
                self.subscription.returned.append(number)
                if counted:
                    self.subscription.counts[number] = self.subscription.counts.get(number, 0) + 1
        self.subscription.returned.sort()

    def leave(self) -> None:
        """Its connection has ended, or it was closed."""
        if self in self.subscription.consumers:
            self.subscription.consumers.remove(self)
        self.take_back(None, counted=False)
        for other in self.subscription.consumers:
            other.deliver()
        if not (self.subscription.consumers or self.subscription.is_durable):
            for name in [name for name, each in self.topic.subscriptions.items() if each is self.subscription]:
                del self.topic.subscriptions[name]
