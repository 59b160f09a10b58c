"""All records but messages: queues, topics, subscriptions, consumers, processes, duplicate ids; with a cache.

The cache is cleared when ``topology`` shows that a process, this one included, changed something, and when a
transaction is rolled back.
"""

import sqlite3
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

from jmsbridge.spi import Address, Envelope, Interest
from jmsbridge_embedded.file.disk.entries import Entries
from jmsbridge_embedded.file.disk.wire import Damaged
from jmsbridge_embedded.rules import check_creatable, check_reusable, check_unsubscribe, compiled

if TYPE_CHECKING:
    from jmsbridge.selectors import Selector

__all__ = ["Catalog", "Peer", "QueueRow", "selector_of"]


class QueueRow(msgspec.Struct, frozen=True):
    """A queue, or the queue of one topic subscription."""

    id: int
    topic: bool
    name: str
    temporary: bool
    owner: int = 0
    client: str | None = None
    key: str | None = None
    durable: bool = False
    shared: bool = False
    selector: str | None = None
    no_local: bool = False
    link: int = 0

    @property
    def address(self) -> Address:
        """The queue or topic to which its messages were sent."""
        return Address(self.name, self.topic, self.temporary)

    @property
    def origin(self) -> str:
        """The origin that dead letters name."""
        return f"{self.address}/{self.key}" if self.topic and self.key is not None else str(self.address)

    def wants(self, envelope: Envelope, link: int, client: str | None) -> bool:
        """Whether a copy of a message that this link sends belongs in the subscription (sections 4.2.2 to 4.2.4)."""
        if self.no_local and not self.shared:
            if link == self.link:
                return False
            if self.durable and client is not None and client == self.client:
                return False
        return self.selector is None or selector_of(self.selector).matches_envelope(envelope)


class Peer(msgspec.Struct, frozen=True):
    """Another process that has the file open."""

    id: int
    token: str
    socket: str


@lru_cache(maxsize=1000)
def selector_of(text: str) -> "Selector":
    """A compiled selector of the file."""
    made = compiled(text)
    if made is None:
        raise Damaged("a selector in the file is empty")
    return made


_COLUMNS = "id, topic, name, temporary, owner, client, key, durable, shared, selector, no_local, link"


class Catalog:
    """Used only by the store's thread, inside a transaction."""

    def __init__(self, connection: sqlite3.Connection, entries: Entries) -> None:
        self.topology = 0
        self.node = 0
        self.is_declared_dead = False
        """Whether other processes took this one for dead and released its messages."""
        self.peers: dict[int, Peer] = {}
        self.foreign: dict[int, set[int]] = {}
        """The other nodes that have consumers on a queue, by queue."""
        self._sql = connection
        self._entries = entries
        self._queues: dict[str, QueueRow] = {}
        self._subscriptions: dict[str, list[QueueRow]] = {}

    # -- the cache -----------------------------------------------------------------------------------------------

    def begin(self, topology: int) -> None:
        """Start a transaction; clear the cache if other processes changed something."""
        if topology != self.topology:
            self.topology = topology
            self._forget()
            self.peers = {row[0]: Peer(*row) for row in self._sql.execute("SELECT id, token, socket FROM node")}
            self.is_declared_dead = self.node != 0 and self.peers.pop(self.node, None) is None
            self.foreign = {}
            for queue, node in self._sql.execute("SELECT line, node FROM consumer WHERE node <> ?", (self.node,)):
                self.foreign.setdefault(queue, set()).add(node)

    def rolled_back(self) -> None:
        """Clear the cache after a rollback."""
        self.topology = 0

    def changed(self) -> None:
        """This transaction changed something: let every process clear its cache."""
        self.topology += 1
        self._forget()

    def _forget(self) -> None:
        self._queues = {}
        self._subscriptions = {}

    @property
    def nodes(self) -> list[int]:
        """All processes that have the file open."""
        return [self.node, *self.peers]

    # -- queues and topics ---------------------------------------------------------------------------------------

    def find_queue(self, name: str) -> QueueRow | None:
        """The queue of that name, or None."""
        found = self._queues.get(name)
        if found is None:
            found = self._find("topic = 0 AND name = ?", name)
            if found is not None:
                self._queues[name] = found
        return found

    def queue(self, address: Address) -> QueueRow:
        """The queue of that name, created on first use unless it is temporary."""
        found = self.find_queue(address.name)
        if found is None:
            check_creatable(address)
            found = self.add(QueueRow(0, False, address.name, False))
        return found

    def topic_owner(self, address: Address) -> int:
        """The link that owns a temporary topic, 0 for other topics."""
        row = self._sql.execute("SELECT owner FROM topic WHERE name = ?", (address.name,)).fetchone()
        if row is None:
            check_creatable(address)
            return 0
        return int(row[0])

    def temporary_owner(self, address: Address) -> int:
        """The link that made this temporary destination; 0 if it is not temporary or does not exist."""
        if not address.topic:
            found = self.find_queue(address.name)
            return found.owner if found else 0
        row = self._sql.execute("SELECT owner FROM topic WHERE name = ?", (address.name,)).fetchone()
        return int(row[0]) if row else 0

    def is_consumed(self, address: Address) -> bool:
        """Whether a queue, or a subscription of a topic, has consumers."""
        found = None if address.topic else self.find_queue(address.name)
        queues = self.subscriptions(address.name) if address.topic else [found] if found else []
        return any(self.consumers(queue.id) for queue in queues)

    def is_taken(self, address: Address) -> bool:
        """Whether the queue or topic exists."""
        if not address.topic:
            return self.find_queue(address.name) is not None
        known = self._sql.execute("SELECT 1 FROM topic WHERE name = ?", (address.name,)).fetchone()
        return known is not None or bool(self.subscriptions(address.name))

    def make_topic(self, address: Address, owner: int = 0) -> None:
        """Create a topic, which may have no subscription."""
        values = (address.name, address.temporary, owner)
        self._sql.execute("INSERT OR IGNORE INTO topic VALUES (?, ?, ?)", values)
        self.changed()

    def remove(self, address: Address) -> None:
        """Remove a queue or topic with its messages."""
        if not address.topic:
            found = self.find_queue(address.name)
            if found is not None:
                self.drop(found)
        else:
            for queue in self.subscriptions(address.name):
                self.drop(queue)
            self._sql.execute("DELETE FROM topic WHERE name = ?", (address.name,))
        self._sql.execute("DELETE FROM duplicate WHERE place = ?", (str(_plain(address)),))
        self.changed()

    # -- queues ---------------------------------------------------------------------------------------------------

    def add(self, queue: QueueRow) -> QueueRow:
        """Create a queue."""
        made = msgspec.structs.replace(queue, id=self._entries.number())
        values = msgspec.structs.astuple(made)
        self._sql.execute(f"INSERT INTO line({_COLUMNS}) VALUES ({','.join('?' * len(values))})", values)
        self.changed()
        return made

    def drop(self, queue: QueueRow) -> None:
        """Delete a queue with its messages."""
        self._entries.drop_queue(queue.id, self.nodes)
        self._sql.execute("DELETE FROM grouping WHERE line = ?", (queue.id,))
        self._sql.execute("DELETE FROM line WHERE id = ?", (queue.id,))
        self.changed()

    def queues(self) -> list[QueueRow]:
        """All queues and subscriptions."""
        return [_to_row(row) for row in self._sql.execute(f"SELECT {_COLUMNS} FROM line ORDER BY name, key").fetchall()]

    def topics(self) -> list[Address]:
        """All topics that have a subscription or were created, temporary ones included."""
        rows = self._sql.execute(
            "SELECT name, temporary FROM topic UNION SELECT name, temporary FROM line WHERE topic = 1"
        ).fetchall()
        return [Address(name, True, bool(temporary)) for name, temporary in rows]

    def by_id(self, queue: int) -> QueueRow | None:
        """The queue with this id, if it still exists."""
        return self._find("id = ?", queue)

    def returns(self, queue: int) -> int:
        """How often messages were returned to a queue; a change means that ``View.floors`` are not valid any more."""
        row = self._sql.execute("SELECT returns FROM line WHERE id = ?", (queue,)).fetchone()
        return int(row[0]) if row else 0

    def returned(self, queue: int) -> None:
        """Count a return of messages."""
        self._sql.execute("UPDATE line SET returns = returns + 1 WHERE id = ?", (queue,))

    def _find(self, where: str, *values: object) -> QueueRow | None:
        row = self._sql.execute(f"SELECT {_COLUMNS} FROM line WHERE {where}", values).fetchone()
        return None if row is None else _to_row(row)

    # -- subscriptions -------------------------------------------------------------------------------------------

    def subscriptions(self, topic: str) -> list[QueueRow]:
        """All subscriptions of a topic."""
        found = self._subscriptions.get(topic)
        if found is None:
            rows = self._sql.execute(f"SELECT {_COLUMNS} FROM line WHERE topic = 1 AND name = ?", (topic,)).fetchall()
            found = self._subscriptions[topic] = [_to_row(row) for row in rows]
        return found

    def find_key(self, client: str | None, key: str, durable: bool) -> QueueRow | None:
        """The subscription of that name within a client id, or None."""
        return self._find("client = ? AND key = ? AND durable = ?", client or "", key, durable)

    def subscribe(self, interest: Interest, link: int, client: str | None) -> QueueRow:
        """Find or create the subscription that this interest names."""
        named = interest.key is not None and (interest.durable or interest.shared)
        if named and interest.key is not None:
            found = self.find_key(client, interest.key, interest.durable)
            if found is not None:
                defined = (found.address, found.selector, found.no_local)
                same = defined == (interest.address, interest.selector, interest.no_local)
                check_reusable(interest, found.address, found.shared, same, self.consumers(found.id) > 0)
                if same:
                    self._sql.execute("UPDATE line SET link = ? WHERE id = ?", (link, found.id))
                    self.changed()
                    return msgspec.structs.replace(found, link=link)
                self.drop(found)
        return self.add(
            QueueRow(
                0,
                True,
                interest.address.name,
                interest.address.temporary,
                client=(client or "") if named else client,
                key=interest.key if named else None,
                durable=interest.durable,
                shared=interest.shared,
                selector=interest.selector,
                no_local=interest.no_local,
                link=link,
            )
        )

    def unsubscribe(self, client: str | None, key: str) -> None:
        """Delete a durable subscription."""
        found = self.find_key(client, key, True)
        consumers = found is not None and self.consumers(found.id) > 0
        unsettled = found is not None and self._entries.is_held(found.id, self.nodes)
        check_unsubscribe(client, key, found is not None, consumers, unsettled)
        if found is not None:
            self.drop(found)

    # -- consumers and groups ------------------------------------------------------------------------------------

    def consumers(self, queue: int) -> int:
        """How many consumers a queue has, in all processes."""
        return int(self._sql.execute("SELECT count(*) FROM consumer WHERE line = ?", (queue,)).fetchone()[0])

    def consumer_ids(self, queue: int) -> set[int]:
        """The consumers of a queue, in all processes."""
        return {row[0] for row in self._sql.execute("SELECT id FROM consumer WHERE line = ?", (queue,)).fetchall()}

    def join(self, queue: int, selector: str | None) -> int:
        """Add a consumer of this process."""
        made = self._entries.number()
        self._sql.execute("INSERT INTO consumer VALUES (?, ?, ?, ?)", (made, queue, self.node, selector))
        self.changed()
        return made

    def leave(self, consumer: int, queue: int) -> bool:
        """Remove a consumer, and a non-durable subscription after its last one; return whether that was so."""
        self._sql.execute("DELETE FROM consumer WHERE id = ?", (consumer,))
        self._sql.execute("DELETE FROM grouping WHERE consumer = ?", (consumer,))
        self.changed()
        found = self.by_id(queue)
        if found is None or not found.topic or found.durable or self.consumers(queue):
            return found is None
        self.drop(found)
        return True

    def group_owner(self, queue: int, bucket: int) -> tuple[int, int, str | None] | None:
        """The owner of a group, as consumer, node and selector; None if it has none."""
        row: tuple[int, int, str | None] | None = self._sql.execute(
            "SELECT c.id, c.node, c.selector FROM grouping g JOIN consumer c ON c.id = g.consumer "
            "WHERE g.line = ? AND g.bucket = ?",
            (queue, bucket),
        ).fetchone()
        return row

    def own_group(self, queue: int, bucket: int, consumer: int) -> None:
        """Make this consumer the owner of a group."""
        self._sql.execute("INSERT OR REPLACE INTO grouping VALUES (?, ?, ?)", (queue, bucket, consumer))

    # -- duplicates ----------------------------------------------------------------------------------------------

    def is_duplicate(self, address: Address, duplicate_id: str, window: int) -> bool:
        """Whether the id was sent to this destination before; remember it."""
        place = str(_plain(address))
        last = self._sql.execute("SELECT max(number) FROM duplicate WHERE place = ?", (place,)).fetchone()[0] or 0
        added = self._sql.execute("INSERT OR IGNORE INTO duplicate VALUES (?, ?, ?)", (place, duplicate_id, last + 1))
        if not added.rowcount:
            return True
        self._sql.execute("DELETE FROM duplicate WHERE place = ? AND number <= ?", (place, last + 1 - window))
        return False


def _plain(address: Address) -> Address:
    return Address(address.name, address.topic)


def _to_row(row: tuple[Any, ...]) -> QueueRow:
    number, topic, name, temporary, owner, client, key, durable, shared, selector, no_local, link = row
    kind = (bool(durable), bool(shared), selector, bool(no_local), link)
    return QueueRow(number, bool(topic), name, bool(temporary), owner, client, key, *kind)
