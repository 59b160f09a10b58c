"""The credit of one consumer: how many messages the broker may send, asked for as the facade grants them."""

import threading
import time
from collections.abc import Callable

from jmsbridge.spi import BackendError
from jmsbridge.transport.network.link_life import LinkLife

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
    ) -> None:
        self.durable = durable
        self.takes = takes
        self.own = own
        self.properties = properties
        self.refused = refused
        self._life = life
        self._lock = threading.Lock()  # guards what follows; nothing is called while it is held
        self._wanted = 0  # what the facade still wants
        self._asked = 0  # what the broker may still send, or has sent and nobody has taken
        self._grant: Callable[[int], None] | None = None
        self.asked_at = 0.0
        """The ``time.monotonic()`` of the last request for messages."""

    def ready(self, grant: Callable[[int], None]) -> None:
        """The consumer can get messages; the broker knows of no credit. I/O thread."""
        with self._lock:
            self._grant, self._asked = grant, 0
        self._ask()

    def allow(self, count: int) -> None:
        """The facade wants that many more."""
        with self._lock:
            self._wanted += count
        self._ask()

    def moved(self, taken: int, shown: int) -> None:
        """So many messages were taken, and so many shown; for those that were dropped the facade wants others."""
        with self._lock:
            self._asked -= taken
            self._wanted -= shown
        if taken > shown:
            self._ask()

    def forget(self) -> int:
        """The facade wants nothing more; returns how many messages may still come."""
        with self._lock:
            self._wanted = 0
            return max(0, self._asked)

    def close(self) -> None:
        """The consumer is closed; another one may follow."""
        with self._lock:
            self._grant, self._asked = None, 0

    def _ask(self) -> None:
        with self._lock:
            grant, count = self._grant, self._wanted - self._asked
            if grant is None or count <= 0:
                return
            self._asked += count
            self.asked_at = time.monotonic()
        self._life.thread.post(lambda: grant(count))
