"""A channel of the broker in memory: ordered sends and, when transacted, a transaction."""

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
    Mode,
    Subscription,
    Ticket,
    TransactionRolledBack,
)
from jmsbridge.transport.tickets import Answer
from jmsbridge_embedded.client import Client
from jmsbridge_embedded.memory.browser import Browser
from jmsbridge_embedded.memory.consumer import Accepted, Consumer
from jmsbridge_embedded.memory.destinations import Destinations
from jmsbridge_embedded.memory.queues.backlog import Entry
from jmsbridge_embedded.rules import check_alive, check_transacted, compiled

if TYPE_CHECKING:
    from jmsbridge.selectors import Selector
    from jmsbridge_embedded.memory.queues.queue import Queue

__all__ = ["Channel", "end_channels"]

_log = logging.getLogger("jmsbridge.embedded")


class Channel:
    """The SPI's Channel; guarded by the broker's lock.

    Verbs run in the caller's thread, so a ticket is answered before its verb returns. In a transaction, ``sends`` count
    as stored before the commit; ``accepted`` maps each token to its consumer.
    """

    def __init__(self, destinations: Destinations, client: Client, channels: "set[Channel]", transacted: bool) -> None:
        self.lost: str | None = None
        self.accepted: Accepted | None = {} if transacted else None
        self.subscriptions: set[Consumer | Browser] = set()
        self.sends: list[Envelope] = []
        self._destinations = destinations
        self._state = destinations.state
        self._lock = destinations.state.lock
        self._queues = destinations.queues
        self._client = client
        self._limit = client.max_messages
        self._channels = channels

    # -- Channel -------------------------------------------------------------------------------------------------

    def send(self, envelope: Envelope, ticket: Ticket | None) -> None:
        """Send, or keep the message until commit."""
        state = self._state
        try:
            with self._lock:
                if state.step is not None:
                    state.repair()
                if self.lost is not None:
                    raise LinkLost(self.lost)
                address = envelope.address
                queue = None if address.topic or state.stored >= self._limit else self._queues.get(address.name)
                if self.accepted is not None:
                    if queue is None:
                        self._destinations.admit(envelope, self._client)
                    stored = state.stored + 1
                    state.step = (self._hold, envelope, len(self.sends) + 1, stored)
                    self.sends.append(envelope)
                    state.stored = stored
                elif queue is None or envelope.duplicate_id is not None:
                    self._destinations.publish(envelope, self._client)
                else:
                    queue.add(envelope)
                state.step = None
        except BackendError as error:
            if ticket is not None:
                ticket.fail(error)
            elif isinstance(error, LinkLost):
                raise
            else:
                _log.debug("a send without confirmation was refused: %s", error)
            return
        except BaseException:  # an interrupt: repair on another thread, without waiting for the next verb
            start_new_thread(state.repair_now, ())
            raise
        if ticket is not None:
            ticket.succeed()

    def subscribe(self, interest: Interest, inbox: Inbox) -> Subscription:
        """Start a consumer or a browser, with zero credit."""
        selector = None if self.lost is not None else compiled(interest.selector)
        with self._lock:
            self._check()
            subscription = self._subscribe(interest, selector, inbox)
            self.subscriptions.add(subscription)
            self._state.step = None
        subscription.prepare()
        return subscription

    def commit(self, ticket: Ticket) -> None:
        """Make sends and accepted settlements since the last commit effective, in one step."""
        self._end_transaction(ticket, self._commit)

    def rollback(self, ticket: Ticket) -> None:
        """Drop the sends since the last commit; accepted tokens are unsettled again."""
        self._end_transaction(ticket, self.undo)

    def close(self) -> None:
        """Roll back, and return held messages as REQUEUED."""
        with self._lock:
            self._state.repair()
            if self.lost is None:
                self._channels.discard(self)
                end_channels([self], "the channel was closed")
            self._state.step = None

    # -- with the broker's lock held -----------------------------------------------------------------------------

    def undo(self) -> None:
        """Roll the transaction back."""
        self._state.stored -= len(self.sends)
        self.sends = []
        queues: dict[Queue, None] = {}
        for entry, consumer in self._take_accepted():
            if consumer.lost is not None:  # closed since then: its messages return to the queue
                consumer.put_back((entry,), 1, 0)
                queues[consumer.queue] = None
        for queue in queues:
            queue.dispatch()

    def _commit(self) -> None:
        try:
            self._destinations.check(self.sends, self._client)
        except BackendError as error:
            self.undo()
            raise TransactionRolledBack(f"the transaction was rolled back: {error}") from error
        for entry, consumer in self._take_accepted():
            consumer.accept((entry,))
            if consumer.lost is not None:
                consumer.queue.rest()
        sends, self.sends = self.sends, []
        self._state.stored -= len(sends)
        self._destinations.publish_all(sends, self._client)

    def _take_accepted(self) -> list[tuple[Entry, Consumer]]:
        """Empty the transaction's accepted tokens and return them."""
        if not self.accepted:
            return []
        accepted = list(self.accepted.items())
        self.accepted.clear()
        return accepted

    def _hold(self, again: bool, envelope: Envelope, count: int, stored: int) -> None:
        """A step, inlined in ``send``: a message waits for the commit."""
        if len(self.sends) < count:
            self.sends.append(envelope)
        self._state.stored = stored

    def _subscribe(self, interest: Interest, selector: "Selector | None", inbox: Inbox) -> Consumer | Browser:
        if interest.mode is Mode.BROWSE:
            queue = self._destinations.browsable(interest, self._client)
            return Browser(queue, selector, inbox, self.subscriptions.discard)
        queue = self._destinations.consumable(interest, selector, self._client)
        consumer = Consumer(queue, interest, inbox, self.accepted, self.subscriptions.discard)
        if interest.address.topic:
            queue.join(consumer, None, None)
        else:
            queue.join(consumer, interest.selector, selector)
        return consumer

    def _check(self) -> None:
        self._state.repair()
        check_alive(self.lost)

    def _end_transaction(self, ticket: Ticket, act: Callable[[], None]) -> None:
        with Answer(ticket), self._lock:
            self._check()
            check_transacted(self.accepted)
            act()
            self._state.step = None


def end_channels(channels: Sequence[Channel], lost: str, *, death: bool = False) -> None:
    """Roll these channels back and return what they hold, all together, so that none of them receives it again.

    The broker's lock is held.
    """
    subscriptions = [subscription for channel in channels for subscription in channel.subscriptions]
    for channel in channels:
        channel.lost = lost
        channel.subscriptions.clear()
    for subscription in subscriptions:
        subscription.stop(lost)
    for channel in channels:
        channel.undo()
    for subscription in subscriptions:
        subscription.release(death=death)
    for subscription in subscriptions:
        subscription.leave()
