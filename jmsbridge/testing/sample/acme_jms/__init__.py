"""The smallest honest backend: queues and topics in memory, and little else.

What it cannot do is missing from ``NATIVE``; the facade emulates or refuses it.
"""

import threading
from typing import Any

import msgspec

from jmsbridge.spi import BackendError, Endpoint, LinkEvents, Native

from .broker import Broker
from .link import Link

__all__ = ["NATIVE", "AcmeBackend", "AcmeOptions", "backend"]

NATIVE = (
    Native.SEND_CONFIRM
    | Native.SETTLE_CONFIRM
    | Native.TYPED_PROPERTIES
    | Native.BODY_KINDS
    | Native.DRAIN
    | Native.CREDIT
    | Native.RELEASE
)


class AcmeOptions(msgspec.Struct, frozen=True):
    """What may stand in the query of a ``sample:`` URL."""

    broker: str = "default"
    """Which broker of this process."""


class AcmeBackend:
    """Found through the entry point ``sample``."""

    name = "sample"
    native = NATIVE
    options: type[msgspec.Struct] = AcmeOptions

    def __init__(self) -> None:
        self._brokers: dict[str, Broker] = {}
        self._lock = threading.Lock()  # guards _brokers

    def open(self, endpoint: Endpoint, options: Any, events: LinkEvents) -> Link:
        """A link to the broker that the options name."""
        if not isinstance(options, AcmeOptions):
            raise BackendError(f"{endpoint}: these are not the options of this backend: {options!r}")
        return Link(self.broker(options.broker), NATIVE, events)

    def broker(self, name: str) -> Broker:
        """The broker of this name, made on first use."""
        with self._lock:
            return self._brokers.setdefault(name, Broker())


backend = AcmeBackend()
