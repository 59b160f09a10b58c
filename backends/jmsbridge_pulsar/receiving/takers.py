"""A consumer or a reader of the client library, under one interface."""

import contextlib
from collections import deque
from collections.abc import Callable
from typing import Any, Final, Protocol

import _pulsar

from jmsbridge_pulsar.connection.library import Answered, Library
from jmsbridge_pulsar.receiving.acknowledging import Acknowledging
from jmsbridge_pulsar.receiving.memory import Key

__all__ = ["BATCH", "ConsumerTaker", "ReaderTaker", "Taker"]

BATCH: Final = 32
"""The most messages that a consumer takes at once."""
_MANY: Final = 16  # messages without a pause after which they are taken in batches


class Taker(Protocol):
    """Takes messages; its methods are for any thread."""

    waiting: int
    """How many messages it has got from the library already, and will return next."""

    def take(self, seconds: float) -> Any:
        """The next message, or None if none comes in time. PulsarException if the taker has ended."""

    def accept(self, key: Key, message: Any) -> None:
        """It is consumed."""

    def requeue(self, key: Key, message: Any) -> None:
        """Deliver it again, a little later."""

    def close(self, library: Library, done: Answered) -> None:
        """End it."""


class ConsumerTaker:
    """A consumer on a subscription.

    Each call of the library gives the GIL to other threads and waits for it again. So where many messages come, they
    are taken by one call for up to ``BATCH``, which waits a millisecond where fewer have come.
    """

    def __init__(
        self, consumer: Any, acknowledging: Acknowledging, forget: Callable[[], object], *, batches: bool
    ) -> None:
        self._consumer = consumer
        self._acknowledging = acknowledging
        self._forget = forget
        self._batches = batches
        self._in_a_row = 0
        self._taken: deque[Any] = deque()

    @property
    def waiting(self) -> int:
        """See ``Taker``."""
        return len(self._taken)

    def take(self, seconds: float) -> Any:
        """See ``Taker``."""
        taken = self._taken
        if taken:
            return taken.popleft()
        if self._in_a_row >= _MANY:
            taken.extend(self._consumer.batch_receive())
            if taken:
                return taken.popleft()
            self._in_a_row = 0
        try:
            message = self._consumer.receive(int(seconds * 1000))
        except _pulsar.Timeout:
            self._in_a_row = 0
            return None
        if self._batches:
            self._in_a_row += 1
        return message

    def accept(self, key: Key, message: Any) -> None:
        """See ``Taker``."""
        self._acknowledging.add(key, message)

    def requeue(self, key: Key, message: Any) -> None:
        """See ``Taker``; it is counted as redelivered."""
        self._acknowledging.part(key)
        with contextlib.suppress(_pulsar.PulsarException):
            self._consumer.negative_acknowledge(message)

    def close(self, library: Library, done: Answered) -> None:
        """See ``Taker``."""
        self._acknowledging.flush()
        self._forget()
        library.ask(self._consumer.close_async, done=done)


class ReaderTaker:
    """A reader, which sees all messages from a position on; nothing is settled."""

    waiting = 0

    def __init__(self, reader: Any, forget: Callable[[], object]) -> None:
        self._reader = reader
        self._forget = forget

    def take(self, seconds: float) -> Any:
        """See ``Taker``."""
        try:
            return self._reader.read_next(int(seconds * 1000))
        except _pulsar.Timeout:
            return None

    def accept(self, key: Key, message: Any) -> None:
        """Nothing to do."""

    def requeue(self, key: Key, message: Any) -> None:
        """Nothing to do."""

    def close(self, library: Library, done: Answered) -> None:
        """See ``Taker``."""
        self._forget()
        library.ask(self._reader.close_async, done=done)
