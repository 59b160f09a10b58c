"""An order of sends and, when transacted, a transaction, on a broker in a file."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from jmsbridge.spi import (
    AddressInUse,
    BackendError,
    Envelope,
    Inbox,
    Interest,
    LinkLost,
    Mode,
    NotSupported,
    SendRefused,
    Subscription,
    SubscriptionRefused,
    Ticket,
)
from jmsbridge_embedded.file.batch import Batch
from jmsbridge_embedded.file.browser import FileBrowser
from jmsbridge_embedded.file.consumer import FileConsumer
from jmsbridge_embedded.file.disk.catalog import Line
from jmsbridge_embedded.file.disk.entries import Packed, pack
from jmsbridge_embedded.file.operations import Commit, Rollback, Send
from jmsbridge_embedded.file.token import Token
from jmsbridge_embedded.rules import check_creatable, compiled

if TYPE_CHECKING:
    from jmsbridge_embedded.file.link import FileLink

__all__ = ["FileChannel"]

_Accepted = dict[int, tuple[Token, FileConsumer]]


class FileChannel:
    """The SPI's Channel. Sends of a transaction are kept in the sender's process until commit.

    ``lost`` is set by whoever ends it, ``ended`` by the store's thread, which alone uses ``accepted``.
    """

    def __init__(self, link: "FileLink", transacted: bool) -> None:
        self.link = link
        self.store = link.store
        self.lost: str | None = None
        self.ended = False
        self.accepted: _Accepted | None = {} if transacted else None
        self.subscriptions: set[FileConsumer | FileBrowser] = set()
        self._sends: list[Packed] = []

    # -- Channel -------------------------------------------------------------------------------------------------

    def send(self, envelope: Envelope, ticket: Ticket | None) -> None:
        """Send, or hold until commit."""
        if self.lost is not None:
            if ticket is None:
                raise LinkLost(self.lost)
            ticket.fail(LinkLost(self.lost))
            return
        try:
            packed = pack(envelope)
        except (TypeError, ValueError, OverflowError) as error:
            if ticket is not None:
                ticket.fail(SendRefused(f"the message cannot be written down: {error}"))
            return
        if self.accepted is None:
            self.store.submit(Send(self.link, packed, ticket))
            return
        if not (envelope.address.temporary or self.link.max_messages or not envelope.address.name):
            self._sends.append(packed)
            if ticket is not None:
                ticket.succeed()
            return
        self._send_checked(packed, ticket)

    def _send_checked(self, packed: Packed, ticket: Ticket | None) -> None:
        """In a transaction, where it may have nowhere to go: that is said at once."""
        waiting = len(self._sends) + 1

        def check(batch: Batch) -> None:
            batch.check(packed, self.link)
            batch.check_room(self.link, waiting)

        try:
            self.link.call(check)
        except BackendError as error:
            if ticket is not None:
                ticket.fail(SendRefused(str(error)) if type(error) is BackendError else error)
            return
        self._sends.append(packed)
        if ticket is not None:
            ticket.succeed()

    def subscribe(self, interest: Interest, inbox: Inbox) -> Subscription:
        """Start a subscription, or a browser, with zero credit."""
        if self.lost is not None:
            raise LinkLost(self.lost)
        compiled(interest.selector)
        _check_names(interest.dead_letters, interest.expired)
        if interest.mode is Mode.BROWSE:
            if interest.address.topic:
                raise NotSupported(f"{interest.address} is a topic; only queues can be browsed")
            return self.link.call(lambda batch: self._browse(batch, interest, inbox))
        if interest.address.topic and interest.durable and not interest.shared and self.link.client_id is None:
            raise SubscriptionRefused(f"durable subscription {interest.key!r} needs a client id, or must be shared")
        return self.link.call(lambda batch: self._consume(batch, interest, inbox), sync=interest.durable)

    def commit(self, ticket: Ticket) -> None:
        """Make sends and accepted settlements since the last commit effective, in one step."""
        if self._is_transacted(ticket):
            sends, self._sends = self._sends, []
            self.store.submit(Commit(self, sends, ticket))

    def rollback(self, ticket: Ticket) -> None:
        """Forget sends since the last commit; accepted tokens are unsettled again."""
        if self._is_transacted(ticket):
            self._sends = []
            self.store.submit(Rollback(self, ticket))

    def close(self) -> None:
        """Roll back, give held tokens back as REQUEUED."""
        if self.lost is None:
            self.link.end_soon(self._end)

    def _end(self, batch: Batch) -> None:
        if self in self.link.channels:
            self.link.end_channels(batch, [self], "the channel was closed")

    def _is_transacted(self, ticket: Ticket) -> bool:
        if self.lost is not None:
            ticket.fail(LinkLost(self.lost))
        elif self.accepted is None:
            ticket.fail(NotSupported("this channel has no transaction: it was opened with transacted=False"))
        else:
            return True
        return False

    # -- in a transaction of the file ----------------------------------------------------------------------------

    def _browse(self, batch: Batch, interest: Interest, inbox: Inbox) -> FileBrowser:
        self._check()
        line = batch.catalog.find_queue(interest.address.name)
        if line is None:
            check_creatable(interest.address)
        else:
            self._check_owner(interest, line.owner)
        browser = FileBrowser(self, line, interest.selector, inbox, batch.entries.sequence)
        self.subscriptions.add(browser)
        return browser

    def _consume(self, batch: Batch, interest: Interest, inbox: Inbox) -> FileConsumer:
        self._check()
        catalog, address = batch.catalog, interest.address
        line: Line
        if address.topic:
            self._check_owner(interest, catalog.topic_owner(address))
            line = catalog.subscribe(interest, self.link.id, self.link.client_id)
        else:
            line = catalog.queue(address)
            self._check_owner(interest, line.owner)
        selector = None if address.topic else interest.selector
        consumer = FileConsumer(self, line, catalog.join(line.id, selector), interest, inbox)
        batch.store.dispatcher.join(line, consumer, selector)
        self.subscriptions.add(consumer)
        batch.on_undo(lambda: self._not_made(batch, consumer))
        return consumer

    def _not_made(self, batch: Batch, consumer: FileConsumer) -> None:
        batch.store.dispatcher.leave(consumer)
        self.subscriptions.discard(consumer)

    def _check(self) -> None:
        if self.ended:
            raise LinkLost(self.lost or "the channel was closed")

    def _check_owner(self, interest: Interest, owner: int) -> None:
        """Temporary destinations are consumed only by their link (section 4.1.3)."""
        if owner and owner != self.link.id:
            raise AddressInUse(
                f"{interest.address} is a temporary destination of another connection; only that one may consume it"
            )

    def end_consumer(self, consumer: FileConsumer) -> None:
        """Close one consumer; what the open transaction accepted stays with it."""

        def stop(batch: Batch) -> None:
            consumer.stop(batch, "the subscription was closed")
            self.subscriptions.discard(consumer)
            kept = self.accepted or {}
            held = {number: token for number, token in consumer.held.items() if number not in kept}
            consumer.give_back(batch, held.values(), 1, 0)
            for number in held:
                del consumer.held[number]
            batch.on_undo(lambda: consumer.held.update(held))
            consumer.leave(batch)

        self.link.end_soon(stop)

    def end_browser(self, browser: FileBrowser) -> None:
        """Close one browser."""
        browser.lost = "the browser was closed"
        self.subscriptions.discard(browser)

    def emptied(self) -> Callable[[], None]:
        """Everything was given back; how to undo that."""
        subscriptions, accepted = self.subscriptions, self.accepted
        held = {one: one.held for one in subscriptions if isinstance(one, FileConsumer)}
        self.subscriptions = set()
        self.accepted = None if accepted is None else {}
        for consumer in held:
            consumer.held = {}

        def restore() -> None:
            self.subscriptions, self.accepted = subscriptions, accepted
            self.link.channels.add(self)
            for consumer, tokens in held.items():
                consumer.held = tokens

        return restore

    def restore(self, before: _Accepted) -> None:
        """Take back what a transaction of the file did to ``accepted``."""
        self.accepted = before

    def unaccept(self, before: _Accepted) -> None:
        """A commit was taken back: its tokens are accepted and held as before."""
        self.accepted = before
        for number, (token, consumer) in before.items():
            consumer.held[number] = token


def _check_names(*names: str | None) -> None:
    """Raise now rather than when there is something to put aside."""
    for name in names:
        try:
            (name or "").encode()
        except UnicodeEncodeError as error:
            raise SubscriptionRefused(f"half of a surrogate pair cannot be in a queue's name ({error})") from error
