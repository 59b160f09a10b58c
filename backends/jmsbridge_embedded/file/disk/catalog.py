"""What there is besides messages: queues, subscriptions, consumers, other processes; and a memory of it.

All of it is in the file; what is remembered here is forgotten whenever ``topology`` shows that somebody, this process
included, changed something, or when a transaction is rolled back.
"""

import sqlite3
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

from jmsbridge.spi import Address, AddressRefused, Envelope, Interest, SubscriptionRefused, SubscriptionUnknown
from jmsbridge_embedded.file.disk.entries import Entries
from jmsbridge_embedded.file.disk.wire import Damaged
from jmsbridge_embedded.rules import check_creatable, compiled

if TYPE_CHECKING:
    from jmsbridge.selectors import Selector

__all__ = ["Catalog", "Line", "Peer", "selector_of"]


class Line(msgspec.Struct, frozen=True):
    """A queue, or the backlog of one subscription of a topic."""

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
        """Where its messages were sent."""
        return Address(self.name, self.topic, self.temporary)

    @property
    def origin(self) -> str:
        """What a dead letter says about whence it came."""
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
    """A selector ready for use."""
    made = compiled(text)
    if made is None:
        raise Damaged("a selector in the file is empty")
    return made


_LINE = "id, topic, name, temporary, owner, client, key, durable, shared, selector, no_local, link"


class Catalog:
    """Used by the store's thread within a transaction only."""

    def __init__(self, connection: sqlite3.Connection, entries: Entries) -> None:
        self.topology = 0
        self.node = 0
        self.is_buried = False
        """Whether others took this process for dead and gave back what it had."""
        self.peers: dict[int, Peer] = {}
        self.foreign: dict[int, set[int]] = {}
        """Which other nodes have consumers on a line."""
        self._sql = connection
        self._entries = entries
        self._queues: dict[str, Line] = {}
        self._subscriptions: dict[str, list[Line]] = {}

    # -- memory --------------------------------------------------------------------------------------------------

    def begin(self, topology: int) -> None:
        """A transaction has begun; forget what others have changed."""
        if topology != self.topology:
            self.topology = topology
            self._forget()
            self.peers = {row[0]: Peer(*row) for row in self._sql.execute("SELECT id, token, socket FROM node")}
            self.is_buried = self.node != 0 and self.peers.pop(self.node, None) is None
            self.foreign = {}
            for line, node in self._sql.execute("SELECT line, node FROM consumer WHERE node <> ?", (self.node,)):
                self.foreign.setdefault(line, set()).add(node)

    def rolled_back(self) -> None:
        """What was remembered may never have been."""
        self.topology = 0

    def changed(self) -> None:
        """Something was changed in this transaction: everybody is to forget."""
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

    def find_queue(self, name: str) -> Line | None:
        """The queue of that name."""
        found = self._queues.get(name)
        if found is None:
            found = self._line("topic = 0 AND name = ?", name)
            if found is not None:
                self._queues[name] = found
        return found

    def queue(self, address: Address) -> Line:
        """The queue of that name, made on first use unless it is a temporary one."""
        found = self.find_queue(address.name)
        if found is None:
            check_creatable(address)
            found = self.add(Line(0, False, address.name, False))
        return found

    def topic_owner(self, address: Address) -> int:
        """The link whose temporary topic this is, 0 for one that is everybody's."""
        row = self._sql.execute("SELECT owner FROM topic WHERE name = ?", (address.name,)).fetchone()
        if row is None:
            check_creatable(address)
            return 0
        return int(row[0])

    def is_taken(self, address: Address) -> bool:
        """Whether there is such a queue or topic."""
        if not address.topic:
            return self.find_queue(address.name) is not None
        known = self._sql.execute("SELECT 1 FROM topic WHERE name = ?", (address.name,)).fetchone()
        return known is not None or bool(self.subscriptions(address.name))

    def make_topic(self, address: Address, owner: int = 0) -> None:
        """Remember a topic although nobody subscribes to it."""
        values = (address.name, address.temporary, owner)
        self._sql.execute("INSERT OR IGNORE INTO topic VALUES (?, ?, ?)", values)
        self.changed()

    def remove(self, address: Address) -> None:
        """A queue or topic goes, with everything in it."""
        if not address.topic:
            found = self.find_queue(address.name)
            if found is not None:
                self.drop(found)
        else:
            for line in self.subscriptions(address.name):
                self.drop(line)
            self._sql.execute("DELETE FROM topic WHERE name = ?", (address.name,))
        self._sql.execute("DELETE FROM duplicate WHERE place = ?", (str(_plain(address)),))
        self.changed()

    # -- lines ---------------------------------------------------------------------------------------------------

    def add(self, line: Line) -> Line:
        """A new line."""
        made = msgspec.structs.replace(line, id=self._entries.number())
        values = msgspec.structs.astuple(made)
        self._sql.execute(f"INSERT INTO line({_LINE}) VALUES ({','.join('?' * len(values))})", values)
        self.changed()
        return made

    def drop(self, line: Line) -> None:
        """A line goes, with its messages."""
        self._entries.drop_line(line.id, self.nodes)
        self._sql.execute("DELETE FROM grouping WHERE line = ?", (line.id,))
        self._sql.execute("DELETE FROM line WHERE id = ?", (line.id,))
        self.changed()

    def lines(self) -> list[Line]:
        """All queues and subscriptions."""
        return [_to_line(row) for row in self._sql.execute(f"SELECT {_LINE} FROM line ORDER BY name, key").fetchall()]

    def topics(self) -> list[Address]:
        """All topics that somebody subscribes to, made, or made temporarily."""
        rows = self._sql.execute(
            "SELECT name, temporary FROM topic UNION SELECT name, temporary FROM line WHERE topic = 1"
        ).fetchall()
        return [Address(name, True, bool(temporary)) for name, temporary in rows]

    def by_id(self, line: int) -> Line | None:
        """The line with this number, if it is there still."""
        return self._line("id = ?", line)

    def returns(self, line: int) -> int:
        """How often messages were given back to a line: what was looked at before may be there again."""
        row = self._sql.execute("SELECT returns FROM line WHERE id = ?", (line,)).fetchone()
        return int(row[0]) if row else 0

    def returned(self, line: int) -> None:
        """Messages were given back."""
        self._sql.execute("UPDATE line SET returns = returns + 1 WHERE id = ?", (line,))

    def _line(self, where: str, *values: object) -> Line | None:
        row = self._sql.execute(f"SELECT {_LINE} FROM line WHERE {where}", values).fetchone()
        return None if row is None else _to_line(row)

    # -- subscriptions -------------------------------------------------------------------------------------------

    def subscriptions(self, topic: str) -> list[Line]:
        """All subscriptions of a topic."""
        found = self._subscriptions.get(topic)
        if found is None:
            rows = self._sql.execute(f"SELECT {_LINE} FROM line WHERE topic = 1 AND name = ?", (topic,)).fetchall()
            found = self._subscriptions[topic] = [_to_line(row) for row in rows]
        return found

    def find_key(self, client: str | None, key: str, durable: bool) -> Line | None:
        """The subscription of that name within a client id."""
        return self._line("client = ? AND key = ? AND durable = ?", client or "", key, durable)

    def subscribe(self, interest: Interest, link: int, client: str | None) -> Line:
        """Find or make the subscription that this interest names."""
        named = interest.key is not None and (interest.durable or interest.shared)
        if named and interest.key is not None:
            found = self.find_key(client, interest.key, interest.durable)
            if found is not None:
                if self._may_take_up(found, interest):
                    self._sql.execute("UPDATE line SET link = ? WHERE id = ?", (link, found.id))
                    self.changed()
                    return msgspec.structs.replace(found, link=link)
                self.drop(found)
        return self.add(
            Line(
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

    def _may_take_up(self, found: Line, interest: Interest) -> bool:
        """Whether this is the same subscription; an error where it must not be replaced."""
        name = f"subscription {interest.key!r} on {found.address}"
        if found.shared != interest.shared:
            kind = "shared" if found.shared else "unshared"
            text = f"{name} is a {kind} durable subscription; unsubscribe it first or use another name"
            raise SubscriptionRefused(text)
        defined = (found.address, found.selector, found.no_local)
        same = defined == (interest.address, interest.selector, interest.no_local)
        if self.consumers(found.id):
            if not found.shared:
                raise SubscriptionRefused(f"{name} has an active consumer; close it first")
            if not same:
                raise SubscriptionRefused(f"{name} has active consumers with another topic or selector")
        return same

    def unsubscribe(self, client: str | None, key: str) -> None:
        """Forget a durable subscription."""
        found = self.find_key(client, key, True)
        name = repr(key) if client is None else f"{key!r} of client id {client!r}"
        if found is None:
            raise SubscriptionUnknown(f"the embedded broker has no durable subscription {name}")
        if self.consumers(found.id):
            raise SubscriptionRefused(f"subscription {name} has an active consumer; close it first")
        if self._entries.is_held(found.id, self.nodes):
            raise SubscriptionRefused(
                f"subscription {name} has messages that the session of a closed consumer has not yet acknowledged or "
                "committed; do that first, or roll back"
            )
        self.drop(found)

    # -- consumers and groups ------------------------------------------------------------------------------------

    def consumers(self, line: int) -> int:
        """How many consumers a line has, in all processes."""
        return int(self._sql.execute("SELECT count(*) FROM consumer WHERE line = ?", (line,)).fetchone()[0])

    def join(self, line: int, selector: str | None) -> int:
        """A consumer of this process comes."""
        made = self._entries.number()
        self._sql.execute("INSERT INTO consumer VALUES (?, ?, ?, ?)", (made, line, self.node, selector))
        self.changed()
        return made

    def leave(self, consumer: int, line: int) -> bool:
        """A consumer goes, and with the last one the line, if it lives only as long; whether that was so."""
        self._sql.execute("DELETE FROM consumer WHERE id = ?", (consumer,))
        self._sql.execute("DELETE FROM grouping WHERE consumer = ?", (consumer,))
        self.changed()
        found = self.by_id(line)
        if found is None or not found.topic or found.durable or self.consumers(line):
            return found is None
        self.drop(found)
        return True

    def group_owner(self, line: int, bucket: int) -> tuple[int, int, str | None] | None:
        """Who has a group: consumer, node and selector."""
        row: tuple[int, int, str | None] | None = self._sql.execute(
            "SELECT c.id, c.node, c.selector FROM grouping g JOIN consumer c ON c.id = g.consumer "
            "WHERE g.line = ? AND g.bucket = ?",
            (line, bucket),
        ).fetchone()
        return row

    def own_group(self, line: int, bucket: int, consumer: int) -> None:
        """This consumer gets the group's messages from now on."""
        self._sql.execute("INSERT OR REPLACE INTO grouping VALUES (?, ?, ?)", (line, bucket, consumer))

    # -- duplicates ----------------------------------------------------------------------------------------------

    def is_duplicate(self, address: Address, duplicate_id: str, window: int) -> bool:
        """Whether the id was sent to this destination before; it has been from now on."""
        place = str(_plain(address))
        last = self._sql.execute("SELECT max(number) FROM duplicate WHERE place = ?", (place,)).fetchone()[0] or 0
        added = self._sql.execute("INSERT OR IGNORE INTO duplicate VALUES (?, ?, ?)", (place, duplicate_id, last + 1))
        if not added.rowcount:
            return True
        self._sql.execute("DELETE FROM duplicate WHERE place = ? AND number <= ?", (place, last + 1 - window))
        return False

    def check_temporary(self, address: Address, link: int) -> bool:
        """Whether this link made the temporary destination; ``AddressRefused`` when nobody did."""
        if address.topic:
            row = self._sql.execute("SELECT owner FROM topic WHERE name = ?", (address.name,)).fetchone()
            owner = row[0] if row else 0
        else:
            found = self.find_queue(address.name)
            owner = found.owner if found else 0
        if not owner:
            raise AddressRefused(f"{address} is no temporary destination of this embedded broker")
        return bool(owner == link)


def _plain(address: Address) -> Address:
    return Address(address.name, address.topic)


def _to_line(row: tuple[Any, ...]) -> Line:
    number, topic, name, temporary, owner, client, key, durable, shared, selector, no_local, link = row
    kind = (bool(durable), bool(shared), selector, bool(no_local), link)
    return Line(number, bool(topic), name, bool(temporary), owner, client, key, *kind)
