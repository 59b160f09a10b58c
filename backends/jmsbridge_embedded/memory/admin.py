"""Administration of a broker in memory."""

from typing import TYPE_CHECKING

import msgspec

from jmsbridge.spi import Address, AddressInUse, AddressRefused, NotSupported, Place
from jmsbridge_embedded.memory.queues.backlog import Entry
from jmsbridge_embedded.memory.queues.queue import Queue
from jmsbridge_embedded.memory.queues.walk import Walk, in_slices
from jmsbridge_embedded.memory.topics import Topic
from jmsbridge_embedded.rules import DEAD_LETTERS, compiled

if TYPE_CHECKING:
    from jmsbridge.selectors import Selector
    from jmsbridge_embedded.memory.broker import Broker

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
        found: list[tuple[Place, Queue | None]] = []
        with home.common.lock:
            self._check()
            for name, queue in home.queues.items():
                found.append((_place(Address(name, False, queue.owner is not None), queue), queue))
            for name, topic in home.topics.topics.items():
                address = Address(name, True, topic.owner is not None)
                found.append((Place(address=address, depth=0, consumers=0), None))
                for each in topic.subscriptions:
                    if each.identity is not None:
                        client_id, key = each.identity
                        found.append((_place(address, each.queue, key, client_id), each.queue))
        places = [
            place if queue is None else msgspec.structs.replace(place, oldest=self._oldest(queue))
            for place, queue in found
        ]
        return sorted(places, key=lambda place: (place.address.name, place.address.topic, place.subscription or ""))

    def depth(self, address: Address) -> int:
        """How many messages a queue holds; 0 where there is no such queue."""
        with self._home.common.lock:
            self._check()
            queue = None if address.topic else self._home.queues.get(address.name)
            return 0 if queue is None else queue.size

    def create(self, address: Address) -> None:
        """Make a queue or topic, which stays until it is removed; no error when it exists."""
        home = self._home
        with home.common.lock:
            self._check()
            if address.topic:
                home.topics.find(address, keep=True).kept = True
            else:
                home.queue(address).kept = True
            home.common.step = None

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
        queue, wanted, walk = self._begin(address, selector)
        count = 0

        def some() -> bool:
            nonlocal count
            self._check()
            entries = _matching(queue, wanted, walk)
            if entries:
                queue.forget(entries)
                count += len(entries)
            if walk.done:
                queue.rest()
            return not walk.done

        in_slices(self._home.common, some)
        return count

    def move(self, source: Address, target: Address, selector: str | None = None, limit: int | None = None) -> int:
        """Move messages that match and that nobody holds, in order, each in one step; how many it were."""
        if target.topic:
            raise NotSupported(f"{target} is a topic; messages are moved to queues")
        queue, wanted, walk = self._begin(source, selector)
        count = 0

        def some() -> bool:
            nonlocal count
            self._check()
            entries = _matching(queue, wanted, walk)
            if limit is not None:
                entries = entries[: limit - count]
            to = self._home.queue(target)
            for entry in entries:
                queue.forget((entry,))
                moved = msgspec.structs.replace(entry.envelope, address=target)
                to.add(moved, at_once=False, count=entry.count, failures=entry.failures)
            to.dispatch()
            count += len(entries)
            more = not walk.done and count != limit
            if not more:
                queue.rest()
            return more

        in_slices(self._home.common, some)
        return count

    def _begin(self, address: Address, selector: str | None) -> "tuple[Queue, Selector | None, Walk]":
        with self._home.common.lock:
            self._check()
            queue = None if address.topic else self._home.queues.get(address.name)
            if queue is None:
                raise AddressRefused(f"there is no {address} in {self._home.product} {self._home.common.name!r}")
        wanted = compiled(selector)
        in_slices(self._home.common, queue.catch_up)
        with self._home.common.lock:
            return queue, wanted, Walk(queue.sequence)

    def _oldest(self, queue: Queue) -> int | None:
        """When the oldest message that waits or is held was sent."""
        oldest: int | None = None
        walk = Walk(queue.sequence)
        held: list[Entry] | None = None

        def some() -> bool:
            nonlocal oldest, held
            if held is None:
                held = [entry for consumer in (*queue.consumers, *queue.retired) for entry in consumer.held]
                stamps = [entry.envelope.timestamp for entry in held]
            else:
                stamps = [entry.envelope.timestamp for entry in walk.page(queue.backlogs())]
            oldest = min(stamps if oldest is None else [oldest, *stamps], default=None)
            return not walk.done

        in_slices(self._home.common, some)
        return oldest


def _matching(queue: Queue, wanted: "Selector | None", walk: Walk) -> list[Entry]:
    return [entry for entry in walk.page(queue.backlogs()) if wanted is None or wanted.matches_envelope(entry.envelope)]


def _place(address: Address, queue: Queue, key: str | None = None, client_id: str | None = None) -> Place:
    return Place(
        address=address,
        depth=queue.size,
        consumers=len(queue.consumers),
        oldest=None,
        subscription=key,
        client_id=client_id,
    )
