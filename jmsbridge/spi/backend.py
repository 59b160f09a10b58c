"""The border: fifteen verbs down, eight calls up.

Kinds of verbs
    *blocks*: may take a round trip; raises ``BackendError``; never called on an I/O thread.
    *path*: returns at once. With a ticket it never raises ``BackendError``: every failure, a dead link included, is the
    ticket's answer. Without a ticket no answer is asked for, and a dead link raises ``LinkLost``.

Calls upward (``Inbox.put``, ``Ticket.succeed`` and ``fail``, ``LinkEvents``) never raise, never block, take only leaf
locks and never call down again, so a backend may make them from any thread and while it holds a lock of its own.

A backend promises, and ``jmsbridge.testing.suite`` tests:

1. a ticket is answered exactly once, also when the link dies, and possibly before the verb returns;
2. sends on one channel to one address keep their order, with and without tickets (rules OR-1, OR-2); between addresses
   none is promised (OR-3), and their tickets are answered in any order: the facade calls back in the order of sending;
3. arrivals of a subscription keep broker order and never exceed credit, or, where the broker only counts unsettled
   messages, the bounded prefetch;
4. no arrival after ``drain``'s answer or ``close``;
5. ``settle`` of several tokens is one step in that order;
6. a link never reconnects: it dies once and says so once; neither does a channel that dies alone;
7. after death every verb fails fast with ``LinkLost``, those of a channel that died alone with ``ChannelLost``;
8. no user code runs on its threads, which are daemon and named ``jmsbridge-…-io``;
9. links share nothing but the broker;
10. errors are ``BackendError`` subclasses with their cause;
11. no message is dropped or dead-lettered because consumers, channels or links came and went: where the broker counts
    what is handed back, up to a limit, the backend sees to it that closing does not reach that limit.
"""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import msgspec

from jmsbridge.spi.envelope import Address, Arrival, Endpoint, Envelope, Interest, Outcome
from jmsbridge.spi.errors import BackendError
from jmsbridge.spi.native import Native

__all__ = ["Backend", "Cancels", "Channel", "Inbox", "Link", "LinkEvents", "Retires", "Subscription", "Ticket"]


class Ticket(Protocol):
    """One question to the broker, answered once; a second answer is ignored."""

    def succeed(self) -> None:
        """The broker did it."""

    def fail(self, error: BackendError) -> None:
        """The broker did not, or ``error.in_doubt``."""


class Inbox(Protocol):
    """Where a subscription's arrivals go."""

    def put(self, arrival: Arrival) -> None:
        """Hand one arrival to the facade."""

    def put_again(self, arrival: Arrival) -> None:
        """Hand over an arrival that an interrupted ``put`` may have handed over already; ignored if it did.

        For backends that call ``put`` in the caller's thread, where the exception of a signal handler may end it. It is
        the same object, and nothing else was put since: it is the newest of those that are here, or the last that
        was taken. Whoever waits for messages is woken in any case.
        """


class LinkEvents(Protocol):
    """What a link tells the facade without being asked."""

    def lost(self, error: BackendError) -> None:
        """The link is dead; said once, after every open ticket was answered."""

    def channel_lost(self, channel: "Channel", error: BackendError) -> None:
        """One channel died alone, with its subscriptions; said once, after its open tickets were answered.

        What it held unsettled is with the broker again, its transaction is rolled back, and its verbs fail with
        ``ChannelLost``. The facade opens another channel on the same link for the session that used it, and subscribes
        again; the link and its other channels go on. The lost one needs no ``close``.

        A blocking verb that the broker refuses leaves its channel usable: a backend whose broker closes a channel to
        say no asks over another one.
        """

    def subscription_lost(self, subscription: "Subscription", error: BackendError) -> None:
        """The broker ended one subscription."""

    def throttled(self, active: bool) -> None:
        """The broker asked senders to pause (true) or to go on (false)."""


class Subscription(Protocol):
    """A flow of arrivals; starts with no credit."""

    native: Native

    def grant(self, count: int) -> None:
        """Allow at most ``count`` more arrivals (path).

        A flow that cannot start, or does not within the backend's own deadline, is ``subscription_lost``.
        """

    def settle(self, tokens: Sequence[Any], outcome: Outcome, ticket: Ticket | None = None, failures: int = 1) -> None:
        """Say what became of these arrivals, in delivery order (path).

        Without SETTLE_CONFIRM the ticket is answered after the write. On a transacted channel ACCEPTED joins the
        transaction, the others take effect at once, and the ticket may be answered at once: ``commit`` confirms.
        ``failures`` counts the deliveries that failed, used where the broker counts exactly: those that FAILED or
        REJECTED stands for, and for REQUEUED those before the last one, which did not fail. A backend whose broker
        knows no difference takes REQUEUED for FAILED.
        """

    def drain(self, ticket: Ticket) -> None:
        """Take credit to zero; answered after the last arrival owed (path).

        With DRAIN that is everything which was available and which credit allowed, also when the window was full of
        unsettled messages. Without DRAIN it is what was on its way: the answer need not wait for anything else.
        """

    def close(self) -> None:
        """End the flow (blocks). Called only when no token of it is unsettled; idempotent."""


@runtime_checkable
class Retires(Protocol):
    """What a Subscription may offer besides: to be no consumer any more while messages of it are unsettled.

    A backend whose broker counts a subscription as a consumer until ``close``, or pushes to it beyond the credit,
    offers it: the application closed this consumer, and nobody is to wait for its last acknowledgement.
    """

    def retire(self) -> None:
        """Its consumer was closed, and its credit drained; only settlements and ``close`` follow (path). Called once.

        From now on it gets nothing, and others get what it would have got, the messages of its groups among them. An
        unshared durable subscription may be taken up again, and its temporary destination deleted. A non-durable
        subscription that has no other consumer ends with what waits in it.

        What it holds can be settled as before, with every outcome, in the open transaction too. A message that comes
        back after its subscription or destination has ended is dropped with it; settling it is no error.
        ``unsubscribe`` goes on being refused until the last one is settled (rule SU-5).
        """


class Channel(Protocol):
    """An order and, when transacted, a transaction."""

    def send(self, envelope: Envelope, ticket: Ticket | None) -> None:
        """Send; to each address in call order (path). No ticket: no confirmation asked.

        A message that has nowhere to go is ``AddressRefused``, one that the broker will not take ``SendRefused``. On a
        transacted channel the ticket may be answered at once: ``commit`` confirms.
        """

    def subscribe(self, interest: Interest, inbox: Inbox) -> Subscription:
        """Start a subscription with zero credit (blocks).

        Before its first ``grant`` it keeps no message of a queue from other consumers. A backend whose broker pushes
        beyond the credit may hold the surplus, and then claims CREDIT; it hands nothing of it up.
        """

    def commit(self, ticket: Ticket) -> None:
        """Make sends and ACCEPTED settlements since the last commit effective (path).

        A refusal that is not ``in_doubt`` means that none of it is: the sends are forgotten, and the tokens are
        unsettled as after ``rollback``, so that any outcome of a later ``settle`` counts. A backend whose broker
        honours none after a refused commit gives the channel up: the answer is ``ChannelLost``, ``channel_lost``
        follows, and the messages come again from the broker.
        """

    def rollback(self, ticket: Ticket) -> None:
        """Forget sends since the last commit; accepted tokens become unsettled again (path)."""

    def close(self) -> None:
        """Roll back, give held tokens back to the broker as REQUEUED (blocks); idempotent."""


@runtime_checkable
class Cancels(Protocol):
    """Optional for a Channel: to take back sends that it has not written yet.

    For a backend that keeps sends back while the broker takes none: an alarm at RabbitMQ, no credit on AMQP 1.0.
    """

    def cancel(self, tickets: Sequence[Ticket]) -> None:
        """Nobody waits for these sends any longer (blocks, but not for the broker).

        Those of which nothing was written are never sent: their tickets have been answered with ``SendCancelled`` when
        this returns. The others are answered as if nothing had been asked.
        """


class Link(Protocol):
    """One authenticated unit of failure: what lives and dies together."""

    native: Native
    broker: str
    """Product and version as the broker said it, such as ``"RabbitMQ 4.0.5"``."""

    def channel(self, transacted: bool) -> Channel:
        """Open an order and transaction domain (blocks)."""

    def declare(self, address: Address) -> Address:
        """Make the temporary destination; the broker's name for it comes back (blocks).

        That is the name asked for, unless it is taken: a link that follows a lost one asks for the same names again.
        A backend whose broker makes up the names does not claim TEMPORARY, and the facade's unique names do. Where the
        broker has temporary queues but no temporary topics, an ordinary topic under that unique name will do.
        """

    def delete(self, address: Address) -> None:
        """Remove a temporary destination (blocks); ``AddressInUse`` while it has consumers."""

    def unsubscribe(self, key: str, address: Address | None) -> None:
        """Forget a durable subscription (blocks); ``SubscriptionUnknown`` where there is none, ``SubscriptionRefused``
        while it has a consumer or a message of it is unsettled (rule SU-5).

        ``address`` is the topic that the connection consumed under this key last, on this link or an earlier one. It is
        None where it never did; a backend that cannot do without it asks the broker, or raises ``NotSupported``.
        """

    def close(self) -> None:
        """End the link (blocks); idempotent, from any thread, also when dead. ``lost`` is not said."""


class Backend(Protocol):
    """A family of brokers; found by its entry point in group ``jmsbridge.backends``, named after the URL scheme."""

    name: str
    native: Native
    """The family's maximum."""
    options: type[msgspec.Struct]
    """Typed options of this backend, all with defaults, beside those of the facade."""

    def open(self, endpoint: Endpoint, options: Any, events: LinkEvents) -> Link:
        """Connect and authenticate (blocks, for at most ``endpoint.connect_timeout``)."""
