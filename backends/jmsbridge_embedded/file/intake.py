"""What waits for a store's thread: put in by any thread, taken out by that one."""

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final

from jmsbridge.spi import BackendError
from jmsbridge_embedded.file.batch import Operation

__all__ = ["Intake"]

_LINGER: Final = 0.002  # seconds in which operations without a waiting caller are collected
_PATIENCE: Final = 30.0  # seconds that a sender waits for room
_LOOK_AGAIN: Final = 0.5  # seconds after which it looks by itself
_MOST: Final = 2000  # operations and
_MOST_BYTES: Final = 16 << 20  # bytes of one transaction
_FULL: Final = 20_000  # operations that may wait before senders have to


class Intake:
    """Operations in their order. Closed, it fails whatever is put in, with what ``refusal`` gives."""

    def __init__(self, refusal: Callable[[], BackendError]) -> None:
        self.closed = False
        self._refusal = refusal
        self._waiting: deque[Operation] = deque()
        self._lock = threading.Lock()  # taken by itself: entering a Condition can be interrupted when it has the lock
        self._changed = threading.Condition(self._lock)  # guards _idle; notified when there is something to do
        self._idle = 0  # 1: wake for any operation, 2: only for one with a waiting caller
        self._crowd: list[threading.Lock] = []  # one for each thread that waits for room

    def put(self, operation: Operation, *, patient: bool) -> None:
        """Have it done; what is ``lazy`` some milliseconds later. A ``patient`` caller waits while there is no room."""
        if patient and len(self._waiting) > _FULL:
            self._wait_for_room(_PATIENCE)
        self._waiting.append(operation)
        if self.closed:
            self._refuse()
        elif self._idle and not (operation.lazy and self._idle == 2):
            with self._lock:
                if self._idle == 1 or not operation.lazy:
                    self._changed.notify_all()
                    self._idle = 0  # last: a wake-up that a signal handler interrupts has not happened

    def take(self, first: list[Operation]) -> list[Operation]:
        """These, and of those that wait as many as fit in a transaction."""
        size, waiting = 0, self._waiting
        while waiting and len(first) < _MOST and size < _MOST_BYTES:
            operation = waiting.popleft()
            size += operation.size
            first.append(operation)
        self._let_in()
        return first

    def wait(self, timeout: float) -> None:
        """Wait until there is something to do; operations without a waiting caller may collect a little."""
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
        """Nothing is done any more."""
        self.closed = True
        self._let_in()
        self._refuse()

    def abandon(self) -> None:
        """In a forked child: the lock may be held by a thread that is not here."""
        self.closed = True
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)

    def _wait_for_room(self, timeout: float) -> None:
        """In the main thread a signal handler may interrupt it, and leaves nothing behind but a gate to be opened."""
        deadline = time.monotonic() + timeout
        while len(self._waiting) > _FULL and not self.closed:
            left = deadline - time.monotonic()
            if left <= 0:
                return
            gate = threading.Lock()
            gate.acquire()
            self._crowd.append(gate)
            gate.acquire(timeout=min(left, _LOOK_AGAIN))

    def _let_in(self) -> None:
        crowd, self._crowd = self._crowd, []
        for gate in crowd:
            gate.release()

    def _refuse(self) -> None:
        error = self._refusal()
        while True:
            try:
                operation = self._waiting.popleft()
            except IndexError:
                return
            operation.fail(error)
