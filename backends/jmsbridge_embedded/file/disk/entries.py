"""The messages in the file: the SQL on ``entry``, batched so that a transaction needs few statements.

A statement releases the interpreter's lock, and getting it back from a busy thread may take milliseconds. So one
statement serves many messages: rows are inserted in groups, ids are passed as one JSON text.
"""

import sqlite3
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from jmsbridge.spi import Envelope
from jmsbridge_embedded.file.disk.wire import encode
from jmsbridge_embedded.groups import GROUP, bucket_of
from jmsbridge_embedded.order import key_of

__all__ = ["BAND", "Entries", "Packed", "Row", "pack"]

BAND: Final = 1 << 50
"""Ranks per priority; see ``order.key_of``."""

Row = tuple[int, int, int, int, int | None, bytes, int]
"""id, rank, count, expires, bucket, body, failures."""

_LARGE: Final = 2000
_LONG: Final = 1 << 63
_COLUMNS: Final = "INSERT INTO entry(id, line, rank, count, due, expires, bucket, kept, stamp, content, body) VALUES "
_SIZES: Final = (128, 32, 8, 1)
_INSERT: Final = {size: _COLUMNS + ",".join(["(?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?)"] * size) for size in _SIZES}
_FIELDS: Final = 10
_DEATH: Final = "max(count, 1)"
"""The delivery count after the holder died, when it is unknown whether the message was seen: it is marked as
redelivered, but further deaths do not raise the count."""
_LIST: Final = "(SELECT value FROM json_each(?))"
_PAGE: Final = """
    SELECT id, rank, count, expires, bucket, coalesce(body, (SELECT data FROM body WHERE id = content)), failures
    FROM entry INDEXED BY entry_ready
    WHERE line = ? AND owner IS NULL AND due = 0 AND rank > ? AND rank < ? ORDER BY rank LIMIT ?"""

_EXPIRED: Final = f"""
    SELECT line, id, rank, count, expires, bucket, coalesce(body, (SELECT data FROM body WHERE id = content)), failures
    FROM entry WHERE expires > 0 AND expires <= ? AND owner IS NULL AND line IN {_LIST} ORDER BY rank LIMIT ?"""


class Packed(msgspec.Struct, frozen=True, gc=False):
    """One message, encoded for the file."""

    envelope: Envelope
    body: bytes
    bucket: int | None


def pack(envelope: Envelope) -> Packed:
    """Encode, in the caller's thread; ``OverflowError`` for a time beyond a Java long."""
    for moment in (envelope.timestamp, envelope.expiration, envelope.delivery_time):
        if not -_LONG <= moment < _LONG:
            raise OverflowError(f"{moment} is out of range for a time in milliseconds")
    return Packed(envelope, encode(envelope), bucket_of(envelope) if GROUP in envelope.properties else None)


class Entries:
    """The messages, as one connection changes them.

    ``sequence`` numbers messages and all other rows; ``stored`` counts the messages in the file. Both are read at the
    start of a transaction and written at its end. ``next_due`` and ``next_expiry`` are the next timers.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.sql = connection
        self.sequence = 0
        self.stored = 0
        self.next_due = 0
        self.next_expiry = 0
        self._begun = (0, 0, 0)
        self._large: tuple[Packed, int] | None = None
        self._rows: list[Any] = []
        self._gone: list[int] = []

    def begin(self, sequence: int, stored: int, topology: int) -> None:
        """Start a transaction with these counters."""
        self.sequence, self.stored = sequence, stored
        self._begun = (sequence, stored, topology)
        self._large = None
        self._rows = []
        self._gone = []

    def number(self) -> int:
        """A new number, unique in the file."""
        self.sequence += 1
        return self.sequence

    # -- adding and removing -------------------------------------------------------------------------------------

    def add(self, queue: int, packed: Packed, now: int) -> bool:
        """Add a message at the end of a queue; False if it is delayed or has expired."""
        envelope = packed.envelope
        due, expires = envelope.delivery_time, envelope.expiration
        if due <= now:
            due = 0
        if expires:
            if expires <= (due or now):
                return False
            if not self.next_expiry or expires < self.next_expiry:
                self.next_expiry = expires
        if due and (not self.next_due or due < self.next_due):
            self.next_due = due
        self.sequence = number = self.sequence + 1
        body, content = packed.body if len(packed.body) <= _LARGE else None, None
        if body is None:
            content = self._content(packed, number)
        self.stored += 1
        self._rows += (
            number,
            queue,
            key_of(envelope.priority, number),
            due,
            expires,
            packed.bucket,
            envelope.persistent,
            envelope.timestamp,
            content,
            body,
        )
        return not due

    def _content(self, packed: Packed, number: int) -> int:
        """The row of a large body, which the copies for all subscriptions of a topic share."""
        if self._large is None or self._large[0] is not packed:
            self._large = (packed, number)
            self.sql.execute("INSERT INTO body VALUES (?, ?)", (number, packed.body))
        return self._large[1]

    def flush(self) -> None:
        """Write what ``add`` and ``forget`` collected."""
        rows = self._rows
        if rows:
            self._rows = []
            start, left = 0, len(rows) // _FIELDS
            for size in _SIZES:
                while left >= size:
                    end = start + size * _FIELDS
                    self.sql.execute(_INSERT[size], rows[start:end])
                    start, left = end, left - size
        if self._gone:
            gone, self._gone = self._gone, []
            self.stored -= self._changes(f"DELETE FROM entry WHERE id IN {_LIST}", _json(gone))

    def forget(self, ids: Iterable[int]) -> None:
        """Remove these messages, with the next ``flush``."""
        self._gone.extend(ids)

    def finish(self, topology: int) -> None:
        """End a transaction: write the counters."""
        self.flush()
        state = (self.sequence, self.stored, topology)
        if state != self._begun:  # without a change nothing is written, which works on a full disk, too
            self.sql.execute("UPDATE state SET seq = ?, stored = ?, topology = ? WHERE one = 1", state)

    def move(self, messages: list[tuple[int, int]], queue: int) -> None:
        """Move waiting messages, given by id and rank, to the end of another queue."""
        self.flush()
        for number, rank in messages:
            place = rank // BAND * BAND + self.number()
            self.sql.execute("UPDATE entry SET line = ?, rank = ? WHERE id = ?", (queue, place, number)).fetchall()

    # -- claims --------------------------------------------------------------------------------------------------

    def page(self, queue: int, after: int, before: int, limit: int) -> list[Row]:
        """The first waiting messages of a queue with a rank between these two."""
        self.flush()
        return self.sql.execute(_PAGE, (queue, after, before, limit)).fetchall()

    def claim(self, ids: list[int], node: int) -> None:
        """Make a node the holder of these messages."""
        self.sql.execute(f"UPDATE entry SET owner = ? WHERE id IN {_LIST}", (node, _json(ids))).fetchall()

    def put_back(self, ids: list[int], deliveries: int | None, failures: int) -> None:
        """Return messages to their places, adding to both counts; ``deliveries`` None is a death, see ``_DEATH``."""
        self.flush()
        count = _DEATH if deliveries is None else f"count + {int(deliveries)}"
        numbers = f"count = {count}, failures = failures + {int(failures)}"
        self.sql.execute(f"UPDATE entry SET owner = NULL, {numbers} WHERE id IN {_LIST}", (_json(ids),))

    def put_back_all(self, node: int) -> list[int]:
        """Return all messages of a dead node to their places; return their queues."""
        self.flush()
        queues = self.sql.execute("SELECT DISTINCT line FROM entry WHERE owner = ?", (node,)).fetchall()
        self.sql.execute(f"UPDATE entry SET owner = NULL, count = {_DEATH} WHERE owner = ?", (node,))
        return [queue for (queue,) in queues]

    # -- delays and expiry ---------------------------------------------------------------------------------------

    def look(self) -> None:
        """Read the next due and expiry times."""
        self.next_due = self._one("SELECT coalesce(min(due), 0) FROM entry WHERE due > 0")
        self.next_expiry = self._one("SELECT coalesce(min(expires), 0) FROM entry WHERE expires > 0")

    def appear(self, now: int) -> set[int]:
        """Put due messages behind the waiting ones of their queues; return these queues."""
        self.flush()
        rows = self.sql.execute("SELECT id, line, rank FROM entry WHERE due > 0 AND due <= ? ORDER BY due, id", (now,))
        changed = set()
        for number, queue, rank in rows.fetchall():
            place = rank // BAND * BAND + self.number()
            self.sql.execute("UPDATE entry SET due = 0, rank = ? WHERE id = ?", (place, number)).fetchall()
            changed.add(queue)
        self.next_due = self._one("SELECT coalesce(min(due), 0) FROM entry WHERE due > 0")
        return changed

    def expired(self, queues: list[int], now: int, limit: int) -> list[tuple[int, Row]]:
        """Expired messages of these queues that are not held, with their queues."""
        self.flush()
        rows = self.sql.execute(_EXPIRED, (now, _json(queues), limit)).fetchall()
        return [(row[0], row[1:]) for row in rows]

    def sweep(self, now: int, but: list[int]) -> None:
        """Delete expired messages that are not held, in all queues but these."""
        self.flush()
        where = f"expires > 0 AND expires <= ? AND owner IS NULL AND line NOT IN {_LIST}"
        self.stored -= self._changes(f"DELETE FROM entry WHERE {where}", now, _json(but))
        self.next_expiry = self._one(
            "SELECT coalesce(min(expires), 0) FROM entry WHERE expires > 0 AND owner IS NULL AND expires > ?", now
        )

    def drop_unkept(self) -> None:
        """Delete NON_PERSISTENT messages; called when no other process has the file open."""
        self.stored -= self._changes("DELETE FROM entry WHERE kept = 0")

    # -- queues ---------------------------------------------------------------------------------------------------

    def drop_queue(self, queue: int, nodes: Iterable[int]) -> None:
        """Delete all messages of a queue, including those that these nodes hold."""
        self.flush()
        where = "DELETE FROM entry WHERE line = ? AND "
        self.stored -= self._changes(f"{where} owner IS NULL AND due = 0", queue)
        self.stored -= self._changes(f"{where} due > 0", queue)
        for node in nodes:
            self.stored -= self._changes(f"{where} owner = {int(node)}", queue)

    def depth(self, queue: int, nodes: Iterable[int]) -> tuple[int, int | None]:
        """The number of messages, including delayed and held ones, and the JMSTimestamp of the first."""
        self.flush()
        ready, stamp = "line = ? AND owner IS NULL AND due = 0", None
        count = self._one(f"SELECT count(*) FROM entry WHERE {ready}", queue)
        first = f"SELECT id, stamp FROM entry WHERE {ready} ORDER BY rank LIMIT 1"
        count += self._one("SELECT count(*) FROM entry WHERE due > 0 AND line = ?", queue)
        oldest = self.sql.execute(first, (queue,)).fetchall()
        for node in nodes:
            held = "FROM entry WHERE owner = ? AND line = ?"
            count += self.sql.execute(f"SELECT count(*) {held}", (node, queue)).fetchone()[0]
            oldest += self.sql.execute(f"SELECT id, stamp {held} ORDER BY id LIMIT 1", (node, queue)).fetchall()
        if oldest:
            stamp = min(oldest)[1]
        return count, stamp

    def is_held(self, queue: int, nodes: Iterable[int]) -> bool:
        """Whether one of these nodes holds a message of the queue."""
        self.flush()
        query = "SELECT 1 FROM entry WHERE owner = ? AND line = ? LIMIT 1"
        return any(self.sql.execute(query, (node, queue)).fetchone() for node in nodes)

    def _changes(self, statement: str, *values: Any) -> int:
        return self.sql.execute(statement, values).rowcount

    def _one(self, query: str, *values: Any) -> int:
        return int(self.sql.execute(query, values).fetchone()[0])


def _json(ids: list[int]) -> str:
    return msgspec.json.encode(ids).decode()
