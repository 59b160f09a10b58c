"""Administration of a broker in a file."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import msgspec

from jmsbridge.spi import Address, AddressRefused, DestinationInfo, NotSupported
from jmsbridge_embedded.file.access import Access
from jmsbridge_embedded.file.batch import Batch
from jmsbridge_embedded.file.disk.catalog import QueueRow
from jmsbridge_embedded.file.disk.entries import BAND, Row
from jmsbridge_embedded.file.disk.wire import decode
from jmsbridge_embedded.rules import DEAD_LETTERS, check_creatable, check_unused, compiled

if TYPE_CHECKING:
    from jmsbridge.selectors import Selector

__all__ = ["FileAdmin"]

_PAGE: Final = 250


class FileAdmin:
    """The SPI's Admin; ``FileLink`` extends it. Long work is done in pages, with a transaction for each."""

    dead_letters: Address | None = DEAD_LETTERS

    def __init__(self, access: Access) -> None:
        self.access = access

    def list_destinations(self) -> list[DestinationInfo]:
        """All queues, topics and subscriptions, temporary ones included, sorted by name."""
        return self.access.call(_list_destinations)

    def depth(self, address: Address) -> int:
        """How many messages a queue holds; 0 where there is no such queue."""
        return sum(
            info.depth for info in self.list_destinations() if info.address == address and info.subscription is None
        )

    def create(self, address: Address) -> None:
        """Create a queue or topic; no error if it exists."""
        self.access.call(lambda batch: _create(batch, address), sync=True)

    def remove(self, address: Address) -> None:
        """Remove a queue or topic with its messages; ``AddressInUse`` while it has consumers."""
        self.access.call(lambda batch: _remove(batch, address), sync=True)

    def purge(self, address: Address, selector: str | None = None) -> int:
        """Delete the messages of a queue that match and that no consumer holds; return their number."""

        def drop(batch: Batch, rows: list[Row]) -> None:
            batch.entries.forget([row[0] for row in rows])

        return self._walk(address, selector, None, drop)

    def move(self, source: Address, target: Address, selector: str | None = None, limit: int | None = None) -> int:
        """Move messages that match and that no consumer holds, in order, each in one step; return their number."""
        if target.topic:
            raise NotSupported(f"{target} is a topic; messages are moved to queues")

        def put(batch: Batch, rows: list[Row]) -> None:
            queue = batch.catalog.queue(target)
            batch.entries.move([(row[0], row[1]) for row in rows], queue.id)
            batch.available.add(queue.id)

        return self._walk(source, selector, limit, put)

    def _walk(
        self, address: Address, selector: str | None, limit: int | None, act: Callable[[Batch, list[Row]], None]
    ) -> int:
        walk = _Walk(address, compiled(selector), limit, act)
        while self.access.call(walk.step, sync=True):
            pass
        return walk.count


class _Walk(msgspec.Struct):
    """A walk through the messages that are in a queue at its start, in order, each once."""

    address: Address
    selector: "Selector | None"
    limit: int | None
    act: Callable[[Batch, list[Row]], None]
    count: int = 0
    after: int = -1
    last: int = -1

    def step(self, batch: Batch) -> bool:
        """Process the next page; return whether there may be more. Repeated if its transaction was rolled back."""
        queue = _queue(batch, self.address)
        count, after = self.count, self.after
        batch.on_undo(lambda: self._go_back(count, after))
        if self.last < 0:
            self.last = batch.entries.sequence
        rows = batch.entries.page(queue.id, self.after, 10 * BAND, _PAGE)
        found = [row for row in rows if row[1] % BAND <= self.last and self._matches(row, queue)]
        if self.limit is not None:
            found = found[: max(0, self.limit - self.count)]
        if found:
            self.act(batch, found)
        self.count += len(found)
        if rows:
            self.after = rows[-1][1]
        return len(rows) == _PAGE and (self.limit is None or self.count < self.limit)

    def _matches(self, row: Row, queue: QueueRow) -> bool:
        return self.selector is None or self.selector.matches_envelope(decode(row[5], queue.address))

    def _go_back(self, count: int, after: int) -> None:
        self.count, self.after = count, after


def _queue(batch: Batch, address: Address) -> QueueRow:
    found = None if address.topic else batch.catalog.find_queue(address.name)
    if found is None:
        raise AddressRefused(f"there is no {address} in {batch.path}")
    return found


def _list_destinations(batch: Batch) -> list[DestinationInfo]:
    catalog = batch.catalog
    found = [DestinationInfo(address=address, depth=0, consumers=0) for address in catalog.topics()]
    for queue in catalog.queues():
        if queue.topic and queue.key is None:
            continue  # an unnamed subscription belongs to one consumer
        depth, oldest = batch.entries.depth(queue.id, catalog.nodes)
        found.append(
            DestinationInfo(
                address=queue.address,
                depth=depth,
                consumers=catalog.consumers(queue.id),
                oldest=oldest,
                subscription=queue.key,
                client_id=queue.client or None,
            )
        )
    return sorted(found, key=lambda info: (info.address.name, info.address.topic, info.subscription or ""))


def _create(batch: Batch, address: Address) -> None:
    check_creatable(address)
    if address.topic:
        batch.catalog.make_topic(address)
    else:
        batch.catalog.queue(address)


def _remove(batch: Batch, address: Address) -> None:
    catalog = batch.catalog
    if not catalog.is_taken(address):
        raise AddressRefused(f"there is no {address} in {batch.path}")
    check_unused(address, catalog.is_consumed(address), "removing")
    catalog.remove(address)
