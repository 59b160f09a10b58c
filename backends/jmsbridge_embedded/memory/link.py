"""One authenticated user of a broker: what lives and dies together."""

from typing import TYPE_CHECKING

from jmsbridge.spi import Address, BackendError, LinkEvents, LinkLost, Native
from jmsbridge.spi import Channel as ChannelProtocol
from jmsbridge_embedded.memory.admin import MemoryAdmin
from jmsbridge_embedded.memory.channel import Channel, end_channels
from jmsbridge_embedded.native import NATIVE

if TYPE_CHECKING:
    from jmsbridge_embedded.memory.broker import Broker

__all__ = ["Link"]


class Link(MemoryAdmin):
    """The SPI's Link and Admin; guarded by the broker's lock. Made by ``Broker.open``."""

    def __init__(
        self, broker: "Broker", client_id: str | None, events: LinkEvents, max_messages: int, duplicate_window: int
    ) -> None:
        self.native: Native = NATIVE
        self.broker: str = broker.product
        self.client_id = client_id
        self.max_messages = max_messages
        self.duplicate_window = duplicate_window
        self.channels: set[Channel] = set()
        self.temporaries: set[Address] = set()
        self.lost: str | None = None
        self._events = events
        self._home = broker
        self._lock = broker.common.lock

    # -- Link ----------------------------------------------------------------------------------------------------

    def channel(self, transacted: bool) -> ChannelProtocol:
        """Open an order and transaction domain."""
        with self._lock:
            self._check()
            channel = Channel(self._home, self, transacted)
            self.channels.add(channel)
        return channel

    def declare(self, address: Address) -> Address:
        """Make a temporary destination of this link."""
        with self._lock:
            self._check()
            made = self._home.declare(address, self)
            self.temporaries.add(made)
        return made

    def delete(self, address: Address) -> None:
        """Remove a temporary destination of this link that has no consumers."""
        with self._lock:
            self._check()
            self._home.delete(address, self)
            self.temporaries.discard(address)

    def unsubscribe(self, key: str, address: Address | None) -> None:
        """Forget a durable subscription of this link's client id."""
        with self._lock:
            self._check()
            self._home.topics.unsubscribe((self.client_id, key))

    def close(self) -> None:
        """End the link; its temporary destinations go with it."""
        with self._lock:
            self._home.common.mend()
            if self.lost is None:
                self.end("the link was closed", death=False)
            self._home.common.step = None

    # -- for the broker ------------------------------------------------------------------------------------------

    def end(self, lost: str, *, death: bool = True) -> None:
        """Give everything back, with the broker's lock held; every verb says ``lost`` from now on."""
        self.lost = lost
        channels, self.channels = self.channels, set()
        end_channels(list(channels), lost, death=death)
        self._home.left(self)

    def tell(self, error: BackendError) -> None:
        """Say that the link is dead, without the broker's lock."""
        self._events.lost(error)

    def abandon(self, lost: str) -> None:
        """In a forked child: the broker stayed with the parent, so only the objects here learn of it."""
        self.lost = lost
        for channel in self.channels:
            channel.lost = lost
            for subscription in channel.subscriptions:
                subscription.lost = lost

    def _check(self) -> None:
        self._home.common.mend()
        if self.lost is not None:
            raise LinkLost(self.lost)
