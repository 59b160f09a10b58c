"""Administration of a broker in memory."""

from collections.abc import Callable

import msgspec

from jmsbridge.spi import Address, AddressRefused, DestinationInfo, NotSupported
from jmsbridge_embedded.client import Client
from jmsbridge_embedded.memory.destinations import Destinations
from jmsbridge_embedded.memory.queues.backlog import Entry
from jmsbridge_embedded.memory.queues.queue import Queue
from jmsbridge_embedded.memory.queues.slices import in_slices
from jmsbridge_embedded.memory.queues.walk import Walk
from jmsbridge_embedded.rules import DEAD_LETTERS, compiled

__all__ = ["MemoryAdmin"]


class MemoryAdmin:
    """The SPI's Admin for one client; ``Link`` extends it."""

    dead_letters: Address | None = DEAD_LETTERS

    def __init__(self, destinations: Destinations, client: Client) -> None:
        self.client = client
        self._destinations = destinations
        self._state = destinations.state

    def list_destinations(self) -> list[DestinationInfo]:
        """All queues, topics and subscriptions, temporary ones included, sorted by name."""
        home = self._destinations
        found: list[tuple[DestinationInfo, Queue | None]] = []
        with self._state.lock:
            self._check()
            for name, queue in home.queues.items():
                found.append((_info(Address(name, False, queue.owner is not None), queue), queue))
            for name, topic in home.topics.topics.items():
                address = Address(name, True, topic.owner is not None)
                found.append((DestinationInfo(address=address, depth=0, consumers=0), None))
                for each in topic.subscriptions:
                    if each.identity is not None:
                        client_id, key = each.identity
                        found.append((_info(address, each.queue, key, client_id), each.queue))
        listed = [
            info if queue is None else msgspec.structs.replace(info, oldest=self._oldest(queue))
            for info, queue in found
        ]
        return sorted(listed, key=lambda info: (info.address.name, info.address.topic, info.subscription or ""))

    def depth(self, address: Address) -> int:
        """How many messages a queue holds; 0 where there is no such queue."""
        with self._state.lock:
            self._check()
            queue = None if address.topic else self._destinations.queues.get(address.name)
            return 0 if queue is None else queue.size

    def create(self, address: Address) -> None:
        """Create a queue or topic, which stays until it is removed; no error if it exists."""
        home = self._destinations
        with self._state.lock:
            self._check()
            if address.topic:
                home.topics.find(address, keep=True).kept = True
            else:
                home.queue(address).kept = True
            self._state.step = None

    def remove(self, address: Address) -> None:
        """Remove a queue or topic with its messages; ``AddressInUse`` while it has consumers."""
        home = self._destinations
        with self._state.lock:
            self._check()
            target = home.find(address)
            if target is None:
                raise AddressRefused(f"there is no {address} in {home.where}")
            home.remove_unused(address, target, "removing")

    def purge(self, address: Address, selector: str | None = None) -> int:
        """Delete the messages of a queue that match and that no consumer holds; return their number."""
        return self._walk(address, selector, None, lambda queue, entries: queue.forget(entries))

    def move(self, source: Address, target: Address, selector: str | None = None, limit: int | None = None) -> int:
        """Move messages that match and that no consumer holds, in order, each in one step; return their number."""
        if target.topic:
            raise NotSupported(f"{target} is a topic; messages are moved to queues")

        def move(queue: Queue, entries: list[Entry]) -> None:
            to = self._destinations.queue(target)
            for entry in entries:
                queue.forget((entry,))
                moved = msgspec.structs.replace(entry.envelope, address=target)
                to.add(moved, at_once=False, count=entry.count, failures=entry.failures)
            to.dispatch()

        return self._walk(source, selector, limit, move)

    def _check(self) -> None:
        self._state.repair()
        self.client.check()

    def _walk(
        self, address: Address, selector: str | None, limit: int | None, act: Callable[[Queue, list[Entry]], None]
    ) -> int:
        """Act, page by page, on the matching messages that wait at the start; return their number."""
        with self._state.lock:
            self._check()
            queue = None if address.topic else self._destinations.queues.get(address.name)
            if queue is None:
                raise AddressRefused(f"there is no {address} in {self._destinations.where}")
        wanted = compiled(selector)
        in_slices(self._state, queue.catch_up)
        walk, count = Walk(queue.sequence), 0

        def some() -> bool:
            nonlocal count
            self._check()
            page = walk.page(queue.backlogs())
            entries = [entry for entry in page if wanted is None or wanted.matches_envelope(entry.envelope)]
            if limit is not None:
                entries = entries[: limit - count]
            if entries:
                act(queue, entries)
            count += len(entries)
            more = not walk.done and count != limit
            if not more:
                queue.rest()
            return more

        in_slices(self._state, some)
        return count

    def _oldest(self, queue: Queue) -> int | None:
        """The timestamp of the oldest message that waits or is held."""
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

        in_slices(self._state, some)
        return oldest


def _info(address: Address, queue: Queue, key: str | None = None, client_id: str | None = None) -> DestinationInfo:
    return DestinationInfo(
        address=address,
        depth=queue.size,
        consumers=len(queue.consumers),
        oldest=None,
        subscription=key,
        client_id=client_id,
    )
