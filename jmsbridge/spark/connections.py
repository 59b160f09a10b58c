"""Connections that a process of Spark keeps from one task to the next."""

import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

__all__ = ["Connections"]

_MOST = 4

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Connections(Generic[K, V]):
    """One connection for each set of options, at most four; beyond them the oldest is closed. Thread-safe."""

    def __init__(self, connect: Callable[[K], V], close: Callable[[V], None]) -> None:
        self._connect = connect
        self._close = close
        self._lock = threading.Lock()  # guards the dictionary; Spark runs one task at a time in a process
        self._open: dict[K, V] = {}

    def get(self, options: K) -> V:
        """The connection for these options."""
        with self._lock:
            connection = self._open.get(options)
        if connection is not None:
            return connection
        connection = self._connect(options)
        with self._lock:
            self._open[options] = connection
            oldest = next(iter(self._open)) if len(self._open) > _MOST else None
            closing = None if oldest is None else self._open.pop(oldest)
        if closing is not None:
            self._close(closing)
        return connection

    def forget(self, options: K) -> None:
        """Close the connection for these options: after an error the next task opens another one."""
        with self._lock:
            connection = self._open.pop(options, None)
        if connection is not None:
            self._close(connection)
