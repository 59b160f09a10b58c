"""The fast variant: every call succeeds before the verb returns, and each credit brings one message."""

import itertools
from collections.abc import Sequence
from typing import Any

from jmsbridge.spi.backend import Channel, Inbox, Subscription, Ticket
from jmsbridge.spi.envelope import Address, Arrival, BodyKind, Envelope, Interest, Outcome
from jmsbridge.spi.native import Native

__all__ = ["AutoChannel", "AutoLink", "AutoSubscription"]


class AutoLink:
    """A link that never fails."""

    broker = "Scripted 1.0 (auto)"

    def __init__(self, native: Native, template: Envelope | None) -> None:
        self.native = native
        self._template = template
        self._names = itertools.count(1)

    def channel(self, transacted: bool) -> Channel:
        """Open a channel."""
        return AutoChannel(self.native, self._template)

    def declare(self, address: Address) -> Address:
        """A name for the temporary destination."""
        return Address(f"auto.{next(self._names)}", address.topic, True)

    def delete(self, address: Address) -> None:
        """Nothing is kept."""

    def unsubscribe(self, key: str, address: Address | None) -> None:
        """Nothing is kept."""

    def close(self) -> None:
        """Nothing is open."""


class AutoChannel:
    """Everything is confirmed at once."""

    def __init__(self, native: Native, template: Envelope | None) -> None:
        self._native = native
        self._template = template

    def send(self, envelope: Envelope, ticket: Ticket | None) -> None:
        """Confirmed."""
        if ticket is not None:
            ticket.succeed()

    def subscribe(self, interest: Interest, inbox: Inbox) -> Subscription:
        """Deliver copies of the template message."""
        template = self._template or Envelope(interest.address, BodyKind.TEXT, "auto", {}, "ID:auto-1", 1)
        return AutoSubscription(self._native, template, inbox)

    def commit(self, ticket: Ticket) -> None:
        """Done."""
        ticket.succeed()

    def rollback(self, ticket: Ticket) -> None:
        """Done."""
        ticket.succeed()

    def close(self) -> None:
        """Nothing is held."""


class AutoSubscription:
    """Delivers a message as soon as there is credit."""

    def __init__(self, native: Native, template: Envelope, inbox: Inbox) -> None:
        self.native = native
        self._template = template
        self._put = inbox.put
        self._next = 0

    def grant(self, count: int) -> None:
        """Deliver so many messages before returning."""
        first = self._next
        self._next = first + count
        put, template = self._put, self._template
        for token in range(first, first + count):
            put(Arrival(token, template))

    def settle(self, tokens: Sequence[Any], outcome: Outcome, ticket: Ticket | None = None, failures: int = 1) -> None:
        """Confirmed."""
        if ticket is not None:
            ticket.succeed()

    def drain(self, ticket: Ticket) -> None:
        """Succeed at once, because everything has already arrived."""
        ticket.succeed()

    def close(self) -> None:
        """Nothing flows."""
