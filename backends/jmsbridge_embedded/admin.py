"""Administration of a broker in memory."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from jmsbridge.spi import Address, AddressInUse, AddressRefused, NotSupported, Place
from jmsbridge_embedded.backlog import Entry
from jmsbridge_embedded.queue import Queue
from jmsbridge_embedded.rules import DEAD_LETTERS, compiled
from jmsbridge_embedded.topics import Topic

if TYPE_CHECKING:
    from jmsbridge_embedded.broker import Broker

__all__ = ["MemoryAdmin"]


class MemoryAdmin:
    """The SPI's Admin, for the link that extends it."""

    dead_letters: Address | None = DEAD_LETTERS
    _home: "Broker"

    def _check(self) -> None:
        raise NotImplementedError

    def places(self) -> list[Place]:
        """Everything that there is, temporary destinations included, sorted by name."""
        home = self._home
        with home.common.lock:
            self._check()
            home.common.catch_up()
            found = [_place(Address(name, False, q.owner is not None), q) for name, q in home.queues.items()]
            for name, topic in home.topics.topics.items():
                address = Address(name, True, topic.owner is not None)
                found.append(Place(address=address, depth=0, consumers=0))
                for each in topic.subscriptions:
                    if each.identity is not None:
                        client_id, key = each.identity
                        found.append(_place(address, each.queue, key, client_id))
        return sorted(found, key=lambda place: (place.address.name, place.address.topic, place.subscription or ""))

    def depth(self, address: Address) -> int:
        """How many messages a queue holds; 0 where there is no such queue."""
        return sum(place.depth for place in self.places() if place.address == address and place.subscription is None)

    def create(self, address: Address) -> None:
        """Make a queue or topic, which stays until it is removed; no error when it exists."""
        home = self._home
        with home.common.lock:
            self._check()
            if address.topic:
                home.topics.find(address, keep=True).kept = True
            else:
                home.queue(address).kept = True

    def remove(self, address: Address) -> None:
        """Remove a queue or topic with its messages; ``AddressInUse`` while it has consumers."""
        home = self._home
        with home.common.lock:
            self._check()
            place: Topic | Queue | None
            place = home.topics.topics.get(address.name) if address.topic else home.queues.get(address.name)
            if place is None:
                raise AddressRefused(f"there is no {address} in {home.product} {home.common.name!r}")
            queues = [place] if isinstance(place, Queue) else [each.queue for each in place.subscriptions]
            if any(queue.consumers for queue in queues):
                raise AddressInUse(f"{address} has consumers; close them before removing it")
            home.remove(address)

    def purge(self, address: Address, selector: str | None = None) -> int:
        """Delete the messages of a queue that match and that nobody holds; how many it were."""
        with self._home.common.lock:
            self._check()
            queue, entries = self._matching(address, selector)
            for entry in entries:
                queue.forget(entry)
            queue.main.compact()
            queue.rest()
            return len(entries)

    def move(self, source: Address, target: Address, selector: str | None = None, limit: int | None = None) -> int:
        """Move messages that match and that nobody holds, in order, each in one step; how many it were."""
        if target.topic:
            raise NotSupported(f"{target} is a topic; messages are moved to queues")
        with self._home.common.lock:
            self._check()
            queue, entries = self._matching(source, selector)
            entries = entries[:limit]
            to = self._home.queue(target)
            for entry in entries:
                queue.forget(entry)
                to.add(msgspec.structs.replace(entry.envelope, address=target), at_once=False, count=entry.count)
            to.dispatch()
            queue.main.compact()
            queue.rest()
            return len(entries)

    def _matching(self, address: Address, selector: str | None) -> tuple[Queue, list[Entry]]:
        queue = None if address.topic else self._home.queues.get(address.name)
        if queue is None:
            raise AddressRefused(f"there is no {address} in {self._home.product} {self._home.common.name!r}")
        self._home.common.catch_up()
        wanted = compiled(selector)
        waiting = queue.waiting()
        return queue, [each for each in waiting if wanted is None or wanted.matches_envelope(each.envelope)]


def _place(address: Address, queue: Queue, key: str | None = None, client_id: str | None = None) -> Place:
    stamps: Iterable[int] = (entry.envelope.timestamp for entry in queue.known())
    return Place(
        address=address,
        depth=queue.size,
        consumers=len(queue.consumers),
        oldest=min(stamps, default=None),
        subscription=key,
        client_id=client_id,
    )
