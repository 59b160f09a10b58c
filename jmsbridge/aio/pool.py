"""A few threads for the calls that wait for the broker a moment: opening, committing, closing.

No call that may wait for long, such as a receive, occupies one of them.
"""

import asyncio
import contextvars
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

from jmsbridge.aio.loops import Port
from jmsbridge.core.runtime.threads import start_thread
from jmsbridge.transport.network.forking import at_fork

__all__ = ["MOST_THREADS", "Call", "Tasks", "run", "wait_to_the_end"]

log = logging.getLogger("jmsbridge.aio")

T = TypeVar("T")

MOST_THREADS = 32


class _Pool:
    """The threads. Python does not wait for them when it ends, as it would for those of a ThreadPoolExecutor: a program
    that Ctrl-C ends while it connects to a silent port ends at once.
    """

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._free: deque[None] = deque()  # one element for each idle thread; more only if there are all threads
        self._threads = 0

    def submit(self, work: Callable[[], None]) -> None:
        """Have it done by the next free thread; RuntimeError if not even one can be started."""
        self._jobs.put(work)
        try:
            self._free.pop()
        except IndexError:
            if self._threads < MOST_THREADS:
                self._start()

    def _start(self) -> None:
        self._threads += 1
        try:
            start_thread(f"jmsbridge-aio-{self._threads}", self._serve)
        except RuntimeError:
            self._threads -= 1
            if not self._threads:
                raise

    def _serve(self) -> None:
        while True:
            self._jobs.get()()
            self._free.append(None)


_pool = _Pool()


def _forget_pool() -> None:
    global _pool
    _pool = _Pool()


at_fork(after_in_child=_forget_pool)


class Call(Generic[T]):
    """One call in the pool, in the context of the task that makes it.

    If the task no longer waits, ``late`` gets the result, in the loop, or ``undo``, in the pool; ``unheard`` the error.
    """

    def __init__(
        self,
        port: Port,
        work: Callable[[], T],
        undo: Callable[[T], object] | None = None,
        unheard: Callable[[BaseException], None] | None = None,
        late: Callable[[T], object] | None = None,
    ) -> None:
        self.future: asyncio.Future[T] = port.loop.create_future()
        self._port = port
        self._work = work
        self._undo = undo
        self._unheard = unheard
        self._late = late
        self._context = contextvars.copy_context()
        self._result: T | None = None
        self._error: BaseException | None = None

    def start(self) -> None:
        """Begin."""
        _pool.submit(self._run)

    def _run(self) -> None:
        try:
            self._result = self._context.run(self._work)
        except BaseException as error:
            self._error = error
        if not self._port.post(self.end):
            self._drop()

    def end(self) -> None:
        """Tell the task; called in the loop."""
        if self.future.done():
            self._drop()
        elif self._error is None:
            self.future.set_result(self._result)  # type: ignore[arg-type]
        else:
            self.future.set_exception(self._error)

    async def wait_ended(self, *, to_the_end: bool = False) -> T:
        """Await it. With ``to_the_end`` a cancellation waits for the end of the call; a second one does not."""
        try:
            result: T = await (wait_to_the_end(self.future) if to_the_end else self.future)
        except asyncio.CancelledError:
            if self.future.done() and not self.future.cancelled():  # it ended in the same moment
                self.future.exception()  # it is heard of below
                self._drop()
            raise
        return result

    def _drop(self) -> None:
        # the task was cancelled, or its loop is closed
        if self._error is not None:
            (self._log if self._unheard is None else self._unheard)(self._error)
        elif self._late is not None:
            self._late(self._result)  # type: ignore[arg-type]
        elif self._undo is not None:
            _pool.submit(self._take_back)

    def _take_back(self) -> None:
        assert self._undo is not None
        try:
            self._undo(self._result)  # type: ignore[arg-type]
        except Exception:
            log.warning("what a cancelled call had made could not be closed", exc_info=True)

    def _log(self, error: BaseException) -> None:
        log.warning("a call that was cancelled failed afterwards: %s", error)


class Tasks:
    """Those of one connection that nobody may be waiting for: they are kept alive until they end."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[Any]] = set()

    def start(self, port: Port, work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        """Start a task in the loop."""
        task = port.loop.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task


async def run(
    port: Port, work: Callable[[], T], undo: Callable[[T], object] | None = None, *, to_the_end: bool = False
) -> T:
    """Make a call in the pool. A cancelled one goes on, and ``undo`` gets its result.

    With ``to_the_end`` a cancellation waits for the end of the call; a second one does not.
    """
    call = Call(port, work, undo)
    call.start()
    return await call.wait_ended(to_the_end=to_the_end)


async def wait_to_the_end(future: Awaitable[Any]) -> Any:
    """Await it; a cancellation is raised after its end, a second one at once."""
    whole = asyncio.ensure_future(future)
    try:
        return await asyncio.shield(whole)
    except asyncio.CancelledError:
        if not whole.done():
            await asyncio.wait({whole})
        raise
