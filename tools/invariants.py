"""Checks of the library's internals in tests; ``tools.switching`` switches them on.

A thread takes ranked locks in order of rising rank and holds none while it calls user code, and a delivery goes from
one state to another only as the table says.
"""

import threading
from collections.abc import Callable
from typing import Any, cast

import pytest

from jmsbridge.core.receiving.delivery import Delivery, DeliveryState
from jmsbridge.core.receiving.receiver import Receiver
from jmsbridge.core.runtime import locks
from jmsbridge.core.runtime.locks import Rank
from jmsbridge.core.sending.tickets import AsyncSend

__all__ = ["OrderedLock", "check_invariants"]

_held = threading.local()

_NEXT = {
    None: {DeliveryState.TAKEN},
    DeliveryState.TAKEN: {DeliveryState.HANDED, DeliveryState.WAITING, DeliveryState.SETTLED},
    DeliveryState.HANDED: {DeliveryState.HANDED, DeliveryState.WAITING, DeliveryState.SETTLED},
    DeliveryState.WAITING: {DeliveryState.WAITING, DeliveryState.TAKEN, DeliveryState.SETTLED},
    DeliveryState.SETTLED: {DeliveryState.SETTLED},
}


def _stack() -> list[Rank]:
    stack: list[Rank] | None = getattr(_held, "ranks", None)
    if stack is None:
        stack = _held.ranks = []
    return stack


class OrderedLock:
    """A lock that fails when it is taken out of order. An interrupt may leave it held."""

    def __init__(self, rank: Rank) -> None:
        self._lock = threading.Lock()
        self._rank = rank
        self._owner: int | None = None

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Take the lock; AssertionError if the thread holds one of the same or a higher rank."""
        stack = _stack()
        assert not stack or stack[-1] < self._rank, f"lock order: {self._rank!r} wanted while {stack!r} held"
        if not self._lock.acquire(blocking, timeout):
            return False
        self._owner = threading.get_ident()
        stack.append(self._rank)
        return True

    def release(self) -> None:
        """Release the lock."""
        self._owner = None
        _stack().remove(self._rank)
        self._lock.release()

    def _is_owned(self) -> bool:  # asked by threading.Condition
        return self._owner == threading.get_ident()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *error: object) -> None:
        self.release()


def check_invariants(patch: pytest.MonkeyPatch) -> None:
    """Check all of them from now on, until ``patch`` is undone."""

    def checked_state(delivery: Delivery, name: str, value: Any) -> None:
        if name == "state":
            before = getattr(delivery, "state", None)
            assert value in _NEXT[before], f"a delivery went from {before} to {value}"
        object.__setattr__(delivery, name, value)

    def listen(receiver: Receiver, listener: Callable[[Any], None] | None, on_message: Callable[[], None]) -> None:
        _listen(receiver, None if listener is None else _unlocked(listener), on_message)

    _listen = Receiver.listen
    patch.setattr(locks, "new_lock", lambda rank: cast(threading.Lock, OrderedLock(rank)))
    patch.setattr(Delivery, "__setattr__", checked_state)
    patch.setattr(Receiver, "listen", listen)
    patch.setattr(AsyncSend, "complete", _unlocked(AsyncSend.complete))


def _unlocked(call: Callable[[Any], None]) -> Callable[[Any], None]:
    """The same, which fails if the thread holds a ranked lock."""

    def checked(argument: Any) -> None:
        assert not _stack(), f"user code is called while {_stack()!r} held"
        call(argument)

    return checked
