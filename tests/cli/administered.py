"""The memory broker with administration, for as long as its own link has none."""

from typing import Any

from jmsbridge.spi import Address, AddressInUse, Endpoint, Link, LinkEvents, Place, registry
from jmsbridge_embedded.rules import DEAD_LETTERS, compiled

__all__ = ["Administered"]


class Administered:
    """A backend whose links are those of the memory broker, and more."""

    def __init__(self) -> None:
        self._inner = registry.load("embedded")
        self.name = self._inner.name
        self.native = self._inner.native
        self.options = self._inner.options

    def open(self, endpoint: Endpoint, options: Any, events: LinkEvents) -> Link:
        link: Any = _Link(self._inner.open(endpoint, options, events))
        return link  # type: ignore[no-any-return]


class _Link:
    dead_letters: Address | None = DEAD_LETTERS

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def places(self) -> list[Place]:
        broker = self._inner._home
        found = [
            Place(
                address=Address(name, False, queue.owner is not None),
                depth=queue.size,
                consumers=len(queue.consumers),
                oldest=min((entry.envelope.timestamp for entry in queue.waiting()), default=None),
            )
            for name, queue in broker.queues.items()
        ]
        found += [Place(address=Address(name, True), depth=0, consumers=0) for name in broker.topics.topics]
        return sorted(found, key=lambda place: place.address.name)

    def create(self, address: Address) -> None:
        broker = self._inner._home
        if address.topic:
            broker.topics.find(address, keep=True)
        else:
            broker.queue(address)

    def remove(self, address: Address) -> None:
        queue = self._inner._home.queues.get(address.name)
        if queue is not None and queue.consumers:
            raise AddressInUse(f"{address} has consumers")
        self._inner._home._remove(address)

    def purge(self, address: Address, selector: str | None = None) -> int:
        return len(self._take(address, selector, None))

    def move(self, source: Address, target: Address, selector: str | None = None, limit: int | None = None) -> int:
        taken = self._take(source, selector, limit)
        for entry in taken:
            self._inner._home.queue(target).add(entry.envelope)
        return len(taken)

    def _take(self, address: Address, selector: str | None, limit: int | None) -> list[Any]:
        queue = self._inner._home.queue(address)
        wanted = compiled(selector)
        found = [each for each in queue.waiting() if wanted is None or wanted.matches_envelope(each.envelope)][:limit]
        for entry in found:
            queue.forget(entry)
        return found
