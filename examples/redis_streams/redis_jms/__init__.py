"""Queues and topics in Redis Streams: a backend for a broker that has no connections in the sense of messaging.

One server (no cluster), Redis 6.2 or newer, or Valkey. ``docs/backend-authors.md`` says what each part is for.
"""

from typing import Any

import msgspec

from jmsbridge.spi import Endpoint, LinkEvents, Native

from .link import NATIVE, Link

__all__ = ["RedisBackend", "RedisOptions", "backend"]


class RedisOptions(msgspec.Struct, frozen=True):
    """Options of a ``redis:`` URL."""

    prefix: str = "jms"
    """The prefix of all keys."""
    dead_letter_queue: str = "DLQ"
    """The queue for rejected messages."""
    lease: float = 15.0
    """Seconds after which the messages of a silently lost link are requeued."""
    duplicate_window: float = 600.0
    """Seconds for which the broker remembers a duplicate id."""

    def __post_init__(self) -> None:
        if self.lease <= 0 or self.duplicate_window <= 0:
            raise ValueError("lease and duplicate_window are more than 0 seconds")


class RedisBackend:
    """Found through the entry point ``redis``."""

    spi_version = 1
    name = "redis"
    native = NATIVE | Native.SETTLE_CONFIRM
    options: type[msgspec.Struct] = RedisOptions
    port, tls = 6379, False

    def open(self, endpoint: Endpoint, options: Any, events: LinkEvents) -> Link:
        """Connect, log in, and take the lease and the client id."""
        return Link(endpoint, options, events)


backend = RedisBackend()
