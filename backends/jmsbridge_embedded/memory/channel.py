"""An order of sends and, when transacted, a transaction."""

import logging
from _thread import start_new_thread
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from jmsbridge.spi import (
    BackendError,
    Envelope,
    Inbox,
    Interest,
    LinkLost,
    NotSupported,
    Subscription,
    Ticket,
    TransactionRolledBack,
)
from jmsbridge_embedded.memory.browser import Browser
from jmsbridge_embedded.memory.consumer import Consumer
from jmsbridge_embedded.memory.queues.backlog import Entry
from jmsbridge_embedded.memory.queues.steps import held
from jmsbridge_embedded.rules import compiled

if TYPE_CHECKING:
    from jmsbridge_embedded.memory.broker import Broker
    from jmsbridge_embedded.memory.link import Link
    from jmsbridge_embedded.memory.queues.queue import Queue

__all__ = ["Channel", "end_channels"]

_log = logging.getLogger("jmsbridge.embedded")


class Channel:
    """The SPI's Channel; guarded by the broker's lock.

    Everything happens in the caller's thread, so a ticket is answered before the verb returns. In a transaction,
    ``sends`` are counted as stored from the moment they are sent; ``accepted`` maps each token to its consumer.
    """

    def __init__(self, broker: "Broker", link: "Link", transacted: bool) -> None:
        self.broker = broker
        self.lost: str | None = None
        self.accepted: dict[Entry, Consumer] | None = {} if transacted else None
        self.subscriptions: set[Consumer | Browser] = set()
        self.sends: list[Envelope] = []
        self._common = broker.common
        self._lock = broker.common.lock
        self._queues = broker.queues
        self._link = link
        self._limit = link.max_messages

    # -- Channel -------------------------------------------------------------------------------------------------

    def send(self, envelope: Envelope, ticket: Ticket | None) -> None:
        """Send, or hold until commit."""
        common = self._common
        try:
            with self._lock:
                if common.step is not None:
                    common.mend()
                if self.lost is not None:
                    raise LinkLost(self.lost)
                if self.accepted is None:
                    address = envelope.address
                    queue = self._queues.get(address.name)
                    if address.topic or queue is None or envelope.duplicate_id is not None:
                        self.broker.publish(envelope, self._link)
                    elif common.stored < self._limit:
                        queue.add(envelope)
                    else:
                        raise self.broker.full(self._link)
                else:
                    self.broker.admit(envelope, self._link)
                    common.do(held, self, envelope, len(self.sends) + 1, common.stored + 1)
                common.step = None
        except BackendError as error:
            if ticket is not None:
                ticket.fail(error)
            elif isinstance(error, LinkLost):
                raise
            else:
                _log.debug("a send without confirmation was refused: %s", error)
            return
        except BaseException:  # an interrupt: others need not wait for the next verb
            start_new_thread(common.mend_now, ())
            raise
        if ticket is not None:
            ticket.succeed()

    def subscribe(self, interest: Interest, inbox: Inbox) -> Subscription:
        """Start a subscription, or a browser, with zero credit."""
        selector = None if self.lost is not None else compiled(interest.selector)
        with self._lock:
            self._common.mend()
            if self.lost is not None:
                raise LinkLost(self.lost)
            subscription = self.broker.subscribe(self, self._link, interest, selector, inbox)
            self.subscriptions.add(subscription)
            self._common.step = None
        subscription.prepare()
        return subscription

    def commit(self, ticket: Ticket) -> None:
        """Make sends and accepted settlements since the last commit effective, in one step."""
        self._end_transaction(ticket, self._commit)

    def rollback(self, ticket: Ticket) -> None:
        """Forget sends since the last commit; accepted tokens are unsettled again."""
        self._end_transaction(ticket, self.undo)

    def close(self) -> None:
        """Roll back, give held tokens back as REQUEUED."""
        with self._lock:
            self._common.mend()
            if self.lost is None:
                self._link.channels.discard(self)
                end_channels([self], "the channel was closed")
            self._common.step = None

    # -- for the broker, with its lock held ----------------------------------------------------------------------

    def undo(self) -> None:
        """Roll back."""
        self._common.stored -= len(self.sends)
        self.sends = []
        if not self.accepted:
            return
        accepted, self.accepted = self.accepted, {}
        queues: dict[Queue, None] = {}
        for entry, consumer in accepted.items():
            if consumer.lost is not None:  # closed since: nobody is left to hold it
                consumer.put_back((entry,), 1, 0)
                queues[consumer.queue] = None
        for queue in queues:
            queue.dispatch()

    def _commit(self) -> None:
        try:
            self.broker.check(self.sends, self._link)
        except BackendError as error:
            self.undo()
            raise TransactionRolledBack(f"the transaction was rolled back: {error}") from error
        if self.accepted:
            accepted, self.accepted = self.accepted, {}
            for entry, consumer in accepted.items():
                consumer.accept((entry,))
                if consumer.lost is not None:
                    consumer.queue.rest()
        sends, self.sends = self.sends, []
        self._common.stored -= len(sends)
        self.broker.publish_all(sends, self._link)

    def _end_transaction(self, ticket: Ticket, act: Callable[[], None]) -> None:
        try:
            with self._lock:
                self._common.mend()
                if self.lost is not None:
                    raise LinkLost(self.lost)
                if self.accepted is None:
                    raise NotSupported("this channel has no transaction: it was opened with transacted=False")
                act()
                self._common.step = None
        except BackendError as error:
            ticket.fail(error)
        else:
            ticket.succeed()


def end_channels(channels: Sequence[Channel], lost: str, *, death: bool = False) -> None:
    """Roll these back and give back what they hold, together: nothing comes to one of them on the way.

    Expects the broker's lock to be held.
    """
    subscriptions = [subscription for channel in channels for subscription in channel.subscriptions]
    for channel in channels:
        channel.lost = lost
        channel.subscriptions = set()
    for subscription in subscriptions:
        subscription.stop(lost)
    for channel in channels:
        channel.undo()
    for subscription in subscriptions:
        subscription.release(death=death)
    for subscription in subscriptions:
        subscription.leave()
