"""One link to a broker in a file."""

import threading
from uuid import uuid4

from jmsbridge.spi import Address, AddressRefused, BackendError, Endpoint, LinkEvents, Native
from jmsbridge.spi import Channel as ChannelProtocol
from jmsbridge_embedded.client import Client
from jmsbridge_embedded.file.access import Access
from jmsbridge_embedded.file.admin import FileAdmin
from jmsbridge_embedded.file.batch import Batch
from jmsbridge_embedded.file.channel import FileChannel, end_channels
from jmsbridge_embedded.file.disk.catalog import QueueRow
from jmsbridge_embedded.file.store import Store
from jmsbridge_embedded.native import NATIVE
from jmsbridge_embedded.rules import check_owner, check_unused

__all__ = ["FileLink"]


class FileLink(FileAdmin):
    """The SPI's Link and Admin; made by ``registry.open_link``.

    ``client.lost`` is set on the thread that ends the link; ``channels`` belongs to the store's thread.
    """

    def __init__(self, store: Store, endpoint: Endpoint, events: LinkEvents, client: Client) -> None:
        super().__init__(Access(store, client, endpoint.connect_timeout, endpoint.close_timeout))
        self.native: Native = NATIVE
        self.broker: str = store.product
        self.client = client
        self.store = store
        self.channels: set[FileChannel] = set()
        self._events = events

    # -- Link ----------------------------------------------------------------------------------------------------

    def channel(self, transacted: bool) -> ChannelProtocol:
        """Open a channel."""
        channel = FileChannel(self.access, self.channels, transacted)
        self.access.call(lambda batch: self._join(channel))
        return channel

    def _join(self, channel: FileChannel) -> None:
        self.client.check()
        self.channels.add(channel)

    def declare(self, address: Address) -> Address:
        """Create a temporary destination of this link."""
        return self.access.call(lambda batch: self._declare(batch, address))

    def _declare(self, batch: Batch, address: Address) -> Address:
        self.client.check()
        name = address.name or "temporary"
        if batch.catalog.is_taken(Address(name, address.topic)):
            name = f"{name}-{uuid4().hex}"
        made = Address(name, address.topic, True)
        if made.topic:
            batch.catalog.make_topic(made, self.client.number)
        else:
            batch.catalog.add(QueueRow(0, False, name, True, owner=self.client.number))
        return made

    def delete(self, address: Address) -> None:
        """Delete a temporary destination of this link that has no consumers."""
        self.access.call(lambda batch: self._delete(batch, address))

    def _delete(self, batch: Batch, address: Address) -> None:
        self.client.check()
        catalog = batch.catalog
        owner = catalog.temporary_owner(address)
        if not owner:
            raise AddressRefused(f"{address} is not a temporary destination of this embedded broker")
        check_owner(address, owner != self.client.number, "delete")
        check_unused(address, catalog.is_consumed(address), "deleting")
        catalog.remove(address)

    def unsubscribe(self, key: str, address: Address | None) -> None:
        """Delete a durable subscription of this link's client id."""
        self.access.call(lambda batch: batch.catalog.unsubscribe(self.client.client_id, key), sync=True)

    def close(self) -> None:
        """End the link and delete its temporary destinations; the last link closes the file."""
        if self.client.lost is None:
            ended = self.access.end_soon(lambda batch: self.end(batch, "the link was closed")).future
            if ended.done():
                self.store.left()
            else:  # later, on another thread, because it waits for the store's thread
                ended.add_done_callback(lambda _: threading.Thread(target=self.store.left, daemon=True).start())

    # -- for the store -------------------------------------------------------------------------------------------

    def end(self, batch: Batch, lost: str, *, death: bool = False) -> None:
        """Return all held messages."""
        links = self.store.links
        if self not in links:
            return
        self.client.lost = lost
        end_channels(batch, list(self.channels), lost, death=death)
        self.store.nodes.end_link(self.client.number)
        links.discard(self)
        batch.on_undo(lambda: links.add(self))

    def abandon(self, lost: str) -> None:
        """The store is dead, or belongs to the parent process: mark only the objects here as lost."""
        self.client.lost = lost
        for channel in list(self.channels):
            channel.abandon(lost)

    def tell(self, error: BackendError) -> None:
        """Report the death of the link."""
        self._events.lost(error)
