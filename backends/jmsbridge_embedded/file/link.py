"""One authenticated user of a broker in a file: what lives and dies together."""

import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING
from uuid import uuid4

from jmsbridge.spi import Address, AddressInUse, AddressRefused, BackendError, Endpoint, LinkEvents, LinkLost, Native
from jmsbridge.spi import Channel as ChannelProtocol
from jmsbridge_embedded.file.admin import FileAdmin
from jmsbridge_embedded.file.batch import Batch
from jmsbridge_embedded.file.channel import FileChannel
from jmsbridge_embedded.file.consumer import FileConsumer
from jmsbridge_embedded.file.disk.catalog import Line
from jmsbridge_embedded.file.token import Token
from jmsbridge_embedded.native import NATIVE

if TYPE_CHECKING:
    from jmsbridge_embedded.file.operations import End
    from jmsbridge_embedded.file.store import Store

__all__ = ["FileLink"]


class FileLink(FileAdmin):
    """The SPI's Link and Admin. Made by ``registry.open_link``; ``id`` is its number in the file.

    ``lost`` is set by whoever ends it; ``channels`` is used by the store's thread only.
    """

    def __init__(
        self, store: "Store", endpoint: Endpoint, events: LinkEvents, max_messages: int | None, window: int
    ) -> None:
        super().__init__(store, endpoint.connect_timeout)
        self.native: Native = NATIVE
        self.broker: str = store.product
        self.client_id = endpoint.client_id
        self.max_messages = max_messages
        self.duplicate_window = window
        self.id = 0
        self.channels: set[FileChannel] = set()
        self.lost: str | None = None
        self._close_timeout = endpoint.close_timeout
        self._ending: End | None = None
        self._waited = 0.0
        self._events = events

    # -- Link ----------------------------------------------------------------------------------------------------

    def channel(self, transacted: bool) -> ChannelProtocol:
        """Open an order and transaction domain."""
        channel = FileChannel(self, transacted)
        self.call(lambda batch: self._join(channel))
        return channel

    def _join(self, channel: FileChannel) -> None:
        self.check()
        self.channels.add(channel)

    def declare(self, address: Address) -> Address:
        """Make a temporary destination of this link."""
        return self.call(lambda batch: self._declare(batch, address))

    def _declare(self, batch: Batch, address: Address) -> Address:
        self.check()
        name = address.name or "temporary"
        if batch.catalog.is_taken(Address(name, address.topic)):
            name = f"{name}-{uuid4().hex}"
        made = Address(name, address.topic, True)
        if made.topic:
            batch.catalog.make_topic(made, self.id)
        else:
            batch.catalog.add(Line(0, False, name, True, owner=self.id))
        return made

    def delete(self, address: Address) -> None:
        """Remove a temporary destination of this link that has no consumers."""
        self.call(lambda batch: self._delete(batch, address))

    def _delete(self, batch: Batch, address: Address) -> None:
        self.check()
        catalog = batch.catalog
        if not catalog.check_temporary(address, self.id):
            raise AddressInUse(
                f"{address} is a temporary destination of another connection; only that one may delete it"
            )
        if address.topic:
            lines = catalog.subscriptions(address.name)
        else:
            found = catalog.find_queue(address.name)
            if found is None:
                raise AddressRefused(f"{address} does not exist any more")
            lines = [found]
        if any(catalog.consumers(line.id) for line in lines):
            raise AddressInUse(f"{address} has consumers; close them before deleting it")
        catalog.remove(address)

    def unsubscribe(self, key: str, address: Address | None) -> None:
        """Forget a durable subscription of this link's client id."""
        self.call(lambda batch: batch.catalog.unsubscribe(self.client_id, key), sync=True)

    def close(self) -> None:
        """End the link; its temporary destinations go with it, and with the last link the file is closed."""
        if self.lost is None:
            ended = self.end_soon(lambda batch: self.end(batch, "the link was closed")).future
            if ended.done():
                self.store.left()
            else:  # later, on a thread of its own, since that waits for the store's thread
                ended.add_done_callback(lambda _: threading.Thread(target=self.store.left, daemon=True).start())

    def end_soon(self, act: Callable[[Batch], None]) -> "End":
        """Have something of this link ended. All that is closed while the file does not answer waits for
        ``close_timeout`` seconds together.
        """
        before = self._ending
        if before is None or before.is_done:
            self._waited = 0.0
        began = time.monotonic()
        ending = self._ending = self.store.end(act, max(0.0, self._close_timeout - self._waited))
        self._waited += time.monotonic() - began
        return ending

    # -- for the store -------------------------------------------------------------------------------------------

    def end(self, batch: Batch, lost: str, *, death: bool = False) -> None:
        """Give everything back."""
        if self not in batch.store.links:
            return
        self.lost = lost
        self.end_channels(batch, list(self.channels), lost, death=death)
        batch.store.nodes.end_link(self.id)
        batch.store.links.discard(self)
        batch.on_undo(lambda: batch.store.links.add(self))

    def end_channels(self, batch: Batch, channels: Sequence[FileChannel], lost: str, *, death: bool = False) -> None:
        """Roll these back and give back what they hold, together: nothing comes to one of them on the way.

        May be called again after its transaction was rolled back: ``lost`` and ``ended`` stay, the rest is undone.
        """
        back: dict[FileConsumer, dict[int, Token]] = {}
        for channel in channels:
            channel.lost = lost
            channel.ended = True
            for subscription in channel.subscriptions:
                if isinstance(subscription, FileConsumer):
                    subscription.stop(batch, lost)
                    back[subscription] = dict(subscription.held)
                subscription.lost = lost
            for token, consumer in (channel.accepted or {}).values():
                back.setdefault(consumer, {})[token.id] = token
        for consumer, held in back.items():
            consumer.give_back(batch, held.values(), None if death else 1, 0)
        for consumer in back:
            consumer.leave(batch)
        for channel in channels:
            batch.on_undo(channel.emptied())
            self.channels.discard(channel)

    def abandon(self, lost: str) -> None:
        """The store is dead, or stayed in another process: only the objects here learn of it."""
        self.lost = lost
        for channel in list(self.channels):
            channel.lost = lost
            channel.ended = True
            for subscription in list(channel.subscriptions):
                subscription.lost = lost
                if isinstance(subscription, FileConsumer):
                    subscription.ended = True

    def tell(self, error: BackendError) -> None:
        """Say that the link is dead."""
        self._events.lost(error)

    def check(self) -> None:
        """Raise when the link is dead."""
        if self.lost is not None:
            raise LinkLost(self.lost)
