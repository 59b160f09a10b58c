"""Tracks copies of received messages until they are confirmed, for example copies to a dead-letter queue.

The original is accepted only after its copy was confirmed: a crash in between leaves two messages, never none.
"""

from collections.abc import Callable, Hashable

from jmsbridge.spi import BackendError, Ticket
from jmsbridge.transport.network.io_thread import IoThread
from jmsbridge.transport.tickets import CallbackTicket

__all__ = ["CopiesUnderWay"]


class CopiesUnderWay:
    """The unconfirmed copies of one subscription's messages. For the I/O thread only."""

    def __init__(self, thread: IoThread) -> None:
        self._thread = thread
        self._copying: set[Hashable] = set()
        self._when_idle: list[Callable[[], None]] = []

    def __contains__(self, key: Hashable) -> bool:
        """Whether the message of this key is being copied."""
        return key in self._copying

    def begin(self, key: Hashable, done: Callable[[BackendError | None], None]) -> Ticket:
        """Return the ticket with which to send the copy of one message; ``done`` gets its answer."""
        self._copying.add(key)

        def copied(error: BackendError | None) -> None:
            self._copying.discard(key)
            done(error)
            if not self._copying:
                self.wait_no_longer()

        return CallbackTicket(copied)

    def when_idle(self, task: Callable[[], None], patience: float) -> None:
        """Run ``task`` when no copy is unconfirmed, at the latest after ``patience`` seconds."""
        if self._copying:
            self._when_idle.append(task)
            self._thread.call_later(patience, self.wait_no_longer)
        else:
            task()

    def wait_no_longer(self) -> None:
        """Run the tasks that wait for copies now."""
        tasks, self._when_idle = self._when_idle, []
        for task in tasks:
            task()
