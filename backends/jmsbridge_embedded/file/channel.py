"""A channel of the broker in a file: ordered sends and, when transacted, a transaction."""

import logging
from collections.abc import Sequence
from functools import partial
from typing import Final

from jmsbridge.spi import (
    AddressRefused,
    BackendError,
    Envelope,
    Inbox,
    Interest,
    LinkLost,
    Mode,
    SendRefused,
    Subscription,
    SubscriptionRefused,
    Ticket,
    TransactionRolledBack,
)
from jmsbridge.transport.literal_names import check_literal, is_unicode
from jmsbridge_embedded.client import UNLIMITED, Client
from jmsbridge_embedded.file.access import Access
from jmsbridge_embedded.file.batch import Batch
from jmsbridge_embedded.file.browser import FileBrowser
from jmsbridge_embedded.file.consumer import Accepted, FileConsumer
from jmsbridge_embedded.file.disk.entries import Packed, pack
from jmsbridge_embedded.file.dispatch import Token
from jmsbridge_embedded.file.operations import Verb
from jmsbridge_embedded.rules import (
    answer,
    check_alive,
    check_creatable,
    check_interest,
    check_owner,
    check_transacted,
    compiled,
)

__all__ = ["FileChannel", "end_channels"]

_WHERE: Final = "an embedded broker in a file"
_log = logging.getLogger("jmsbridge.embedded")


class FileChannel:
    """The SPI's Channel.

    Sends of a transaction stay in the sender's process until commit. ``lost`` is set on the thread that ends the
    channel, ``ended`` on the store's thread, which alone uses ``accepted``.
    """

    def __init__(self, access: Access, channels: "set[FileChannel]", transacted: bool) -> None:
        self.lost: str | None = None
        self.ended = False
        self.accepted: Accepted | None = {} if transacted else None
        self.subscriptions: set[FileConsumer | FileBrowser] = set()
        self._access = access
        self._client = access.client
        self._store = access.store
        self._channels = channels
        self._sends: list[Packed] = []

    # -- Channel -------------------------------------------------------------------------------------------------

    def send(self, envelope: Envelope, ticket: Ticket | None) -> None:
        """Send, or keep the message until commit."""
        if self.lost is not None:
            answer(ticket, self.lost)
            return
        try:
            check_literal(envelope.address, _WHERE)
            packed = pack(envelope)
        except AddressRefused as error:
            if ticket is None:
                raise
            ticket.fail(error)
            return
        except (TypeError, ValueError, OverflowError) as error:
            if ticket is not None:
                ticket.fail(SendRefused(f"the message cannot be stored in the file: {error}"))
            return
        if self.accepted is None:
            self._store.submit(_Send(self._client, packed, ticket))
            return
        if envelope.address.temporary or self._client.max_messages != UNLIMITED or not envelope.address.name:
            refusal = self._refusal(packed)
            if refusal is not None:
                if ticket is not None:
                    ticket.fail(refusal)
                return
        self._sends.append(packed)
        if ticket is not None:
            ticket.succeed()

    def _refusal(self, packed: Packed) -> BackendError | None:
        """Why a send in a transaction cannot work: it is refused at once, not at commit."""
        waiting = len(self._sends) + 1

        def check(batch: Batch) -> None:
            batch.check(packed, self._client)
            batch.check_room(self._client, waiting)

        try:
            self._access.call(check)
        except BackendError as error:
            return SendRefused(str(error)) if type(error) is BackendError else error
        return None

    def subscribe(self, interest: Interest, inbox: Inbox) -> Subscription:
        """Start a consumer or a browser, with zero credit."""
        check_alive(self.lost)
        compiled(interest.selector)
        check_literal(interest.address, _WHERE)
        _check_names(interest.dead_letters, interest.expired)
        check_interest(interest, self._client.client_id)
        if interest.mode is Mode.BROWSE:
            return self._access.call(lambda batch: self._browse(batch, interest, inbox))
        return self._access.call(lambda batch: self._consume(batch, interest, inbox), sync=interest.durable)

    def commit(self, ticket: Ticket) -> None:
        """Make sends and accepted settlements since the last commit effective, in one step."""
        if self._is_usable(ticket):
            sends, self._sends = self._sends, []
            size = sum(len(packed.body) for packed in sends)
            act, failed = partial(self._commit, sends), partial(self._commit_failed, ticket)
            self._store.submit(Verb(act, ticket, failed, sync=True, size=size))

    def rollback(self, ticket: Ticket) -> None:
        """Drop the sends since the last commit; accepted tokens are unsettled again."""
        if self._is_usable(ticket):
            self._sends = []
            self._store.submit(Verb(self._rollback, ticket))

    def close(self) -> None:
        """Roll back, and return held messages as REQUEUED."""
        if self.lost is None:
            self._access.end_soon(self._close)

    def _is_usable(self, ticket: Ticket) -> bool:
        try:
            check_alive(self.lost)
            check_transacted(self.accepted)
        except BackendError as error:
            ticket.fail(error)
            return False
        return True

    # -- in a transaction of the file ----------------------------------------------------------------------------

    def _commit(self, sends: list[Packed], batch: Batch) -> None:
        """Do the whole commit within the store's present transaction."""
        accepted = self._open_transaction()
        for packed in sends:
            batch.check(packed, self._client)
        batch.check_room(self._client, len(sends))
        before = dict(accepted)
        for number, (_, consumer) in before.items():
            consumer.held.pop(number, None)
        accepted.clear()

        def undo() -> None:
            accepted.update(before)
            for number, (token, consumer) in before.items():
                consumer.held[number] = token

        batch.on_undo(undo)
        batch.entries.forget(before)
        for packed in sends:
            batch.publish(packed, self._client)

    def _commit_failed(self, ticket: Ticket, error: BackendError) -> None:
        """Roll back, then answer the ticket."""
        if isinstance(error, LinkLost):
            ticket.fail(error)
            return
        made = TransactionRolledBack(f"the transaction was rolled back: {error}")
        made.__cause__ = error

        def roll_back(batch: Batch) -> None:
            self._rollback(batch)
            batch.effects.append(partial(ticket.fail, made))

        def failed(late: BackendError) -> None:
            ticket.fail(late if isinstance(late, LinkLost) else made)

        self._store.submit(Verb(roll_back, failed=failed))

    def _rollback(self, batch: Batch) -> None:
        """Accepted tokens are unsettled again; those of closed consumers return to the queue."""
        accepted = self._open_transaction()
        before = dict(accepted)
        accepted.clear()
        batch.on_undo(lambda: accepted.update(before))
        back: dict[FileConsumer, list[Token]] = {}
        for token, consumer in before.values():
            if consumer.ended:
                back.setdefault(consumer, []).append(token)
        for consumer, tokens in back.items():
            consumer.put_back(batch, tokens, 1, 0)

    def _open_transaction(self) -> Accepted:
        if self.ended or self.accepted is None:
            raise LinkLost(self.lost or "the channel was closed")
        return self.accepted

    def _close(self, batch: Batch) -> None:
        if self in self._channels:
            end_channels(batch, [self], "the channel was closed")

    def _browse(self, batch: Batch, interest: Interest, inbox: Inbox) -> FileBrowser:
        self._check()
        queue = batch.catalog.find_queue(interest.address.name)
        if queue is None:
            check_creatable(interest.address)
        else:
            self._check_owner(interest, queue.owner)
        last = batch.entries.sequence
        browser = FileBrowser(self._access, queue, interest.selector, inbox, last, self.subscriptions.discard)
        self.subscriptions.add(browser)
        return browser

    def _consume(self, batch: Batch, interest: Interest, inbox: Inbox) -> FileConsumer:
        self._check()
        catalog, address, dispatcher = batch.catalog, interest.address, self._store.dispatcher
        if address.topic:
            self._check_owner(interest, catalog.topic_owner(address))
            queue = catalog.subscribe(interest, self._client.number, self._client.client_id)
        else:
            queue = catalog.queue(address)
            self._check_owner(interest, queue.owner)
        selector = None if address.topic else interest.selector
        number, on_close = catalog.join(queue.id, selector), self.subscriptions.discard
        consumer = FileConsumer(self._access, queue, number, interest, inbox, self.accepted, on_close)
        dispatcher.join(queue, consumer, selector)
        self.subscriptions.add(consumer)
        batch.on_undo(lambda: self.subscriptions.discard(consumer))
        batch.on_undo(lambda: dispatcher.leave(consumer))
        return consumer

    def _check(self) -> None:
        if self.ended:
            raise LinkLost(self.lost or "the channel was closed")

    def _check_owner(self, interest: Interest, owner: int) -> None:
        check_owner(interest.address, owner not in (0, self._client.number))

    # -- for the link --------------------------------------------------------------------------------------------

    def abandon(self, lost: str) -> None:
        """The store is dead, or belongs to the parent process: mark only the objects here as lost."""
        self.lost = lost
        self.ended = True
        for subscription in list(self.subscriptions):
            subscription.lost = lost
            if isinstance(subscription, FileConsumer):
                subscription.ended = True

    def stop(self, lost: str) -> dict[FileConsumer, dict[int, Token]]:
        """No more arrivals; return the messages to put back. Repeated if its transaction was rolled back."""
        self.lost = lost
        self.ended = True
        back: dict[FileConsumer, dict[int, Token]] = {}
        for subscription in self.subscriptions:
            if isinstance(subscription, FileConsumer):
                subscription.stop(lost)
                back[subscription] = dict(subscription.held)
            subscription.lost = lost
        for token, consumer in (self.accepted or {}).values():
            back.setdefault(consumer, {})[token.id] = token
        return back

    def empty(self, batch: Batch) -> None:
        """Forget the messages that were put back."""
        subscriptions, accepted = set(self.subscriptions), dict(self.accepted or {})
        held = {one: one.held for one in subscriptions if isinstance(one, FileConsumer)}
        self.subscriptions.clear()
        if self.accepted:
            self.accepted.clear()
        for consumer in held:
            consumer.held = {}
        self._channels.discard(self)

        def restore() -> None:
            self.subscriptions.update(subscriptions)
            if self.accepted is not None:
                self.accepted.update(accepted)
            self._channels.add(self)
            for consumer, tokens in held.items():
                consumer.held = tokens

        batch.on_undo(restore)


def end_channels(batch: Batch, channels: Sequence[FileChannel], lost: str, *, death: bool = False) -> None:
    """Roll these channels back and return what they hold, all together, so that none of them receives it again."""
    back: dict[FileConsumer, dict[int, Token]] = {}
    for channel in channels:
        back.update(channel.stop(lost))
    for consumer, held in back.items():
        consumer.put_back(batch, held.values(), None if death else 1, 0)
    for consumer in back:
        consumer.leave(batch)
    for channel in channels:
        channel.empty(batch)


class _Send:
    """A send outside a transaction; cheaper than a ``Verb``, which would make sends a sixth slower."""

    __slots__ = ("_client", "_packed", "_ticket", "lazy", "size", "sync")

    def __init__(self, client: Client, packed: Packed, ticket: Ticket | None) -> None:
        self.sync = ticket is not None and packed.envelope.persistent
        self.lazy = False
        self.size = len(packed.body)
        self._client = client
        self._packed = packed
        self._ticket = ticket

    def run(self, batch: Batch) -> None:
        if self._client.lost is not None:
            raise LinkLost(self._client.lost)
        batch.publish(self._packed, self._client)
        if self._ticket is not None:
            batch.effects.append(self._ticket.succeed)

    def fail(self, error: BackendError) -> None:
        if self._ticket is not None:
            self._ticket.fail(error)
        else:
            _log.debug("a send without confirmation was refused: %s", error)


def _check_names(*names: str | None) -> None:
    """Refuse invalid queue names at once, not when a message is to be moved there."""
    for name in names:
        if not is_unicode(name or ""):
            raise SubscriptionRefused(f"{name!r} has an unpaired surrogate, which {_WHERE} does not allow in names")
