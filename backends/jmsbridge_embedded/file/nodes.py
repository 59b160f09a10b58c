"""Processes and links as the file records them, and cleaning up after dead processes."""

import sqlite3

from jmsbridge.spi import Address
from jmsbridge_embedded.file.batch import Batch
from jmsbridge_embedded.file.disk.catalog import Catalog, Peer
from jmsbridge_embedded.file.disk.entries import Entries
from jmsbridge_embedded.file.presence import Presence
from jmsbridge_embedded.rules import check_client_id

__all__ = ["Nodes"]


class Nodes:
    """Used by the store's thread; every method but ``dead`` inside a transaction."""

    def __init__(self, connection: sqlite3.Connection, entries: Entries, catalog: Catalog, presence: Presence) -> None:
        self._sql = connection
        self._entries = entries
        self._catalog = catalog
        self._presence = presence

    def register(self, batch: Batch, pid: int) -> None:
        """Record that this process has opened the file."""
        for peer in self.dead():
            self.clear(batch, peer)
        if not self._catalog.peers:
            self._entries.drop_unkept()
        number = self._catalog.node = self._entries.number()
        values = (number, self._presence.token, self._presence.address, pid)
        self._sql.execute("INSERT INTO node VALUES (?, ?, ?, ?)", values)
        self._catalog.changed()
        self._presence.tidy({peer.token for peer in self._catalog.peers.values()})
        for peer in self._catalog.peers.values():
            batch.effects.append((lambda address: self._presence.wake(address, set()), peer.socket))

    def dead(self) -> list[Peer]:
        """The recorded processes that have died."""
        return [peer for peer in self._catalog.peers.values() if not self._presence.is_alive(peer.token)]

    def clear(self, batch: Batch, peer: Peer) -> None:
        """Return what a dead process held, and remove its record."""
        self._clear(batch, peer.id)
        self._catalog.peers.pop(peer.id, None)
        for nodes in self._catalog.foreign.values():
            nodes.discard(peer.id)
        self._entries.look()
        batch.effects.append((lambda address: self._presence.remove(peer.token, address), peer.socket))

    def leave(self, batch: Batch) -> None:
        """Remove the record of this process, which closes the file, and those of dead processes."""
        for peer in self.dead():
            self.clear(batch, peer)
        self._clear(batch, self._catalog.node)

    def _clear(self, batch: Batch, node: int) -> None:
        for queue in self._entries.put_back_all(node):
            self._catalog.returned(queue)
            batch.available.add(queue)
        for consumer, queue in self._sql.execute("SELECT id, line FROM consumer WHERE node = ?", (node,)).fetchall():
            if not self._catalog.leave(consumer, queue):
                batch.available.add(queue)
        for (link,) in self._sql.execute("SELECT id FROM link WHERE node = ?", (node,)).fetchall():
            self.end_link(link)
        self._sql.execute("DELETE FROM node WHERE id = ?", (node,))
        self._catalog.changed()

    # -- links ---------------------------------------------------------------------------------------------------

    def add_link(self, batch: Batch, client_id: str | None) -> int:
        """Record a link of this process; a client id belongs to one live link at a time (section 6.1.2)."""
        if client_id is not None:
            row = self._sql.execute("SELECT node FROM link WHERE client = ?", (client_id,)).fetchone()
            peer = None if row is None else self._catalog.peers.get(row[0])
            in_use = row is not None and (peer is None or self._presence.is_alive(peer.token))
            check_client_id(client_id, in_use, str(batch.path))
            if peer is not None:
                self.clear(batch, peer)
        number = self._entries.number()
        self._sql.execute("INSERT INTO link VALUES (?, ?, ?)", (number, self._catalog.node, client_id))
        return number

    def end_link(self, link: int) -> None:
        """Remove an ended link and its temporary destinations."""
        rows = self._sql.execute(
            "SELECT name, 0 FROM line WHERE owner = ? UNION SELECT name, 1 FROM topic WHERE owner = ?", (link, link)
        ).fetchall()
        for name, topic in rows:
            self._catalog.remove(Address(name, bool(topic), True))
        self._sql.execute("DELETE FROM link WHERE id = ?", (link,))
