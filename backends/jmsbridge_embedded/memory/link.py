"""One link to a broker in memory."""

from jmsbridge.spi import Address, BackendError, LinkEvents, Native
from jmsbridge.spi import Channel as ChannelProtocol
from jmsbridge_embedded.client import Client
from jmsbridge_embedded.memory.admin import MemoryAdmin
from jmsbridge_embedded.memory.channel import Channel, end_channels
from jmsbridge_embedded.memory.destinations import Destinations
from jmsbridge_embedded.native import NATIVE

__all__ = ["Link"]


class Link(MemoryAdmin):
    """The SPI's Link and Admin; guarded by the broker's lock."""

    def __init__(
        self, destinations: Destinations, client: Client, events: LinkEvents, product: str, links: "set[Link]"
    ) -> None:
        super().__init__(destinations, client)
        self.native: Native = NATIVE
        self.broker: str = product
        self.channels: set[Channel] = set()
        self._temporaries: set[Address] = set()
        self._events = events
        self._links = links

    # -- Link ----------------------------------------------------------------------------------------------------

    def channel(self, transacted: bool) -> ChannelProtocol:
        """Open a channel."""
        with self._state.lock:
            self._check()
            channel = Channel(self._destinations, self.client, self.channels, transacted)
            self.channels.add(channel)
        return channel

    def declare(self, address: Address) -> Address:
        """Create a temporary destination of this link."""
        with self._state.lock:
            self._check()
            made = self._destinations.declare(address, self.client)
            self._temporaries.add(made)
        return made

    def delete(self, address: Address) -> None:
        """Remove a temporary destination of this link that has no consumers."""
        with self._state.lock:
            self._check()
            self._destinations.delete(address, self.client)
            self._temporaries.discard(address)

    def unsubscribe(self, key: str, address: Address | None) -> None:
        """Delete a durable subscription of this link's client id."""
        with self._state.lock:
            self._check()
            self._destinations.topics.unsubscribe((self.client.client_id, key))

    def close(self) -> None:
        """End the link and delete its temporary destinations."""
        with self._state.lock:
            self._state.repair()
            if self.client.lost is None:
                self.end("the link was closed", death=False)
            self._state.step = None

    # -- for the broker ------------------------------------------------------------------------------------------

    def end(self, lost: str, *, death: bool = True) -> None:
        """Return all held messages; verbs fail with ``lost`` from now on. The broker's lock is held."""
        self.client.lost = lost
        channels = list(self.channels)
        self.channels.clear()
        end_channels(channels, lost, death=death)
        self._links.discard(self)
        temporaries, self._temporaries = self._temporaries, set()
        for address in temporaries:
            self._destinations.remove(address)

    def tell(self, error: BackendError) -> None:
        """Report the death of the link; the broker's lock is not held."""
        self._events.lost(error)

    def abandon(self, lost: str) -> None:
        """In a forked child: mark the link's objects as lost; the parent still has the broker."""
        self.client.lost = lost
        for channel in self.channels:
            channel.lost = lost
            for subscription in channel.subscriptions:
                subscription.lost = lost
