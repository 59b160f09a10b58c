"""Capabilities that are claimed but missing."""

from typing import Any, ClassVar, Final

import msgspec

from jmsbridge.spi import (
    Address,
    Arrival,
    BackendError,
    BodyKind,
    Channel,
    Endpoint,
    Envelope,
    Interest,
    Link,
    Mode,
    Outcome,
    Subscription,
    Ticket,
)
from tests.suites.faulty.layer import Answer, Fault, LayerBackend, LayerChannel, LayerLink, LayerSubscription, Outcomes

__all__ = [
    "AcceptsOutsideTransactions",
    "AcceptsThenSends",
    "BodiesAreText",
    "BrowsersConsume",
    "CloseCommits",
    "CountsWrongly",
    "DurableForgets",
    "DurableIsShared",
    "EmptyIsNone",
    "ExpiryIgnored",
    "FailuresIgnored",
    "GroupsIgnored",
    "HidesDelays",
    "IdsAreShared",
    "KeyIgnoresClient",
    "NoLocalIgnored",
    "OnceIsTwice",
    "PriorityReversed",
    "PropertiesAreText",
    "QueueSelectorsIgnored",
    "RejectedDropped",
    "RejectedReturns",
    "ReleasedCounts",
    "RollbackForgetsTokens",
    "RollbackKeepsSends",
    "SendsThenAccepts",
    "SharedDurableForgets",
    "SharedGivenToAll",
    "SharedOutlives",
    "TemporariesForAll",
    "TemporariesOutlive",
    "TemporariesUnprotected",
    "TopicSelectorsIgnored",
    "UnsubscribeKeeps",
    "VisibleBeforeCommit",
]


class _Changes(Fault):
    """Changes what is sent or subscribed to."""

    def envelope(self, envelope: Envelope) -> Envelope:
        return envelope

    def interest(self, interest: Interest, link: LayerLink) -> Interest:
        return interest

    def send(self, channel: LayerChannel, envelope: Envelope, ticket: Ticket | None) -> None:
        super().send(channel, self.envelope(envelope), ticket)

    def subscribe(self, channel: LayerChannel, interest: Interest, inbox: LayerSubscription) -> Subscription:
        return super().subscribe(channel, self.interest(interest, channel.link), inbox)


_changed: Final = msgspec.structs.replace


# -- what is sent


class PropertiesAreText(_Changes):
    """Numbers arrive as text."""

    def envelope(self, envelope: Envelope) -> Envelope:
        return _changed(envelope, properties={name: str(value) for name, value in envelope.properties.items()})


class BodiesAreText(_Changes):
    """Bytes arrive as text."""

    def envelope(self, envelope: Envelope) -> Envelope:
        if envelope.kind is not BodyKind.BYTES:
            return envelope
        return _changed(envelope, kind=BodyKind.TEXT, body=envelope.body.decode("latin-1"))


class EmptyIsNone(_Changes):
    """Empty bodies arrive as no body."""

    def envelope(self, envelope: Envelope) -> Envelope:
        return _changed(envelope, body=envelope.body or None)


class ExpiryIgnored(_Changes):
    """Expired messages arrive."""

    def envelope(self, envelope: Envelope) -> Envelope:
        return _changed(envelope, expiration=0)


class HidesDelays(_Changes):
    """Delayed messages arrive at once."""

    def envelope(self, envelope: Envelope) -> Envelope:
        return _changed(envelope, delivery_time=0)


class PriorityReversed(_Changes):
    """Messages of high priority come last."""

    def envelope(self, envelope: Envelope) -> Envelope:
        return _changed(envelope, priority=9 - envelope.priority)


class GroupsIgnored(_Changes):
    """The messages of a group go to any consumer."""

    def envelope(self, envelope: Envelope) -> Envelope:
        properties = {f"hidden_{name}": value for name, value in envelope.properties.items()}
        return _changed(envelope, properties=properties)

    def put(self, subscription: LayerSubscription, arrival: Arrival) -> None:
        names = arrival.envelope.properties.items()
        properties = {name.removeprefix("hidden_"): value for name, value in names}
        super().put(subscription, _changed(arrival, envelope=_changed(arrival.envelope, properties=properties)))


class OnceIsTwice(_Changes):
    """Duplicates are not dropped."""

    def envelope(self, envelope: Envelope) -> Envelope:
        return _changed(envelope, duplicate_id=None)


# -- what is subscribed to


class TopicSelectorsIgnored(_Changes):
    """A subscription gets all messages of its topic."""

    def interest(self, interest: Interest, link: LayerLink) -> Interest:
        return _changed(interest, selector=None) if interest.address.topic else interest


class QueueSelectorsIgnored(_Changes):
    """A consumer gets all messages of its queue."""

    def interest(self, interest: Interest, link: LayerLink) -> Interest:
        return interest if interest.address.topic else _changed(interest, selector=None)


class BrowsersConsume(_Changes):
    """A browser takes what it sees."""

    def interest(self, interest: Interest, link: LayerLink) -> Interest:
        return _changed(interest, mode=Mode.CONSUME, presettled=interest.mode is Mode.BROWSE)


class NoLocalIgnored(_Changes):
    """A link's own messages come back."""

    def interest(self, interest: Interest, link: LayerLink) -> Interest:
        return _changed(interest, no_local=False)


class DurableForgets(_Changes):
    """A durable subscription ends with its consumer."""

    def interest(self, interest: Interest, link: LayerLink) -> Interest:
        return _changed(interest, durable=False, key=None) if interest.durable and not interest.shared else interest

    def unsubscribe(self, link: LayerLink, *what: Any) -> None:
        self.check(link)


class SharedDurableForgets(_Changes):
    """A shared durable subscription ends with its last consumer."""

    def interest(self, interest: Interest, link: LayerLink) -> Interest:
        return _changed(interest, durable=False) if interest.shared else interest

    def unsubscribe(self, link: LayerLink, *what: Any) -> None:
        self.check(link)


class SharedGivenToAll(_Changes):
    """Each consumer of a shared subscription gets every message."""

    def interest(self, interest: Interest, link: LayerLink) -> Interest:
        return _changed(interest, shared=False, key=None) if interest.shared and not interest.durable else interest


class SharedOutlives(_Changes):
    """A shared subscription that is not durable keeps messages after its last consumer."""

    def interest(self, interest: Interest, link: LayerLink) -> Interest:
        return _changed(interest, durable=True) if interest.shared else interest


class DurableIsShared(_Changes):
    """An unshared durable subscription takes a second consumer."""

    def interest(self, interest: Interest, link: LayerLink) -> Interest:
        return _changed(interest, shared=interest.shared or interest.durable)


class KeyIgnoresClient(_Changes):
    """Subscriptions of the same name under two client ids are one."""

    def interest(self, interest: Interest, link: LayerLink) -> Interest:
        return _changed(interest, shared=interest.shared or interest.durable)

    def open(self, backend: LayerBackend, endpoint: Endpoint, options: Any, link: LayerLink) -> Link:
        return super().open(backend, _changed(endpoint, client_id=None), options, link)


class UnsubscribeKeeps(Fault):
    """A subscription outlives ``unsubscribe``."""

    def unsubscribe(self, link: LayerLink, *what: Any) -> None:
        self.check(link)


class IdsAreShared(Fault):
    """Two links may have one client id."""

    def open(self, backend: LayerBackend, endpoint: Endpoint, options: Any, link: LayerLink) -> Link:
        return super().open(backend, _changed(endpoint, client_id=None), options, link)


# -- temporary destinations


class _Temporaries(Fault):
    """Temporary destinations are ordinary destinations of the backend below."""

    def __init__(self) -> None:
        self.owners: dict[str, LayerLink] = {}

    def plain(self, address: Address) -> Address:
        return _changed(address, temporary=False)

    def declare(self, link: LayerLink, address: Address) -> Address:
        self.check(link)
        self.owners[address.name] = link
        return address

    def send(self, channel: LayerChannel, envelope: Envelope, ticket: Ticket | None) -> None:
        super().send(channel, _changed(envelope, address=self.plain(envelope.address)), ticket)

    def subscribe(self, channel: LayerChannel, interest: Interest, inbox: LayerSubscription) -> Subscription:
        return super().subscribe(channel, _changed(interest, address=self.plain(interest.address)), inbox)


class TemporariesForAll(_Temporaries):
    """Other links can consume a temporary destination."""

    def delete(self, link: LayerLink, address: Address) -> None:
        self.owners.pop(address.name, None)


class TemporariesOutlive(_Temporaries):
    """A temporary destination survives its link."""

    def subscribe(self, channel: LayerChannel, interest: Interest, inbox: LayerSubscription) -> Subscription:
        if interest.address.temporary and self.owners.get(interest.address.name) is not channel.link:
            raise BackendError(f"{interest.address} belongs to another link")
        return super().subscribe(channel, interest, inbox)


class TemporariesUnprotected(Fault):
    """A temporary destination with consumers can be deleted."""

    def delete(self, link: LayerLink, address: Address) -> None:
        self.check(link)


# -- transactions


class _Held(Fault):
    """Holds the sends of a transaction until its commit."""

    def send(self, channel: LayerChannel, envelope: Envelope, ticket: Ticket | None) -> None:
        if not channel.transacted or channel.link.dead:
            super().send(channel, envelope, ticket)
            return
        channel.kept.append(envelope)
        if ticket is not None:
            ticket.succeed()

    def rollback(self, channel: LayerChannel, ticket: Ticket) -> None:
        channel.kept.clear()
        super().rollback(channel, ticket)

    def flush(self, channel: LayerChannel) -> None:
        while channel.kept:
            channel.inner.send(channel.kept.pop(0), None)


class AcceptsThenSends(_Held):
    """A commit first acknowledges, then sends."""

    slow = True

    def commit(self, channel: LayerChannel, ticket: Ticket) -> None:
        def second() -> None:
            self.flush(channel)
            channel.inner.commit(ticket)

        channel.inner.commit(Answer(second, ticket.fail))


class SendsThenAccepts(_Held):
    """A commit first sends, then acknowledges."""

    slow = True

    def channel(self, link: LayerLink, transacted: bool) -> Channel:
        if transacted:
            self.others[link] = link.inner.channel(True)
        return super().channel(link, transacted)

    def __init__(self) -> None:
        self.others: dict[LayerLink, Channel] = {}

    def commit(self, channel: LayerChannel, ticket: Ticket) -> None:
        other = self.others[channel.link]
        while channel.kept:
            other.send(channel.kept.pop(0), None)
        other.commit(Answer(lambda: channel.inner.commit(ticket), ticket.fail))


class VisibleBeforeCommit(Fault):
    """The sends of a transaction are visible before its commit."""

    def __init__(self) -> None:
        self.plain: dict[LayerLink, Channel] = {}

    def send(self, channel: LayerChannel, envelope: Envelope, ticket: Ticket | None) -> None:
        if channel.transacted and not channel.link.dead:
            plain = self.plain.setdefault(channel.link, channel.link.inner.channel(False))
            plain.send(envelope, ticket)
        else:
            super().send(channel, envelope, ticket)


class RollbackKeepsSends(_Held):
    """A rollback leaves the sends to the next commit."""

    def rollback(self, channel: LayerChannel, ticket: Ticket) -> None:
        Fault.rollback(self, channel, ticket)

    def commit(self, channel: LayerChannel, ticket: Ticket) -> None:
        self.flush(channel)
        super().commit(channel, ticket)


class RollbackForgetsTokens(Fault):
    """After a rollback the tokens that were accepted cannot be settled."""

    def __init__(self) -> None:
        self.accepted: set[Any] = set()
        self.unknown: set[Any] = set()

    def settle(
        self, subscription: LayerSubscription, tokens: list[Any], outcome: Outcome, ticket: Ticket | None, failures: int
    ) -> None:
        known = [token for token in tokens if token not in self.unknown]
        if outcome is Outcome.ACCEPTED and subscription.channel.transacted:
            self.accepted.update(known)
        super().settle(subscription, known, outcome, ticket, failures)

    def rollback(self, channel: LayerChannel, ticket: Ticket) -> None:
        self.unknown |= self.accepted
        super().rollback(channel, ticket)


class AcceptsOutsideTransactions(Fault):
    """Messages accepted in a transaction are removed before its commit."""

    def channel(self, link: LayerLink, transacted: bool) -> Channel:
        return super().channel(link, False)

    def commit(self, channel: LayerChannel, ticket: Ticket) -> None:
        self.check(channel.link)
        ticket.succeed()

    def rollback(self, channel: LayerChannel, ticket: Ticket) -> None:
        self.check(channel.link)
        ticket.succeed()


class CloseCommits(Fault):
    """Closing a channel commits its transaction."""

    def close_channel(self, channel: LayerChannel) -> None:
        if channel.transacted and not channel.link.dead:
            channel.inner.commit(Answer(lambda: None, lambda error: None))
        super().close_channel(channel)


# -- settling


class ReleasedCounts(Outcomes):
    """Released messages are delivered again marked and counted."""

    taken_for: ClassVar = {Outcome.RELEASED: (Outcome.FAILED, None)}


class FailuresIgnored(Fault):
    """Each settlement counts as one failure."""

    def settle(
        self, subscription: LayerSubscription, tokens: list[Any], outcome: Outcome, ticket: Ticket | None, failures: int
    ) -> None:
        super().settle(subscription, tokens, outcome, ticket, 1)


class CountsWrongly(Fault):
    """Every redelivery has the delivery count 2."""

    def put(self, subscription: LayerSubscription, arrival: Arrival) -> None:
        super().put(subscription, _changed(arrival, delivery_count=min(2, arrival.delivery_count)))


class RejectedDropped(Outcomes):
    """Rejected messages are dropped."""

    taken_for: ClassVar = {Outcome.REJECTED: (Outcome.ACCEPTED, None)}


class RejectedReturns(Outcomes):
    """Rejected messages are delivered again."""

    taken_for: ClassVar = {Outcome.REJECTED: (Outcome.FAILED, None)}
