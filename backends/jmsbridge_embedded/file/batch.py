"""One transaction of the store: its effects after COMMIT, and how to undo its changes in memory."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from jmsbridge.spi import Address, BackendError, Envelope
from jmsbridge_embedded.client import Client
from jmsbridge_embedded.file.disk.catalog import Catalog
from jmsbridge_embedded.file.disk.entries import Entries, Packed, pack
from jmsbridge_embedded.rules import DEAD_LETTERS, dead_letter, full

__all__ = ["Batch", "Operation"]


class Operation(Protocol):
    """Work for the store's thread, inside a transaction.

    ``run`` may be called again after ``Batch.undo``. It raises ``BackendError`` only before its first change. ``fail``
    is called in place of the effects that it registered. ``sync`` asks for an fsync after COMMIT, ``lazy`` says that
    no caller waits.
    """

    sync: bool
    lazy: bool
    size: int

    def run(self, batch: "Batch") -> None:
        """Do it, in the transaction."""

    def fail(self, error: BackendError) -> None:
        """The operation was not done."""


class Batch:
    """One transaction on the broker in the file ``path``.

    ``effects`` run after COMMIT, ``again`` in the next transaction. ``available`` are queues to dispatch, here and in
    other processes; ``granted`` those to dispatch in this process only, ``moved_to`` those that got dead letters.
    ``undo`` reverts changes in memory; ``saved`` are the queues whose consumers it restores.
    """

    def __init__(self, entries: Entries, catalog: Catalog, path: Path, now: int) -> None:
        self.entries = entries
        self.catalog = catalog
        self.path = path
        self.now = now
        self.effects: list[Callable[[], None] | tuple[Callable[[Any], None], Any]] = []
        self.again: list[Operation] = []
        self.available: set[int] = set()
        self.granted: set[int] = set()
        self.moved_to: set[int] = set()
        self.saved: set[int] = set()
        self._undo: list[Callable[[], None]] = []

    def on_undo(self, step: Callable[[], None]) -> None:
        """Register a function that reverts a change in memory."""
        self._undo.append(step)

    def undo(self) -> None:
        """Revert the changes in memory."""
        for step in reversed(self._undo):
            step()

    # -- sending -------------------------------------------------------------------------------------------------

    def publish(self, packed: Packed, client: Client) -> None:
        """Send one message, unless it is a duplicate."""
        envelope = packed.envelope
        address = envelope.address
        if not address.topic:
            queue = self.catalog.queue(address)
            self.check_room(client, 1)
            if self._is_duplicate(packed, client):
                return
            if self.entries.add(queue.id, packed, self.now):
                self.available.add(queue.id)
            return
        self.check_topic(packed, client)
        if self._is_duplicate(packed, client):
            return
        for queue in self.catalog.subscriptions(address.name):
            if queue.wants(envelope, client.number, client.client_id) and self.entries.add(queue.id, packed, self.now):
                self.available.add(queue.id)

    def dead_letter(
        self, envelope: Envelope, to: str | None, origin: str, deliveries: int, reason: str | None = None
    ) -> None:
        """Put a message into the queue ``to``, or into the dead-letter queue; the limit of messages does not apply."""
        target = Address(to) if to else DEAD_LETTERS
        queue = self.catalog.queue(target)
        made = dead_letter(envelope, target, origin, deliveries, self.now, reason)
        self.entries.add(queue.id, pack(made), self.now)
        self.available.add(queue.id)
        self.moved_to.add(queue.id)

    def check(self, packed: Packed, client: Client) -> None:
        """Raise if the destination does not exist."""
        address = packed.envelope.address
        if address.topic:
            self.check_topic(packed, client)
        else:
            self.catalog.queue(address)

    def check_topic(self, packed: Packed, client: Client) -> None:
        """Raise if the topic does not exist, or if there is no room for the copies."""
        address = packed.envelope.address
        queues = self.catalog.subscriptions(address.name)
        if address.temporary or not queues:
            self.catalog.topic_owner(address)
        self.check_room(client, len(queues))

    def check_room(self, client: Client, more: int) -> None:
        """Raise if ``more`` messages would exceed the client's limit."""
        if self.entries.stored + more > client.max_messages:
            raise full(str(self.path), self.entries.stored, client.max_messages)

    def _is_duplicate(self, packed: Packed, client: Client) -> bool:
        duplicate_id, address = packed.envelope.duplicate_id, packed.envelope.address
        if duplicate_id is None:
            return False
        return self.catalog.is_duplicate(address, duplicate_id, client.duplicate_window)
