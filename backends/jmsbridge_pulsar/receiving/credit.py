"""The credit of one consumer: how many messages the broker may send, asked for as the facade grants them."""

import threading
import time
from collections.abc import Callable

from jmsbridge.spi import BackendError
from jmsbridge.transport.network.link_life import LinkLife
from jmsbridge_pulsar.connection.attachments import Begins

__all__ = ["Credit"]


class Credit:
    """A ``Controlled``. Its methods are for any thread, except ``ready``; ``refused`` gets what ends the consumer."""

    def __init__(
        self,
        life: LinkLife,
        own: dict[str, str],
        properties: dict[str, str],
        refused: Callable[[BackendError], None],
        *,
        durable: bool,
        takes: bool = True,
        begins: Begins | None = None,
    ) -> None:
        self.durable = durable
        self.takes = takes
        self.own = own
        self.properties = properties
        self.refused = refused
        self.begins = begins
        self._life = life
        self._lock = threading.Lock()  # guards what follows; nothing is called while it is held
        self._wanted = 0  # what the facade still wants
        self._asked = 0  # what the broker was asked for
        self._taken = 0  # of those, what was taken from the library
        self._used = 0  # what the library counts as passed on or dropped: it says so for several at once
        self._gone = 0  # what was taken or dropped, as of the last time that the pump said what it has taken
        self._grant: Callable[[int], None] | None = None
        self.asked_at = 0.0
        """The ``time.monotonic()`` of the last request for messages."""

    def ready(self, grant: Callable[[int], None]) -> None:
        """The consumer can get messages; the broker knows of no credit. I/O thread."""
        self._begin(grant)
        self._ask()

    def used(self, count: int) -> None:
        """See ``Controlled``: those that it dropped are part of a chunk or an entry, or had come before. I/O thread.

        Those that it passed on must not be asked for again. Which these are is known when the pump has counted them.
        """
        with self._lock:
            self._used += count

    def allow(self, count: int) -> None:
        """The facade wants that many more."""
        with self._lock:
            self._wanted += count
        self._ask()

    def moved(self, taken: int, shown: int, waiting: int = 0) -> None:
        """So many messages were taken, and so many shown; for those that were dropped the facade wants others.

        More than were taken are ``waiting``, which came with these and are taken next. Called after each attempt to
        take messages, and not during one: the library has passed on no others then.
        """
        with self._lock:
            self._taken += taken
            self._wanted -= shown
            self._gone = max(self._taken, self._used - waiting)
            is_dropped = taken > shown or self._gone > self._taken
        if is_dropped:
            self._ask()

    def forget(self) -> int:
        """The facade wants nothing more; returns how many messages may still come."""
        with self._lock:
            self._wanted = 0
            return max(0, self._open())

    def close(self) -> None:
        """The consumer is closed; another one may follow."""
        self._begin(None)

    def _begin(self, grant: Callable[[int], None] | None) -> None:
        with self._lock:
            self._grant = grant
            self._asked = self._taken = self._used = self._gone = 0

    def _open(self) -> int:
        """What the broker may still send, or has sent and nobody has taken."""
        return self._asked - self._gone

    def _ask(self) -> None:
        with self._lock:
            grant, count = self._grant, self._wanted - self._open()
            if grant is None or count <= 0:
                return
            self._asked += count
            self.asked_at = time.monotonic()
        self._life.thread.post(lambda: grant(count))
