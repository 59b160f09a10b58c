"""The interface that a backend implements (fifteen verbs) and the calls that it makes to the facade (eight).

Kinds of verbs
    *blocks*: may take a round trip; raises ``BackendError``; never called on an I/O thread.
    *asynchronous*: returns at once. With a ticket it never raises ``BackendError``: every failure, a lost link
    included, is the ticket's answer. Without a ticket there is no answer; a lost link raises ``LinkLost``.

Calls to the facade (``Inbox.put``, ``Ticket.succeed`` and ``fail``, ``LinkEvents``) never raise or block, take only
leaf locks, and never call the backend, so a backend may make them from any thread, also while it holds a lock.

A backend promises, and ``jmsbridge.testing.suite`` tests:

1. a ticket is answered exactly once, also when the link is lost, and possibly before the verb returns;
2. sends on one channel to one address keep their order, with and without tickets (rules OR-1, OR-2); sends to different
   addresses have no order (OR-3), and tickets may be answered in any order: the facade calls back in sending order;
3. arrivals of a subscription keep the broker's order and never exceed the credit, or, where the broker only counts
   unsettled messages, the bounded prefetch;
4. nothing arrives after ``drain``'s answer or ``close``;
5. ``settle`` of several tokens is one step, in the order given;
6. a link never reconnects: it is lost once and reports that once, and so is a channel that is lost alone;
7. after the loss every verb fails fast with ``LinkLost``, or ``ChannelLost`` where only the channel is lost;
8. no user code runs on its threads, which are daemon threads named ``jmsbridge-…-io``;
9. links share nothing but the broker;
10. errors are ``BackendError`` subclasses with their cause;
11. no message is dropped or dead-lettered because consumers, channels or links came and went: where the broker limits
    how often a message is requeued, the backend makes sure that closing does not reach that limit.
"""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import msgspec

from jmsbridge.spi.envelope import Address, Arrival, Endpoint, Envelope, Interest, Outcome
from jmsbridge.spi.errors import BackendError
from jmsbridge.spi.native import Native

__all__ = [
    "Backend",
    "Cancels",
    "Channel",
    "GroupChannels",
    "Inbox",
    "Link",
    "LinkEvents",
    "Retires",
    "Subscription",
    "Ticket",
]


class Ticket(Protocol):
    """Gets the answer to one call, once; a second answer is ignored."""

    def succeed(self) -> None:
        """The broker did it."""

    def fail(self, error: BackendError) -> None:
        """The broker did not do it, or, if ``error.in_doubt``, may have done it."""


class Inbox(Protocol):
    """Where a subscription's arrivals go."""

    def put(self, arrival: Arrival) -> None:
        """Pass one arrival to the facade."""

    def put_again(self, arrival: Arrival) -> None:
        """Repeat a ``put`` that was interrupted; ignored if the arrival was received the first time.

        For backends that call ``put`` in the application's thread, where the exception of a signal handler may end it.
        The arrival must be the same object, and nothing else may have been put since: the inbox compares it with the
        newest arrival that it has and with the last that was taken. Threads that wait for messages are woken anyway.
        """


class LinkEvents(Protocol):
    """What a link reports to the facade by itself."""

    def lost(self, error: BackendError) -> None:
        """The link is lost; called once, after every open ticket was answered."""

    def channel_lost(self, channel: "Channel", error: BackendError) -> None:
        """One channel is lost, with its subscriptions, while the link goes on; called once, after its open tickets were
        answered.

        Its unsettled messages are at the broker again, its transaction is rolled back, and its verbs fail with
        ``ChannelLost``. The facade opens another channel on the same link for the session that used it, and subscribes
        again. The lost channel need not be closed.

        A blocking verb that the broker refuses leaves its channel usable: where the broker reports a refusal by closing
        the channel, the backend makes such calls on a separate one.
        """

    def subscription_lost(self, subscription: "Subscription", error: BackendError) -> None:
        """The broker ended one subscription."""

    def throttled(self, active: bool) -> None:
        """The broker asks senders to pause (true) or to continue (false)."""


class Subscription(Protocol):
    """A flow of arrivals; starts with no credit."""

    native: Native

    def grant(self, count: int) -> None:
        """Allow at most ``count`` more arrivals (asynchronous).

        If the flow cannot start, or does not start within the backend's own deadline, call ``subscription_lost``.
        """

    def settle(self, tokens: Sequence[Any], outcome: Outcome, ticket: Ticket | None = None, failures: int = 1) -> None:
        """Tell the broker the outcome of these arrivals, in delivery order (asynchronous).

        Without SETTLE_CONFIRM the ticket is answered after the write. On a transacted channel with TRANSACTIONS
        ACCEPTED joins the transaction and its ticket may be answered at once: ``commit`` confirms. Every other
        settlement takes effect at once, and is answered as on any channel. RELEASED, REQUEUED and FAILED may be kept
        until ``close`` without RETURN, may return unmarked without FAIL, and are then answered at once.
        ``failures`` is for brokers that count exactly: the number of failed deliveries to add to the count. With FAILED
        and REJECTED it includes the last delivery, with REQUEUED only those before it. A backend whose broker does not
        distinguish REQUEUED from FAILED treats it as FAILED.
        """

    def drain(self, ticket: Ticket) -> None:
        """Take the credit to zero; answered after the last message that is still to arrive (asynchronous).

        With DRAIN everything that was available and that the credit allowed arrives first, also when the window was
        full of unsettled messages. Without DRAIN only messages that were already on their way arrive first.
        """

    def close(self) -> None:
        """End the flow (blocks). Called only when no token of it is unsettled; idempotent."""


@runtime_checkable
class Retires(Protocol):
    """Optional for a Subscription: stop delivery while its messages can still be settled.

    For a backend whose broker counts a subscription as a consumer until ``close``, or pushes to it beyond the credit:
    other consumers then need not wait until the application acknowledges the last message of a consumer it closed.
    """

    def retire(self) -> None:
        """The consumer was closed and its credit drained; only ``settle`` and ``close`` follow (asynchronous).

        Called once. The broker delivers nothing more to it; other consumers get what it would have got, messages of its
        groups included. An unshared durable subscription may get a new consumer, and its temporary destination may be
        deleted. A non-durable subscription without another consumer ends, and the messages waiting in it are dropped.

        Its unsettled messages can be settled with every outcome, also in the open transaction. A message that is
        returned after its subscription or destination has ended is dropped; settling it is not an error.
        ``unsubscribe`` is refused until the last message is settled (rule SU-5).
        """


class Channel(Protocol):
    """Sends in order and, when transacted, one transaction at a time.

    ``commit`` and ``rollback`` are called only on a transacted channel, so never without SEND_TRANSACTIONS.
    """

    def send(self, envelope: Envelope, ticket: Ticket | None) -> None:
        """Send; to each address in call order (asynchronous). Without a ticket no confirmation is wanted.

        The error is ``AddressRefused`` if the destination does not exist, ``SendRefused`` if the broker does not accept
        the message. On a transacted channel the ticket may be answered at once: ``commit`` confirms.
        """

    def subscribe(self, interest: Interest, inbox: Inbox) -> Subscription:
        """Start a subscription with zero credit (blocks).

        Before its first ``grant`` it keeps no message of a queue from other consumers. A backend whose broker pushes
        beyond the credit may hold the surplus instead of passing it to the inbox, and then claims CREDIT.
        """

    def commit(self, ticket: Ticket) -> None:
        """Make sends and, with TRANSACTIONS, ACCEPTED settlements since the last commit effective (asynchronous).

        An error that is not ``in_doubt`` means that nothing took effect: the sends are forgotten, and the tokens are
        unsettled as after ``rollback``, so that a later ``settle`` decides their outcome. If the broker accepts no
        outcome after a refused commit, the backend gives the channel up: the answer is ``ChannelLost``,
        ``channel_lost`` follows, and the broker delivers the messages again.
        """

    def rollback(self, ticket: Ticket) -> None:
        """Forget sends since the last commit (asynchronous). With TRANSACTIONS accepted tokens are unsettled again."""

    def close(self) -> None:
        """Roll back, and requeue all unsettled messages (blocks); idempotent."""


@runtime_checkable
class Cancels(Protocol):
    """Optional for a Channel: cancel sends that it has not written yet.

    For a backend that queues sends while the broker accepts none: an alarm at RabbitMQ, no credit on AMQP 1.0.
    """

    def cancel(self, tickets: Sequence[Ticket]) -> None:
        """Drop those of the sends of which nothing was written (blocks, but does not wait for the broker).

        Their tickets have been answered with ``SendCancelled`` when this returns. The other sends are not affected.
        """


class Link(Protocol):
    """One authenticated connection to the broker; its channels and subscriptions are lost with it."""

    native: Native
    broker: str
    """Product and version as the broker said it, such as ``"RabbitMQ 4.0.5"``."""

    def channel(self, transacted: bool) -> Channel:
        """Open a channel (blocks). A transacted one needs SEND_TRANSACTIONS: ``NotSupported`` without."""

    def declare(self, address: Address) -> Address:
        """Create a temporary destination and return the broker's name for it (blocks).

        That is the name asked for, unless it is taken: after a lost link the facade asks for the same names again.
        A backend whose broker chooses the names itself does not claim TEMPORARY; the facade then uses ordinary
        destinations with unique names. Where the broker has temporary queues but no temporary topics, create an
        ordinary topic with the unique name asked for.
        """

    def delete(self, address: Address) -> None:
        """Remove a temporary destination (blocks); ``AddressInUse`` while it has consumers."""

    def unsubscribe(self, key: str, address: Address | None) -> None:
        """Delete a durable subscription (blocks); ``SubscriptionUnknown`` if it does not exist, ``SubscriptionRefused``
        while it has a consumer or an unsettled message (rule SU-5).

        ``address`` is the topic that the connection last consumed under this key, on this link or an earlier one, or
        None if it never did. A backend that needs the topic then asks the broker, or raises ``NotSupported``.
        """

    def close(self) -> None:
        """End the link (blocks); idempotent, from any thread, also when lost. ``LinkEvents.lost`` is not called."""


@runtime_checkable
class GroupChannels(Protocol):
    """Optional for a Link: channels for sends confirmed in groups, several where that is faster.

    For a broker that handles the messages of a connection one after the other, and waits for the disk at each. The
    facade sends a group over each of the channels, and commits one after the other, in the order of the groups.
    """

    group_channels: int
    """How many of them at a time are worth having."""

    def group_channel(self, number: int) -> Channel:
        """Open a transacted channel on which nothing will be subscribed (blocks), the one of this number.

        It may have a connection of its own, whose loss is that of the channel, and which ends with the link. The facade
        sends messages to topics only over number 0, since ``no_local`` may depend on the connection.
        """


class Backend(Protocol):
    """A family of brokers; its entry point in group ``jmsbridge.backends`` has the name of the URL scheme."""

    spi_version: int
    """The ``SPI_VERSION`` for which it was written: the number itself, not the constant, which goes with jmsbridge."""
    name: str
    native: Native
    """The most that brokers of this family can do."""
    options: type[msgspec.Struct]
    """The backend's own options, typed, all with defaults; the facade's are not among them."""

    def open(self, endpoint: Endpoint, options: Any, events: LinkEvents) -> Link:
        """Connect and authenticate (blocks, for at most ``endpoint.connect_timeout``)."""
