"""One broker in memory: what it stores, and its links."""

import weakref
from collections.abc import Callable

from jmsbridge.spi import LinkEvents, LinkLost
from jmsbridge.transport.deliveries.expiry import now_ms
from jmsbridge_embedded.client import Client
from jmsbridge_embedded.memory.destinations import Destinations
from jmsbridge_embedded.memory.link import Link
from jmsbridge_embedded.memory.queues.schedule import Schedule
from jmsbridge_embedded.memory.queues.state import BrokerState
from jmsbridge_embedded.native import product
from jmsbridge_embedded.rules import check_client_id

__all__ = ["Broker", "brokers"]

_alive: "weakref.WeakSet[Broker]" = weakref.WeakSet()


def brokers() -> list["Broker"]:
    """All brokers of this process that are still referenced; a fork takes their locks."""
    return list(_alive)


class Broker:
    """Queues, topics and links, guarded by one lock, ``state.lock``.

    The verbs of links, channels and subscriptions take the lock and work in the caller's thread. Of the facade, only
    inboxes are called under it, which take leaf locks and never call back. ``clock`` gives milliseconds since the
    epoch; without ``threaded`` delays and expiry are processed only by ``tick``.
    """

    def __init__(self, name: str, clock: Callable[[], int] = now_ms, threaded: bool = True) -> None:
        self.state = BrokerState(name, clock, self._repair)
        self.schedule = Schedule(self.state, threaded)
        self.product = product()
        self.destinations = Destinations(self.state, self.schedule, f"{self.product} {name!r}")
        self.links: set[Link] = set()
        _alive.add(self)

    def open(
        self, client_id: str | None, events: LinkEvents, max_messages: int = 1_000_000, duplicate_window: int = 20_000
    ) -> Link:
        """Open a link; a client id belongs to one live link at a time (section 6.1.2)."""
        client = Client(client_id, max_messages, duplicate_window)
        with self.state.lock:
            self.state.repair()
            in_use = client_id is not None and any(link.client.client_id == client_id for link in self.links)
            check_client_id(client_id, in_use, self.destinations.where)
            link = Link(self.destinations, client, events, self.product, self.links)
            self.links.add(link)
        return link

    def cut(self, reason: str) -> None:
        """Kill every link as a broken network would."""
        with self.state.lock:
            self.state.repair()
            links = list(self.links)
            for link in links:
                link.end(reason)
            self.state.step = None
        for link in links:
            link.tell(LinkLost(reason))

    def end(self, reason: str) -> None:
        """Kill every link and drop every message."""
        self.cut(reason)
        with self.state.lock:
            self.state.repair()
            self.schedule.clear()
            self.destinations.clear()

    def tick(self) -> None:
        """Process delays and expiry that are due."""
        with self.state.lock:
            self.state.repair()
            self.schedule.run(self.state.clock())
            self.state.step = None

    def _repair(self) -> None:
        self.destinations.repair()
        self.schedule.nudge()
