"""A minimal backend: queues and topics in memory, and little else.

The facade emulates or refuses the features that are missing from ``NATIVE``.
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
    | Native.RETURN
    | Native.FAIL
    | Native.RELEASE
)


class AcmeOptions(msgspec.Struct, frozen=True):
    """The options in the query of a ``sample:`` URL."""

    broker: str = "default"
    """The name of the broker within this process."""


class AcmeBackend:
    """The backend; its entry point is named ``sample``."""

    spi_version = 1
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
        """The broker of this name, created on first use."""
        with self._lock:
            return self._brokers.setdefault(name, Broker())


backend = AcmeBackend()
