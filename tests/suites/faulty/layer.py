"""A backend around another one that passes everything on; a faulty variant overrides the verb that it breaks."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import msgspec

from jmsbridge.spi import (
    Address,
    Arrival,
    Backend,
    BackendError,
    Channel,
    Endpoint,
    Envelope,
    Inbox,
    Interest,
    Link,
    LinkEvents,
    LinkLost,
    Native,
    Outcome,
    Retires,
    Subscription,
    Ticket,
)

__all__ = ["Answer", "Fault", "LayerBackend", "LayerChannel", "LayerLink", "LayerSubscription", "Outcomes"]


class Answer:
    """A ticket that calls the two functions that it was made with."""

    def __init__(self, succeed: Callable[[], object], fail: Callable[[BackendError], object]) -> None:
        self._succeed = succeed
        self._fail = fail

    def succeed(self) -> None:
        self._succeed()

    def fail(self, error: BackendError) -> None:
        self._fail(error)


class LayerBackend:
    """The SPI's Backend."""

    def __init__(self, name: str, inner: Backend, fault: "Fault") -> None:
        self.name = name
        self.spi_version = inner.spi_version
        self.native = inner.native
        self.options = inner.options
        self.inner = inner
        self.fault = fault

    def open(self, endpoint: Endpoint, options: Any, events: LinkEvents) -> Link:
        """A link of the backend below."""
        link = LayerLink(self.fault, endpoint, events)
        link.inner = self.fault.open(self, endpoint, options, link)
        link.native = link.inner.native
        link.broker = link.inner.broker
        self.fault.opened(link)
        return link


class LayerLink:
    """The SPI's Link, and the LinkEvents of the link below."""

    inner: Link
    native: Native
    broker: str

    def __init__(self, fault: "Fault", endpoint: Endpoint, events: LinkEvents) -> None:
        self.fault = fault
        self.endpoint = endpoint
        self.events = events
        self.dead = False
        self.channels: list[LayerChannel] = []

    def channel(self, transacted: bool) -> "LayerChannel":
        """A channel of the link below."""
        kind = _Cancelling if self.fault.cancels else LayerChannel
        made = kind(self, self.fault.channel(self, transacted), transacted)
        self.channels.append(made)
        return made

    def declare(self, address: Address) -> Address:
        """As the fault does it."""
        return self.fault.declare(self, address)

    def delete(self, address: Address) -> None:
        """As the fault does it."""
        self.fault.delete(self, address)

    def unsubscribe(self, *what: Any) -> None:
        """As the fault does it."""
        self.fault.unsubscribe(self, *what)

    def close(self) -> None:
        """As the fault does it."""
        self.fault.close_link(self)

    def lost(self, error: BackendError) -> None:
        """The link below was lost."""
        self.dead = True
        self.fault.lost(self, error)

    def channel_lost(self, channel: Channel, error: BackendError) -> None:
        """A channel of the link below was lost alone."""
        self.fault.channel_lost(next(each for each in self.channels if each.inner is channel), error)

    def subscription_lost(self, subscription: Subscription, error: BackendError) -> None:
        """The backends below do not lose single subscriptions in these cases."""
        raise NotImplementedError

    def throttled(self, active: bool) -> None:
        """Passed on."""
        self.events.throttled(active)


class LayerChannel:
    """The SPI's Channel."""

    def __init__(self, link: LayerLink, inner: Channel, transacted: bool) -> None:
        self.link = link
        self.inner = inner
        self.transacted = transacted
        self.fault = link.fault
        self.kept: list[Any] = []  # for the fault
        self.count = 0  # for the fault
        self.subscriptions: list[LayerSubscription] = []

    def send(self, envelope: Envelope, ticket: Ticket | None) -> None:
        """As the fault does it."""
        self.fault.send(self, envelope, ticket)

    def subscribe(self, interest: Interest, inbox: Inbox) -> "LayerSubscription":
        """A subscription of the channel below."""
        kind = _Retiring if self.fault.retires else LayerSubscription
        made = kind(self, interest, inbox)
        made.inner = self.fault.subscribe(self, interest, made)
        made.native = made.inner.native
        self.subscriptions.append(made)
        return made

    def commit(self, ticket: Ticket) -> None:
        """As the fault does it."""
        self.fault.commit(self, ticket)

    def rollback(self, ticket: Ticket) -> None:
        """As the fault does it."""
        self.fault.rollback(self, ticket)

    def close(self) -> None:
        """As the fault does it."""
        self.fault.close_channel(self)


class _Cancelling(LayerChannel):
    def cancel(self, tickets: Sequence[Ticket]) -> None:
        self.fault.cancel(self, tickets)


class LayerSubscription:
    """The SPI's Subscription, and the Inbox of the subscription below."""

    inner: Subscription
    native: Native

    def __init__(self, channel: LayerChannel, interest: Interest, inbox: Inbox) -> None:
        self.channel = channel
        self.interest = interest
        self.inbox = inbox
        self.fault = channel.fault
        self.kept: list[Any] = []  # for the fault
        self.count = 0  # for the fault

    def grant(self, count: int) -> None:
        """As the fault does it."""
        self.fault.grant(self, count)

    def settle(self, tokens: Sequence[Any], outcome: Outcome, ticket: Ticket | None = None, failures: int = 1) -> None:
        """As the fault does it."""
        self.fault.settle(self, list(tokens), outcome, ticket, failures)

    def drain(self, ticket: Ticket) -> None:
        """As the fault does it."""
        self.fault.drain(self, ticket)

    def close(self) -> None:
        """As the fault does it."""
        self.fault.close_subscription(self)

    def put(self, arrival: Arrival) -> None:
        """A message from below."""
        self.fault.put(self, arrival)

    def put_again(self, arrival: Arrival) -> None:
        """Called only after an interrupt; these cases have none."""
        raise NotImplementedError


class _Retiring(LayerSubscription):
    def retire(self) -> None:
        self.fault.retire(self)


class Fault:
    """No fault: each verb is passed to the object below. All links of a backend share one of these.

    ``slow`` says whether the backend below is slow, so that the fault has time to show; ``loses_channels`` whether it
    must be able to lose a single channel.
    """

    slow: ClassVar[bool] = False
    loses_channels: ClassVar[bool] = False
    retires: ClassVar[bool] = True
    cancels: ClassVar[bool] = False

    def open(self, backend: LayerBackend, endpoint: Endpoint, options: Any, link: LayerLink) -> Link:
        """Open the link below."""
        below = msgspec.structs.replace(endpoint, scheme=backend.inner.name)
        if not self.slow:
            below = msgspec.structs.replace(below, host=None, port=None)
        return backend.inner.open(below, options, link)

    def opened(self, link: LayerLink) -> None:
        """Called for each new link."""

    def channel(self, link: LayerLink, transacted: bool) -> Channel:
        """Open a channel."""
        return link.inner.channel(transacted)

    def declare(self, link: LayerLink, address: Address) -> Address:
        """Make a temporary destination."""
        return link.inner.declare(address)

    def delete(self, link: LayerLink, address: Address) -> None:
        """Remove one."""
        link.inner.delete(address)

    def unsubscribe(self, link: LayerLink, *what: Any) -> None:
        """Delete a durable subscription."""
        link.inner.unsubscribe(*what)

    def close_link(self, link: LayerLink) -> None:
        """End a link."""
        link.inner.close()

    def lost(self, link: LayerLink, error: BackendError) -> None:
        """Called when a link is lost."""
        link.events.lost(error)

    def channel_lost(self, channel: LayerChannel, error: BackendError) -> None:
        """Called when a single channel is lost."""
        channel.link.events.channel_lost(channel, error)

    def send(self, channel: LayerChannel, envelope: Envelope, ticket: Ticket | None) -> None:
        """Send."""
        channel.inner.send(envelope, ticket)

    def cancel(self, channel: LayerChannel, tickets: Sequence[Ticket]) -> None:
        """Cancel sends: none, because the backends below write each at once."""

    def subscribe(self, channel: LayerChannel, interest: Interest, inbox: LayerSubscription) -> Subscription:
        """Subscribe."""
        return channel.inner.subscribe(interest, inbox)

    def commit(self, channel: LayerChannel, ticket: Ticket) -> None:
        """Commit."""
        channel.inner.commit(ticket)

    def rollback(self, channel: LayerChannel, ticket: Ticket) -> None:
        """Roll back."""
        channel.inner.rollback(ticket)

    def close_channel(self, channel: LayerChannel) -> None:
        """End a channel."""
        channel.inner.close()

    def grant(self, subscription: LayerSubscription, count: int) -> None:
        """Allow arrivals."""
        subscription.inner.grant(count)

    def settle(
        self, subscription: LayerSubscription, tokens: list[Any], outcome: Outcome, ticket: Ticket | None, failures: int
    ) -> None:
        """Settle."""
        subscription.inner.settle(tokens, outcome, ticket, failures)

    def drain(self, subscription: LayerSubscription, ticket: Ticket) -> None:
        """Drain the subscription."""
        subscription.inner.drain(ticket)

    def retire(self, subscription: LayerSubscription) -> None:
        """Retire the subscription."""
        assert isinstance(subscription.inner, Retires)
        subscription.inner.retire()

    def close_subscription(self, subscription: LayerSubscription) -> None:
        """End a subscription."""
        subscription.inner.close()

    def put(self, subscription: LayerSubscription, arrival: Arrival) -> None:
        """Called for each arrival."""
        subscription.inbox.put(arrival)

    def check(self, link: LayerLink) -> None:
        """Raise LinkLost if the link is lost; for verbs that a fault implements without the link below."""
        if link.dead:
            raise LinkLost("the link was lost")


class Outcomes(Fault):
    """Replaces some outcomes by others."""

    taken_for: ClassVar[dict[Outcome, tuple[Outcome, int | None]]]

    def settle(
        self, subscription: LayerSubscription, tokens: list[Any], outcome: Outcome, ticket: Ticket | None, failures: int
    ) -> None:
        outcome, counted = self.taken_for.get(outcome, (outcome, None))
        super().settle(subscription, tokens, outcome, ticket, failures if counted is None else counted)
