"""The embedded broker behind a mask: the broker cannot use the features that the mask hides.

With it every emulation of the facade is tested without a server, by the whole compliance suite.
"""

import contextlib
from collections.abc import Sequence
from typing import Any

import msgspec

import jmsbridge_embedded
from jmsbridge.core.runtime.waiting import wait_answered
from jmsbridge.spi import (
    Address,
    Arrival,
    BackendError,
    Channel,
    Endpoint,
    Envelope,
    Inbox,
    Interest,
    Link,
    LinkEvents,
    Mode,
    Native,
    NotSupported,
    Outcome,
    Retires,
    Subscription,
    Ticket,
)

__all__ = ["LATE", "LEAST", "ORDERED", "MaskedBackend"]

_HIDDEN = "masked"
_GROUPING = ("JMSXGroupID", "JMSXGroupSeq")

LEAST = (
    Native.SEND_CONFIRM
    | Native.TYPED_PROPERTIES
    | Native.BODY_KINDS
    | Native.DURABLE
    | Native.SHARED
    | Native.SHARED_DURABLE
    | Native.CREDIT
    | Native.RETURN
    | Native.FAIL
    | Native.UNLIMITED_REQUEUE
)
"""The fewest capabilities with which everything else can be emulated."""


LATE = ~(Native.RETURN | Native.FAIL | Native.DELIVERY_COUNT)
"""Messages return when their subscription is closed, unmarked."""

ORDERED = LATE & ~Native.TRANSACTIONS
"""The same, and transactions have only the sends."""


class MaskedBackend:
    """The SPI's Backend."""

    spi_version = 1
    options: type[msgspec.Struct] = jmsbridge_embedded.EmbeddedOptions

    def __init__(self, name: str, native: Native, below: Native = Native.NONE) -> None:
        self.name = name
        self.native = native
        self.below = below
        """Further capabilities that subscriptions lack, like those of a quorum queue."""

    def open(self, endpoint: Endpoint, options: Any, events: LinkEvents) -> Link:
        """A link to the embedded broker that the options name."""
        told = _Events(events)
        inner = msgspec.structs.replace(endpoint, scheme="embedded")
        return _Link(self, jmsbridge_embedded.backend.open(inner, options, told), told)


class _Events:
    """What the inner link says, about the masked objects."""

    def __init__(self, outer: LinkEvents) -> None:
        self._outer = outer
        self.subscriptions: dict[Subscription, _Subscription] = {}

    def lost(self, error: BackendError) -> None:
        self._outer.lost(error)

    def channel_lost(self, channel: Channel, error: BackendError) -> None:
        raise NotImplementedError("the embedded broker loses no channel alone")

    def subscription_lost(self, subscription: Subscription, error: BackendError) -> None:
        self._outer.subscription_lost(self.subscriptions[subscription], error)

    def throttled(self, active: bool) -> None:
        self._outer.throttled(active)


class _Link:
    def __init__(self, backend: MaskedBackend, inner: Link, events: _Events) -> None:
        self.native = backend.native
        self.below = backend.below
        self.broker = f"masked {inner.broker}"
        self.inner = inner
        self.events = events
        self.channels: list[_Channel] = []

    def channel(self, transacted: bool) -> Channel:
        if transacted and Native.SEND_TRANSACTIONS not in self.native:
            raise NotSupported(f"{self.broker} has no transactions")
        joined = transacted and Native.TRANSACTIONS in self.native
        consuming = self.inner.channel(False) if transacted and not joined else None
        made = _Channel(self, self.inner.channel(transacted), consuming, joined)
        self.channels.append(made)
        return made

    def declare(self, address: Address) -> Address:
        self._check_temporaries()
        return self.inner.declare(address)

    def delete(self, address: Address) -> None:
        self._check_temporaries()
        self.inner.delete(address)

    def _check_temporaries(self) -> None:
        if Native.TEMPORARY not in self.native:
            self.inner.channel(False).close()  # a lost link raises LinkLost
            raise NotSupported(f"{self.broker} has no temporary destinations")

    def unsubscribe(self, key: str, address: Address | None) -> None:
        self.inner.unsubscribe(key, address)

    def close(self) -> None:
        for channel in self.channels:
            channel.let_go()
        self.inner.close()

    def plain(self, address: Address) -> Address:
        """The destination under the name that the broker uses."""
        if address.temporary and Native.TEMPORARY not in self.native:
            return msgspec.structs.replace(address, temporary=False)
        return address


class _Channel:
    """``consuming`` is the channel of its subscriptions, if the broker's transactions have only sends."""

    def __init__(self, link: _Link, inner: Channel, consuming: Channel | None, joined: bool) -> None:
        self.link = link
        self.inner = inner
        self.consuming = inner if consuming is None else consuming
        self.joined = joined
        self.subscriptions: list[_Subscription] = []

    def send(self, envelope: Envelope, ticket: Ticket | None) -> None:
        self.inner.send(self._hide(envelope), ticket)

    def _hide(self, envelope: Envelope) -> Envelope:
        """The message as a broker without the hidden features sees it."""
        native, hidden = self.link.native, dict[str, Any](address=envelope.address)
        properties = envelope.properties
        if Native.PRIORITY not in native:
            hidden["priority"] = 4
        if Native.DELAY not in native:
            hidden["delivery_time"] = 0
        if Native.EXPIRY not in native:
            hidden["expiration"] = 0
        if Native.DUPLICATE_DETECTION not in native:
            hidden["duplicate_id"] = None
        grouping: dict[str, Any] = {}
        if Native.GROUPS not in native:
            grouping = {name: properties[name] for name in _GROUPING if name in properties}
        true = {name: getattr(envelope, name) for name in hidden}
        hidden["address"] = self.link.plain(envelope.address)
        rest = {name: value for name, value in properties.items() if name not in grouping}
        return msgspec.structs.replace(envelope, properties={**rest, _HIDDEN: (true, grouping)}, **hidden)

    def subscribe(self, interest: Interest, inbox: Inbox) -> Subscription:
        native, changes = self.link.native, dict[str, Any]()
        feature = Native.TOPIC_SELECTORS if interest.address.topic else Native.QUEUE_SELECTORS
        if interest.mode is Mode.BROWSE and Native.BROWSE not in native:
            raise NotSupported(f"{self.link.broker} has no browsers")
        if interest.selector is not None and feature not in native:
            # part of the subscription's definition, without effect
            changes["selector"] = f"({interest.selector}) OR 1 = 1" if interest.address.topic else None
        if Native.NO_LOCAL not in native:
            changes["no_local"] = False
        changes["address"] = self.link.plain(interest.address)
        kind = _Retiring if Native.FAIL in native else _Subscription  # one that keeps what is returned cannot retire
        subscription = kind(native & ~self.link.below, self.joined)
        box = _Inbox(native, inbox, subscription.unsettled)
        inner = self.consuming.subscribe(msgspec.structs.replace(interest, **changes), box)
        subscription.inner = inner
        self.subscriptions.append(subscription)
        self.link.events.subscriptions[inner] = subscription
        return subscription

    def commit(self, ticket: Ticket) -> None:
        self.inner.commit(ticket)

    def rollback(self, ticket: Ticket) -> None:
        self.inner.rollback(ticket)

    def let_go(self) -> None:
        """Before an end by the client: return what is unsettled unmarked, where FAIL is hidden."""
        if Native.FAIL in self.link.native:
            return
        with contextlib.suppress(BackendError):
            if self.joined:
                wait_answered(self.inner.rollback, 5.0, "a rollback")
            for subscription in self.subscriptions:
                subscription.let_go()

    def close(self) -> None:
        self.let_go()
        self.inner.close()
        if self.consuming is not self.inner:
            self.consuming.close()


class _Inbox:
    """Restores what the mask hid."""

    def __init__(self, native: Native, outer: Inbox, unsettled: dict[Any, None]) -> None:
        self._native = native
        self._outer = outer
        self._unsettled = unsettled
        self._last: tuple[Arrival, Arrival] | None = None

    def put(self, arrival: Arrival) -> None:
        self._last = arrival, self._shown(arrival)
        self._unsettled[arrival.token] = None
        self._outer.put(self._last[1])

    def put_again(self, arrival: Arrival) -> None:
        if self._last is not None and self._last[0] is arrival:
            self._outer.put_again(self._last[1])
        else:
            self.put(arrival)

    def _shown(self, arrival: Arrival) -> Arrival:
        envelope = arrival.envelope
        true, grouping = envelope.properties[_HIDDEN]
        properties = {name: value for name, value in envelope.properties.items() if name != _HIDDEN}
        changes: dict[str, Any] = {"properties": properties | grouping}
        if envelope.address.name == true["address"].name:  # otherwise the broker has moved and changed the message
            changes |= true
        count = arrival.delivery_count
        if Native.DELIVERY_COUNT not in self._native:
            count = 2 if arrival.redelivered else 1
        shown = msgspec.structs.replace(envelope, **changes)
        return msgspec.structs.replace(arrival, envelope=shown, delivery_count=count)


class _Subscription:
    """``joined`` says that acceptances belong to a transaction."""

    inner: Subscription

    def __init__(self, native: Native, joined: bool) -> None:
        self.native = native
        self.unsettled: dict[Any, None] = {}
        self._joined = joined

    def grant(self, count: int) -> None:
        self.inner.grant(count)

    def settle(self, tokens: Sequence[Any], outcome: Outcome, ticket: Ticket | None = None, failures: int = 1) -> None:
        returns = outcome not in (Outcome.ACCEPTED, Outcome.REJECTED)
        if returns and Native.FAIL not in self.native:
            self.inner.settle((), outcome, ticket, failures)  # until ``let_go``
            return
        if outcome is Outcome.RELEASED and Native.RELEASE not in self.native:
            outcome, failures = Outcome.REQUEUED, 0
        if not (self._joined and outcome is Outcome.ACCEPTED):
            for token in tokens:
                self.unsettled.pop(token, None)
        self.inner.settle(tokens, outcome, ticket, failures)

    def let_go(self) -> None:
        """Return all that is unsettled as if it had never been delivered; the broker ignores what was committed."""
        wait_answered(self.inner.drain, 5.0, "a drain")
        self.inner.settle(list(self.unsettled), Outcome.RELEASED)
        self.unsettled.clear()

    def drain(self, ticket: Ticket) -> None:
        self.inner.drain(ticket)

    def close(self) -> None:
        if Native.FAIL not in self.native:
            with contextlib.suppress(BackendError):
                self.let_go()
        self.inner.close()


class _Retiring(_Subscription):
    """A subscription that offers ``retire``."""

    def retire(self) -> None:
        assert isinstance(self.inner, Retires)
        self.inner.retire()
