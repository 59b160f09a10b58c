"""The way into an event loop from other threads: one wake-up of the loop for everything that comes meanwhile."""

import asyncio
import contextlib
import logging
import os
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

from jmsbridge.core.connection import ConnectionCore
from jmsbridge.core.runtime.closing import State
from jmsbridge.core.runtime.executor import SerialExecutor
from jmsbridge.core.runtime.interrupts import Work, start_whole
from jmsbridge.core.runtime.waiting import LONGEST_WAIT, WaitSet
from jmsbridge.errors import IllegalStateException

__all__ = ["LoopExecutor", "Port", "in_task", "wait_changed"]

log = logging.getLogger("jmsbridge.aio")

_running_loop = asyncio._get_running_loop
"""The loop that runs in the calling thread, or None."""


def in_task(task: "asyncio.Task[Any] | None") -> bool:
    """Whether the caller runs in it; False where a task that is garbage, since its loop is closed, is ended."""
    return task is not None and asyncio.current_task(task.get_loop()) is task


class Port:
    """The entrance of one event loop. ``post`` is for any thread, the rest for the loop's."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.is_closed = loop.is_closed
        """Whether the loop is closed."""
        self.wakes = 0
        """How often a thread has called into the loop."""
        self._pid = os.getpid()
        self._items: deque[Callable[[], object]] = deque()
        self._pass = 0  # the number of the next pass over the items
        self._woken = -1  # the last pass that was asked for; set after asking, so that an interrupt loses nothing
        self._connections: weakref.WeakSet[ConnectionCore] = weakref.WeakSet()
        self._mourned = False

    @staticmethod
    def here() -> "Port":
        """The port of the running loop."""
        loop = asyncio.get_running_loop()
        known = _ports.get(loop)
        port = None if known is None else known()
        if port is None:
            port = Port(loop)
            _ports[loop] = weakref.ref(port)  # it refers to its loop, and would keep it
        return port

    def check(self) -> None:
        """IllegalState in another event loop than the one that this belongs to, and in a forked process."""
        if _running_loop() is not self.loop:
            if os.getpid() != self._pid:
                raise IllegalStateException(
                    "this connection was opened in another process; open a new one after a fork"
                )
            raise IllegalStateException(
                "this object belongs to another event loop: use it in the loop in which its connection was opened, and "
                "open a connection for each loop"
            )

    def post(self, call: Callable[[], object]) -> bool:
        """Have the loop call this soon; False if it is closed."""
        self._items.append(call)
        coming = self._pass
        if self._woken == coming and not self.loop.is_closed():
            return True
        try:
            if _running_loop() is self.loop:
                self.loop.call_soon(self._run)
            else:
                self.wakes += 1
                self.loop.call_soon_threadsafe(self._run)
        except RuntimeError:  # it is closed
            self._items.clear()
            self._mourn()
            return False
        self._woken = coming
        return True

    def _run(self) -> None:
        self._pass += 1  # before looking: what comes later asks for another pass
        items = self._items
        try:
            for _ in range(len(items)):
                items.popleft()()
        finally:
            if items and self._woken < self._pass:  # one of them raised
                self.loop.call_soon(self._run)

    def catch_up(self) -> None:
        """Called in the loop now and then: do what is due if an interrupt has swallowed the pass that was coming."""
        if self._items:
            self._run()

    # ---- the end of the loop

    def watch(self, connection: ConnectionCore) -> None:
        """Close this connection if the loop turns out to be closed."""
        self._connections.add(connection)

    def _mourn(self) -> None:
        if self._mourned:
            return
        self._mourned = True
        left = [connection for connection in self._connections if connection.life.state is State.OPEN]
        if left:
            log.error(
                "an event loop was closed while %d of its connections were open: they are closed now; no task learns "
                "the outcome of the sends in flight, and those that fail are logged",
                len(left),
            )
        for connection in left:
            for session in connection.sessions:
                session.incoming.listening.leave()  # a listener that was waiting never returns
            start_whole(Work(connection.close))


_ports: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, weakref.ref[Port]]" = weakref.WeakKeyDictionary()


class LoopExecutor:
    """Calls ``work`` in an event loop whenever it was woken: once for any number of wakes.

    When the loop is closed, a thread stands in for it, so that those who wait for the work are not stuck.
    """

    def __init__(self, port: Port, name: str, work: Callable[[], None]) -> None:
        self._port = port
        self._work = work
        self._pass = 0
        self._woken = -1
        self._closed = False
        self._stand_in = SerialExecutor(name, work)

    def wake(self) -> None:
        """There may be work."""
        coming = self._pass
        if self._closed or (self._woken == coming and not self._port.loop.is_closed()):
            return
        if self._port.post(self._run):
            self._woken = coming
        else:
            self._stand_in.wake()

    def catch_up(self) -> None:
        """As ``Port.catch_up``."""
        self._run()

    def _run(self) -> None:
        self._pass += 1
        if not self._closed:
            self._work()

    def is_current(self) -> bool:
        """Whether the caller runs in the loop, where nothing may wait."""
        return _running_loop() is self._port.loop or self._stand_in.is_current()

    def close(self) -> None:
        """Call ``work`` no more."""
        self._closed = True
        self._stand_in.close()


class _Gate:
    """What a task waits at; any thread may release it."""

    __slots__ = ("_future", "_port", "_released")

    def __init__(self, port: Port) -> None:
        self._port = port
        self._released = False
        self._future: asyncio.Future[None] | None = None

    def release(self) -> None:
        if not self._released:
            self._released = True
            self._port.post(self._wake)

    def _wake(self) -> None:
        if self._future is not None and not self._future.done():
            self._future.set_result(None)

    def _look_again(self) -> None:
        self._port.catch_up()
        self._wake()

    def arm(self) -> None:
        """From now on a release counts; check the state after this."""
        self._released = False
        self._future = self._port.loop.create_future()

    async def wait_released(self, timeout: float) -> None:
        assert self._future is not None
        timer = self._port.loop.call_later(timeout, self._look_again)
        try:
            await self._future
        finally:
            timer.cancel()


async def wait_changed(
    port: Port, changes: WaitSet, is_so: Callable[[], bool], pause: Callable[[], float | None] | None = None
) -> None:
    """Wait until ``is_so()``, looked at after each notification, and after ``pause()`` seconds unless that is None."""
    gate = _Gate(port)
    changes.gates.append(gate)
    try:
        while True:
            gate.arm()
            if is_so():
                return
            left = None if pause is None else pause()
            await gate.wait_released(LONGEST_WAIT if left is None else min(LONGEST_WAIT, left))
    finally:
        with contextlib.suppress(ValueError):
            changes.gates.remove(gate)
