"""The SPI's Channel: sends on the producers of the link, and subscriptions."""

from collections import deque
from collections.abc import Callable

from jmsbridge.spi import (
    BackendError,
    ChannelLost,
    Envelope,
    Inbox,
    Interest,
    Mode,
    Native,
    NotSupported,
    Ticket,
)
from jmsbridge.transport.network.io_thread import Mailbox
from jmsbridge.transport.network.link_life import Done, after_all
from jmsbridge_pulsar.facts import LinkFacts
from jmsbridge_pulsar.receiving.subscription import Subscription
from jmsbridge_pulsar.sending.encoding import outgoing_of
from jmsbridge_pulsar.sending.outgoing import Outgoing

__all__ = ["Channel"]

_BUSY = 16  # after so many sends in one batch, the I/O thread looks for more without a wake-up
# Seconds for which a caller that is far ahead sleeps: see the decisions on Pulsar.
_GIVE_WAY = 500e-6


class Channel:
    """Verbs from any thread. ``forget`` is called once it is closed."""

    def __init__(self, facts: LinkFacts, forget: "Callable[[Channel], None]") -> None:
        self._facts = facts
        self._life = facts.life
        self._forget = forget
        self._box: Mailbox[Outgoing] = Mailbox(self._life.thread, self._serve, self._refuse, _GIVE_WAY)
        self._subscriptions: set[Subscription] = set()
        self._closed = False

    def check(self) -> None:
        """Raise if the channel or its link has ended."""
        self._life.check()
        if self._closed:
            raise ChannelLost("the channel is closed")

    def send(self, envelope: Envelope, ticket: Ticket | None) -> None:
        """Encode the message and pass it to the I/O thread."""
        if ticket is None:
            self.check()
        try:
            outgoing = outgoing_of(self._facts, envelope, ticket)
        except BackendError as error:
            if ticket is None:
                raise
            ticket.fail(error)
            return
        self._box.put(outgoing)

    def _serve(self, items: deque[Outgoing]) -> None:
        producers = self._facts.producers
        if len(items) >= _BUSY:
            self._box.watch()
        while items:
            producers.send(items.popleft())
        producers.flush()

    def _refuse(self, outgoing: Outgoing) -> None:
        outgoing.fail(self._life.lost())

    def subscribe(self, interest: Interest, inbox: Inbox) -> Subscription:
        """Subscribe without credit."""
        self.check()
        if interest.mode is Mode.BROWSE and Native.BROWSE not in self._facts.native:
            raise NotSupported(f"{self._life.broker} is browsed with the help of its REST interface: set admin_url")
        made = Subscription(self._facts, interest, inbox, self._subscriptions.discard)
        self._subscriptions.add(made)
        try:
            made.open()
        except BaseException:
            self._subscriptions.discard(made)
            raise
        return made

    def commit(self, ticket: Ticket) -> None:
        """Not supported by the client library."""
        ticket.fail(self._no_transactions())

    def rollback(self, ticket: Ticket) -> None:
        """Not supported by the client library."""
        ticket.fail(self._no_transactions())

    def _no_transactions(self) -> NotSupported:
        return NotSupported(f"Pulsar's client library has no transactions ({self._life.broker})")

    def close(self) -> None:
        """Return what is unsettled."""
        self._closed = True
        for subscription in list(self._subscriptions):
            subscription.close()
        self._forget(self)

    def finish(self, done: Done) -> None:
        """The link is being closed: end all subscriptions; I/O thread."""
        after_all([subscription.finish for subscription in self._subscriptions], lambda: done(None, None))

    def join(self) -> None:
        """Wait until its threads have ended, after ``end``."""
        for subscription in list(self._subscriptions):
            subscription.join()

    def end(self) -> None:
        """The link is lost; I/O thread."""
        self._box.refuse_all()
        for subscription in list(self._subscriptions):
            subscription.end(self._life.lost())
