"""Processes and links in the file: who came, who went, and what becomes of what the dead had."""

import sqlite3

from jmsbridge.spi import Address, ClientIdRefused
from jmsbridge_embedded.file.batch import Batch
from jmsbridge_embedded.file.disk.catalog import Catalog, Peer
from jmsbridge_embedded.file.disk.entries import Entries
from jmsbridge_embedded.file.presence import Presence

__all__ = ["Nodes"]


class Nodes:
    """Used by the store's thread; every method but ``dead`` within a transaction."""

    def __init__(self, connection: sqlite3.Connection, entries: Entries, catalog: Catalog, presence: Presence) -> None:
        self._sql = connection
        self._entries = entries
        self._catalog = catalog
        self._presence = presence

    def register(self, batch: Batch, pid: int) -> None:
        """This process has the file open."""
        for peer in self.dead():
            self.bury(batch, peer)
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
        """Other processes that were here and have died."""
        return [peer for peer in self._catalog.peers.values() if not self._presence.is_alive(peer.token)]

    def bury(self, batch: Batch, peer: Peer) -> None:
        """Give back what a dead process had."""
        self._clear(batch, peer.id)
        self._catalog.peers.pop(peer.id, None)
        for nodes in self._catalog.foreign.values():
            nodes.discard(peer.id)
        self._entries.look()
        batch.effects.append((lambda address: self._presence.remove(peer.token, address), peer.socket))

    def leave(self, batch: Batch) -> None:
        """This process closes the file; what the dead left is tidied by whoever goes last, if not before."""
        for peer in self.dead():
            self.bury(batch, peer)
        self._clear(batch, self._catalog.node)

    def _clear(self, batch: Batch, node: int) -> None:
        for line in self._entries.give_back_all(node):
            self._catalog.returned(line)
            batch.available.add(line)
        for consumer, line in self._sql.execute("SELECT id, line FROM consumer WHERE node = ?", (node,)).fetchall():
            if not self._catalog.leave(consumer, line):
                batch.available.add(line)
        for (link,) in self._sql.execute("SELECT id FROM link WHERE node = ?", (node,)).fetchall():
            self.end_link(link)
        self._sql.execute("DELETE FROM node WHERE id = ?", (node,))
        self._catalog.changed()

    # -- links ---------------------------------------------------------------------------------------------------

    def add_link(self, batch: Batch, client_id: str | None, where: str) -> int:
        """A link of this process; a client id belongs to one live link at a time (section 6.1.2)."""
        if client_id is not None:
            if not client_id:
                raise ClientIdRefused("the client id is empty; leave it out or give it a name")
            row = self._sql.execute("SELECT node FROM link WHERE client = ?", (client_id,)).fetchone()
            peer = None if row is None else self._catalog.peers.get(row[0])
            if row is not None and (peer is None or self._presence.is_alive(peer.token)):
                raise ClientIdRefused(
                    f"client id {client_id!r} is in use by another connection to {where}; close that one or use "
                    "another id"
                )
            if peer is not None:
                self.bury(batch, peer)
        number = self._entries.number()
        self._sql.execute("INSERT INTO link VALUES (?, ?, ?)", (number, self._catalog.node, client_id))
        return number

    def end_link(self, link: int) -> None:
        """A link has ended: its temporary destinations go with it."""
        rows = self._sql.execute(
            "SELECT name, 0 FROM line WHERE owner = ? UNION SELECT name, 1 FROM topic WHERE owner = ?", (link, link)
        ).fetchall()
        for name, topic in rows:
            self._catalog.remove(Address(name, bool(topic), True))
        self._sql.execute("DELETE FROM link WHERE id = ?", (link,))
