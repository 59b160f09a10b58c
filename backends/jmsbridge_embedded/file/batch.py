"""One transaction: what it has done so far, what is to happen after COMMIT, and how to forget it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from jmsbridge.spi import Address, BackendError, Envelope, SendRefused
from jmsbridge_embedded.file.disk.entries import Packed, pack
from jmsbridge_embedded.rules import DEAD_LETTERS, dead_letter

if TYPE_CHECKING:
    from jmsbridge_embedded.file.link import FileLink
    from jmsbridge_embedded.file.store import Store

__all__ = ["Batch", "Operation"]


class Operation(Protocol):
    """Something to do in a transaction.

    ``run`` may be called again after ``Batch.undo``. It raises ``BackendError`` before it changes anything, or not at
    all. ``fail`` is called instead of the effects that it left. ``sync`` asks for the disk's word after COMMIT,
    ``lazy`` says that nobody waits.
    """

    sync: bool
    lazy: bool
    size: int

    def run(self, batch: "Batch") -> None:
        """Do it, in the transaction."""

    def fail(self, error: BackendError) -> None:
        """It was not done."""


class Batch:
    """Lives as long as its transaction.

    ``available`` are lines where other processes may now find something as well, ``hungry`` those where only consumers
    of this process have to be looked at, ``fed`` those that got something that was put aside. What happens in memory
    before COMMIT is taken back by ``undo``.
    """

    def __init__(self, store: "Store", now: int) -> None:
        self.store = store
        self.now = now
        self.entries = store.entries
        self.catalog = store.catalog
        self.effects: list[Callable[[], None] | tuple[Callable[[Any], None], Any]] = []
        self.again: list[Operation] = []
        self.available: set[int] = set()
        self.hungry: set[int] = set()
        self.fed: set[int] = set()
        self._undo: list[Callable[[], None]] = []
        self._saved: set[int] = set()

    def on_undo(self, step: Callable[[], None]) -> None:
        """How to take back what is done in memory."""
        self._undo.append(step)

    def touch(self, line: int) -> None:
        """Credit or order of the consumers of a line will change."""
        if line not in self._saved:
            self._saved.add(line)
            local = self.store.dispatcher.locals.get(line)
            if local is not None:
                self._undo.append(local.saved())

    def undo(self) -> None:
        """Forget it all."""
        for step in reversed(self._undo):
            step()

    # -- sending -------------------------------------------------------------------------------------------------

    def publish(self, packed: Packed, link: "FileLink") -> None:
        """Send one message, unless it was sent before."""
        envelope = packed.envelope
        address = envelope.address
        if not address.topic:
            line = self.catalog.queue(address)
            self.check_room(link, 1)
            if self._is_duplicate(packed, link):
                return
            if self.entries.add(line.id, packed, self.now):
                self.available.add(line.id)
            return
        self.check_topic(packed, link)
        if self._is_duplicate(packed, link):
            return
        for line in self.catalog.subscriptions(address.name):
            if line.wants(envelope, link.id, link.client_id) and self.entries.add(line.id, packed, self.now):
                self.available.add(line.id)

    def bury(self, envelope: Envelope, to: str | None, origin: str, deliveries: int, reason: str | None = None) -> None:
        """Put a message aside, in that queue or with the dead letters; it needs no room of its own."""
        target = Address(to) if to else DEAD_LETTERS
        line = self.catalog.queue(target)
        made = dead_letter(envelope, target, origin, deliveries, self.now, reason)
        self.entries.add(line.id, pack(made), self.now)
        self.available.add(line.id)
        self.fed.add(line.id)

    def check(self, packed: Packed, link: "FileLink") -> None:
        """Raise where the message has nowhere to go."""
        address = packed.envelope.address
        if address.topic:
            self.check_topic(packed, link)
        else:
            self.catalog.queue(address)

    def check_topic(self, packed: Packed, link: "FileLink") -> None:
        """Raise where the message has nowhere to go, or its copies no room."""
        address = packed.envelope.address
        lines = self.catalog.subscriptions(address.name)
        if address.temporary or not lines:
            self.catalog.topic_owner(address)
        self.check_room(link, len(lines))

    def check_room(self, link: "FileLink", more: int) -> None:
        """Raise where the file may not take so many messages more."""
        limit, stored = link.max_messages, self.entries.stored
        if limit is not None and stored + more > limit:
            raise SendRefused(
                f"{self.store.path} holds {stored} messages and takes no more from this connection; consume some or "
                f"raise the option max_messages ({limit})"
            )

    def _is_duplicate(self, packed: Packed, link: "FileLink") -> bool:
        duplicate_id, address = packed.envelope.duplicate_id, packed.envelope.address
        if duplicate_id is None:
            return False
        return self.catalog.is_duplicate(address, duplicate_id, link.duplicate_window)

    # -- giving back ---------------------------------------------------------------------------------------------

    def give_back(self, line: int, held: list[tuple[int, int]], deliveries: int | None, failures: int) -> None:
        """Messages, given by id and rank, wait again in their places, each counting that many; None means a death."""
        if not held:
            return
        self.entries.give_back([number for number, _ in held], deliveries, failures)
        self.catalog.returned(line)
        self.touch(line)
        self.store.dispatcher.returned(line, [rank for _, rank in held])
        self.available.add(line)
