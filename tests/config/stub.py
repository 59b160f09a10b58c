"""A backend that is looked up but never opened, for the tests of configuration."""

from typing import Any

import msgspec

from jmsbridge.spi import Endpoint, Link, LinkEvents, Native

__all__ = ["StubBackend", "StubOptions"]


class StubOptions(msgspec.Struct, frozen=True, kw_only=True):
    broker: str = "main"
    heartbeat: float = 30.0
    frames: int | None = None
    key_password: str | None = None
    connect_timeout: float = 1.0


class StubBackend:
    spi_version = 1
    name = "stub"
    native = Native.NONE
    options: type[msgspec.Struct] = StubOptions

    def open(self, endpoint: Endpoint, options: Any, events: LinkEvents) -> Link:
        raise AssertionError("configuration never opens a link")
