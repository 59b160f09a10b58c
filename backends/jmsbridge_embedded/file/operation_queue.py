"""The queue of operations for a store's thread."""

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final

from jmsbridge.spi import BackendError
from jmsbridge_embedded.file.batch import Operation

__all__ = ["OperationQueue"]

_LINGER: Final = 0.002  # seconds for which operations without a waiting caller are collected
_PATIENCE: Final = 30.0  # seconds that a sender waits for room
_LOOK_AGAIN: Final = 0.5  # seconds after which it checks without being woken
_MOST: Final = 2000  # operations per transaction
_MOST_BYTES: Final = 16 << 20  # bytes per transaction
_FULL: Final = 20_000  # waiting operations above which senders wait


class OperationQueue:
    """Operations in order; any thread puts, the store's thread takes. Once closed, it fails them with ``refusal()``."""

    def __init__(self, refusal: Callable[[], BackendError]) -> None:
        self.closed = False
        self._refusal = refusal
        self._waiting: deque[Operation] = deque()
        self._lock = threading.Lock()  # taken directly: an interrupt while entering a Condition could leave it locked
        self._changed = threading.Condition(self._lock)  # guards _idle; notified when an operation is put
        self._idle = 0  # 1: wake for any operation, 2: only for one with a waiting caller
        self._gates: list[threading.Lock] = []  # one for each thread that waits for room

    def put(self, operation: Operation, *, patient: bool) -> None:
        """Add an operation; a ``lazy`` one may be delayed by milliseconds. ``patient``: wait while it is full."""
        if patient and len(self._waiting) > _FULL:
            self._wait_for_room(_PATIENCE)
        self._waiting.append(operation)
        if self.closed:
            self._refuse()
        elif self._idle and not (operation.lazy and self._idle == 2):
            with self._lock:
                if self._idle == 1 or not operation.lazy:
                    self._changed.notify_all()
                    self._idle = 0  # last: if a signal handler interrupts the wake-up, the next put repeats it

    def take(self, first: list[Operation]) -> list[Operation]:
        """Add waiting operations to ``first``, as many as fit in a transaction."""
        size, waiting = 0, self._waiting
        while waiting and len(first) < _MOST and size < _MOST_BYTES:
            operation = waiting.popleft()
            size += operation.size
            first.append(operation)
        self._open_gates()
        return first

    def wait(self, timeout: float) -> None:
        """Wait for an operation; those without a waiting caller are collected for ``_LINGER`` seconds."""
        waiting = self._waiting
        if waiting and not (waiting[0].lazy and waiting[-1].lazy):
            return
        with self._lock:
            self._idle = 1
            if not waiting:
                self._changed.wait(timeout)
            if waiting and waiting[0].lazy and waiting[-1].lazy:
                self._idle = 2
                self._changed.wait(_LINGER)
            self._idle = 0

    def close(self) -> None:
        """Fail all waiting operations, and later ones."""
        self.closed = True
        self._open_gates()
        self._refuse()

    def abandon(self) -> None:
        """In a forked child: replace the lock, which a thread of the parent may hold."""
        self.closed = True
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)

    def _wait_for_room(self, timeout: float) -> None:
        """Wait; a signal handler may interrupt this, and leaves only an unused gate behind."""
        deadline = time.monotonic() + timeout
        while len(self._waiting) > _FULL and not self.closed:
            left = deadline - time.monotonic()
            if left <= 0:
                return
            gate = threading.Lock()
            gate.acquire()
            self._gates.append(gate)
            gate.acquire(timeout=min(left, _LOOK_AGAIN))

    def _open_gates(self) -> None:
        gates, self._gates = self._gates, []
        for gate in gates:
            gate.release()

    def _refuse(self) -> None:
        error = self._refusal()
        while True:
            try:
                operation = self._waiting.popleft()
            except IndexError:
                return
            operation.fail(error)
