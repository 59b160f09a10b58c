"""A consumer or a reader of the client library, under one interface."""

import contextlib
from collections.abc import Callable
from typing import Any, Protocol

import _pulsar

from jmsbridge_pulsar.connection.library import Answered, Library

__all__ = ["ConsumerTaker", "ReaderTaker", "Taker"]


class Taker(Protocol):
    """Takes messages; its methods are for any thread."""

    def take(self, seconds: float) -> Any:
        """The next message, or None if none comes in time. PulsarException if the taker has ended."""

    def accept(self, message: Any) -> None:
        """It is consumed."""

    def give_back(self, message: Any) -> None:
        """Deliver it again, a little later."""

    def close(self, library: Library, done: Answered) -> None:
        """End it."""


class ConsumerTaker:
    """A consumer on a subscription."""

    def __init__(self, consumer: Any, forget: Callable[[], object]) -> None:
        self._consumer = consumer
        self._forget = forget

    def take(self, seconds: float) -> Any:
        """See ``Taker``."""
        try:
            return self._consumer.receive(int(seconds * 1000))
        except _pulsar.Timeout:
            return None

    def accept(self, message: Any) -> None:
        """See ``Taker``; it reaches the broker within 100 ms."""
        with contextlib.suppress(_pulsar.PulsarException):
            # without a callback, which the library would call, and so wait for the GIL, while it holds a lock
            self._consumer.acknowledge_async(message, None)

    def give_back(self, message: Any) -> None:
        """See ``Taker``; it is counted as redelivered."""
        with contextlib.suppress(_pulsar.PulsarException):
            self._consumer.negative_acknowledge(message)

    def close(self, library: Library, done: Answered) -> None:
        """See ``Taker``."""
        self._forget()
        library.ask(self._consumer.close_async, done=done)


class ReaderTaker:
    """A reader, which sees all messages from a position on; nothing is settled."""

    def __init__(self, reader: Any, forget: Callable[[], object]) -> None:
        self._reader = reader
        self._forget = forget

    def take(self, seconds: float) -> Any:
        """See ``Taker``."""
        try:
            return self._reader.read_next(int(seconds * 1000))
        except _pulsar.Timeout:
            return None

    def accept(self, message: Any) -> None:
        """Nothing to do."""

    def give_back(self, message: Any) -> None:
        """Nothing to do."""

    def close(self, library: Library, done: Answered) -> None:
        """See ``Taker``."""
        self._forget()
        library.ask(self._reader.close_async, done=done)
