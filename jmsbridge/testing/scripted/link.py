"""Link, channel and subscription that follow the script."""

import itertools
import threading
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jmsbridge.spi.backend import Channel, Inbox, LinkEvents, Subscription, Ticket
from jmsbridge.spi.envelope import Address, Arrival, Endpoint, Envelope, Interest, Outcome
from jmsbridge.spi.errors import BackendError, ChannelLost, LinkLost, SendCancelled
from jmsbridge.spi.native import Native
from jmsbridge.testing.scripted.script import Call, Question

if TYPE_CHECKING:
    from jmsbridge.testing.scripted.backend import ScriptedBackend

__all__ = ["ScriptedChannel", "ScriptedLink", "ScriptedSubscription"]

_tokens = itertools.count(1)


class ScriptedLink:
    """One link; ``cut`` ends it."""

    def __init__(self, backend: "ScriptedBackend", number: int, endpoint: Endpoint, events: LinkEvents) -> None:
        self.backend = backend
        self.number = number
        self.endpoint = endpoint
        self.events = events
        self.native: Native = backend.native
        self.broker = "Scripted 1.0"
        self.channels: list[ScriptedChannel] = []
        self.subscriptions: list[ScriptedSubscription] = []
        self.error: BackendError | None = None
        self._lock = threading.Lock()  # guards error: a link is lost once

    # -- the verbs ---------------------------------------------------------------------------------------------------

    def channel(self, transacted: bool) -> Channel:
        """Open a channel."""
        self.blocking("channel", transacted)
        channel = ScriptedChannel(self, transacted)
        self.channels.append(channel)
        return channel

    def declare(self, address: Address) -> Address:
        """Give the temporary destination a name, which it keeps when it is declared again on a later link."""
        self.blocking("declare", address)
        if address.name.startswith("scripted."):
            return address
        return Address(f"scripted.{self.number}.{address.name}", address.topic, True)

    def delete(self, address: Address) -> None:
        """Record it."""
        self.blocking("delete", address)

    def unsubscribe(self, key: str, address: Address | None) -> None:
        """Record it."""
        self.blocking("unsubscribe", (key, address))

    def close(self) -> None:
        """End the link without ``lost``."""
        self.backend.script.record(Call(self.number, "close-link"))
        if self._die(LinkLost(f"link {self.number} was closed")):
            self._answer_open(applied=0)

    # -- what the script does ----------------------------------------------------------------------------------------

    def cut(self, error: BackendError | None = None, *, applied: int = 0) -> None:
        """The network fails: open questions fail in doubt, then ``lost`` is called.

        The broker has already done the first ``applied`` of the open questions; only their answers are lost.
        """
        if self._die(error or LinkLost(f"link {self.number} was cut")):
            self._answer_open(applied)
            assert self.error is not None
            self.events.lost(self.error)

    def throttle(self, active: bool) -> None:
        """The broker asks senders to pause or to continue."""
        self.events.throttled(active)

    def _die(self, error: BackendError) -> bool:
        with self._lock:
            if self.error is not None:
                return False
            self.error = error
            return True

    def _answer_open(self, applied: int) -> None:
        for index, question in enumerate(self.backend.script.held(link=self.number)):
            question.fail(LinkLost(f"{question.verb}: {self.error}", in_doubt=True), done=index < applied)

    # -- shared by channel and subscription --------------------------------------------------------------------------

    def blocking(self, verb: str, detail: Any = None, channel: "ScriptedChannel | None" = None) -> None:
        """Record a blocking verb; LinkLost when the link is dead, or dies in the hook; ChannelLost likewise."""
        self.backend.script.record(Call(self.number, verb, detail))
        self._check(channel)

    def _check(self, channel: "ScriptedChannel | None") -> None:
        if self.error is not None:
            raise LinkLost(str(self.error))
        if channel is not None and channel.error is not None:
            raise ChannelLost(str(channel.error))

    def path(self, question: Question) -> None:
        """Record a verb with a ticket and open its question; if the link or channel is lost, fail it at once."""
        script = self.backend.script
        try:
            script.record(Call(self.number, question.verb, question.detail))
            self._check(question.channel)
        except BackendError as error:
            if question.ticket is None:
                raise
            question.ticket.fail(error)
            return
        script.ask(question)
        if self.error is not None:  # cut between the check and the question, so ``cut`` missed it
            question.fail(LinkLost(str(self.error), in_doubt=True))
        elif question.channel.error is not None:
            question.fail(ChannelLost(str(question.channel.error), in_doubt=True))


class ScriptedChannel:
    """A channel; accepted messages are in ``backend.accepted``."""

    def __init__(self, link: ScriptedLink, transacted: bool) -> None:
        self.link = link
        self.transacted = transacted
        self.error: BackendError | None = None
        self.pending: list[Envelope] = []
        self.enlisted: list[Any] = []

    def send(self, envelope: Envelope, ticket: Ticket | None) -> None:
        """Accept the message when its question succeeds; without a ticket at once."""
        store = self.pending if self.transacted else self.link.backend.accepted
        question = Question(self.link.number, "send", ticket, lambda: store.append(envelope), envelope, self)
        self.link.path(question)
        if ticket is None:
            question.succeed()

    def cancel(self, tickets: Sequence[Ticket]) -> None:
        """Cancel the sends that the script keeps from being written."""
        self.link.blocking("cancel", len(tickets), self)
        for question in self.link.backend.script.held("send", channel=self):
            if question.ticket in tickets and not question.is_written:
                question.fail(SendCancelled("the script kept it from being written"))

    def subscribe(self, interest: Interest, inbox: Inbox) -> Subscription:
        """Start a subscription."""
        self.link.blocking("subscribe", interest, self)
        subscription = ScriptedSubscription(self, interest, inbox)
        self.link.subscriptions.append(subscription)
        return subscription

    def commit(self, ticket: Ticket) -> None:
        """Accept what is pending."""
        self.link.path(Question(self.link.number, "commit", ticket, self._commit, channel=self))

    def _commit(self) -> None:
        self.link.backend.accepted.extend(self.pending)
        self.link.backend.settled.extend((token, Outcome.ACCEPTED) for token in self.enlisted)
        self._forget()

    def rollback(self, ticket: Ticket) -> None:
        """Drop what is pending."""
        self.link.path(Question(self.link.number, "rollback", ticket, self._forget, channel=self))

    def _forget(self) -> None:
        self.pending.clear()
        self.enlisted.clear()

    def close(self) -> None:
        """End it."""
        self.link.backend.script.record(Call(self.link.number, "close-channel"))

    def lose(self, error: BackendError) -> None:
        """The broker ends this channel alone: open questions fail in doubt, then ``channel_lost`` is called."""
        self.error = error
        for question in self.link.backend.script.held(channel=self):
            question.fail(ChannelLost(f"{question.verb}: {error}", in_doubt=True))
        self.link.events.channel_lost(self, error)


class ScriptedSubscription:
    """Delivers the script's messages, within the credit that the facade granted."""

    def __init__(self, channel: ScriptedChannel, interest: Interest, inbox: Inbox) -> None:
        self.channel = channel
        self.link = channel.link
        self.interest = interest
        self.inbox = inbox
        self.native: Native = channel.link.native
        self.credit = 0
        self.closed = False
        self._waiting: deque[Arrival] = deque()
        self._lock = threading.Lock()  # guards credit and _waiting, and keeps puts in order

    def grant(self, count: int) -> None:
        """Add credit, and deliver waiting messages of the script."""
        self.link.blocking("grant", count, self.channel)
        with self._lock:
            self.credit += count
            self._pump()

    def settle(self, tokens: Sequence[Any], outcome: Outcome, ticket: Ticket | None = None, failures: int = 1) -> None:
        """Record the outcome; in a transaction ACCEPTED waits for commit, if the link has TRANSACTIONS."""
        chosen = tuple(tokens)
        enlists = self.channel.transacted and outcome is Outcome.ACCEPTED and Native.TRANSACTIONS in self.native

        def effect() -> None:
            if enlists:
                self.channel.enlisted.extend(chosen)
            else:
                self.link.backend.settled.extend((token, outcome) for token in chosen)

        question = Question(self.link.number, "settle", ticket, effect, (chosen, outcome, failures), self.channel)
        self.link.path(question)
        if ticket is None:
            question.succeed()

    def drain(self, ticket: Ticket) -> None:
        """Take the credit to zero."""
        self.link.path(Question(self.link.number, "drain", ticket, self._drained, channel=self.channel))

    def _drained(self) -> None:
        with self._lock:
            self.credit = 0

    def close(self) -> None:
        """End the flow."""
        self.link.backend.script.record(Call(self.link.number, "close-subscription", self.interest))
        with self._lock:
            self.closed = True
            self.credit = 0

    # -- what the script does ----------------------------------------------------------------------------------------

    def deliver(self, *envelopes: Envelope, redelivered: bool = False, delivery_count: int | None = None) -> list[int]:
        """Deliver messages, now or as soon as there is credit; return their tokens."""
        count = delivery_count or (2 if redelivered else 1)
        arrivals = [Arrival(next(_tokens), envelope, redelivered, count) for envelope in envelopes]
        with self._lock:
            self._waiting.extend(arrivals)
            self._pump()
        return [arrival.token for arrival in arrivals]

    def lose(self, error: BackendError) -> None:
        """The broker ends this subscription alone."""
        self.link.events.subscription_lost(self, error)

    @property
    def _is_dead(self) -> bool:
        return self.link.error is not None or self.channel.error is not None

    def _pump(self) -> None:
        while self._waiting and self.credit > 0 and not self.closed and not self._is_dead:
            self.credit -= 1
            self.inbox.put(self._waiting.popleft())
