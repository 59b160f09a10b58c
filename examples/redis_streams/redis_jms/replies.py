"""Redis' replies, errors, and unsolicited messages."""

from collections.abc import Callable, Iterator
from typing import Any

import hiredis

from jmsbridge.spi import (
    AccessDenied,
    AddressInUse,
    AddressRefused,
    BackendError,
    ClientIdRefused,
    LinkLost,
    SendRefused,
    SubscriptionRefused,
    SubscriptionUnknown,
)

__all__ = ["Replies", "refusal"]

_ERRORS: dict[str, type[BackendError]] = {
    "ADDRESS": AddressRefused,  # errors of broker.lua
    "CLIENT": ClientIdRefused,
    "INUSE": AddressInUse,
    "LEASE": LinkLost,
    "REFUSED": SubscriptionRefused,
    "UNKNOWN": SubscriptionUnknown,
    "NOPERM": AccessDenied,  # errors of the server
    "OOM": SendRefused,
}
_NOTHING = object()


def refusal(error: Exception) -> BackendError:
    """The exception for an error, by its first word."""
    kind, _, text = str(error).partition(" ")
    found = _ERRORS.get(kind)
    made = BackendError(f"Redis: {error}") if found is None else found(f"Redis: {text}")
    made.__cause__ = error
    return made


class Replies:
    """The stream of replies; ``pushed`` gets unsolicited ones."""

    def __init__(self, pushed: Callable[[Any], None]) -> None:
        self._pushed = pushed
        self._reader = hiredis.Reader(notEnoughData=_NOTHING)

    def read(self, data: bytes) -> Iterator[Any]:
        """Read data; return the complete answers."""
        self._reader.feed(data)
        while (reply := self._reader.gets()) is not _NOTHING:
            if isinstance(reply, hiredis.PushNotification):
                self._pushed(reply)
            else:
                yield refusal(reply) if isinstance(reply, hiredis.ReplyError) else reply
