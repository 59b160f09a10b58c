"""The event loop of an application, on a thread of its own, on which its ``async`` listeners run."""

import asyncio
import contextlib
import contextvars
import logging
import sys
import threading
import time
import traceback
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any

from jmsbridge.aio.loops import Port, in_task
from jmsbridge.aio.pool import wait_to_the_end
from jmsbridge.core.runtime.threads import start_thread

__all__ = ["EventLoop"]

log = logging.getLogger("jmsbridge.app")

_LOOK = 5.0  # seconds between looks whether the loop is still there
_LEFT = 1.0  # seconds for what is left in the loop to end, when it is cancelled


class _Outcome:
    """What one call of a listener ended with."""

    __slots__ = ("done", "error", "result")

    def __init__(self) -> None:
        self.done = threading.Lock()
        self.done.acquire()
        self.result: Any = None
        self.error: BaseException | None = RuntimeError("the event loop has ended")

    def value(self) -> Any:
        """Its result; raises what it raised."""
        if self.error is not None:
            raise self.error
        return self.result


class _InContext:
    """Awaits a coroutine in a context of its own, without a task of its own."""

    __slots__ = ("_coroutine",)

    def __init__(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        self._coroutine = coroutine

    def __await__(self) -> Generator[Any, Any, Any]:
        run, send, throw = contextvars.copy_context().run, self._coroutine.send, self._coroutine.throw
        try:
            waits_for = run(send, None)
            while True:
                try:
                    value = yield waits_for
                except BaseException as error:
                    waits_for = run(throw, error)
                else:
                    waits_for = run(send, value)
        except StopIteration as end:
            return end.value


async def _called(function: Callable[..., Any], positional: list[Any], named: dict[str, Any]) -> Any:
    return await function(*positional, **named)


async def _absorb(task: "asyncio.Task[Any]") -> None:
    """The call in this task was cancelled; what comes after it is not."""
    while task.uncancel():
        pass
    with contextlib.suppress(asyncio.CancelledError):  # asked for, and not yet raised
        await asyncio.sleep(0)


class EventLoop:
    """Runs the ``async`` listeners: for a thread that delivers messages, which waits, or for a task of the loop."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self.port = Port(self._loop)
        """The way into the loop for sessions that deliver in it."""
        self._tasks: set[asyncio.Task[Any]] = set()  # on the loop only
        self._ended = threading.Event()
        self._stopping = False
        self._thread = 0
        self._asked: float | None = None
        start_thread("jmsbridge-app-loop", self._run)

    def _run(self) -> None:
        self._thread = threading.get_ident()
        try:
            while not self._stopping:
                try:
                    self._loop.run_forever()
                except BaseException:  # SystemExit in a callback: the other listeners still need the loop
                    log.exception("a callback on the event loop of the listeners raised")
            self._loop.run_until_complete(self._finish())
        finally:
            self._ended.set()
            self._loop.close()

    async def _finish(self) -> None:
        """Cancel what is left: tasks of consumers that are closed, and what listeners have started and not awaited."""
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=_LEFT)
        await self._loop.shutdown_asyncgens()

    # ---- calls of listeners

    def call(self, function: Callable[..., Any], positional: list[Any], named: dict[str, Any]) -> Any:
        """Run the coroutine function to its end, and return its result or raise what it raised."""
        outcome = _Outcome()
        self._loop.call_soon_threadsafe(self._begin, outcome, function, positional, named)
        while not outcome.done.acquire(timeout=_LOOK):
            if self._ended.is_set():
                break
        return outcome.value()

    async def call_here(self, function: Callable[..., Any], positional: list[Any], named: dict[str, Any]) -> Any:
        """The same in a task of the loop, but with context variables that end with the call.

        A task of its own would cost two rounds of the loop. Who cancels the task cancels this call only.
        """
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            return await _InContext(_called(function, positional, named))
        except GeneratorExit as error:
            if in_task(task):  # else the loop is closed
                raise RuntimeError("the listener raised GeneratorExit") from error
            raise
        finally:
            self._tasks.discard(task)
            if task.cancelling():
                await _absorb(task)

    def _begin(
        self, outcome: _Outcome, function: Callable[..., Any], positional: list[Any], named: dict[str, Any]
    ) -> None:
        task = self._loop.create_task(self._guarded(outcome, function, positional, named))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _guarded(
        self, outcome: _Outcome, function: Callable[..., Any], positional: list[Any], named: dict[str, Any]
    ) -> None:
        task = asyncio.current_task()
        try:
            outcome.result = await function(*positional, **named)
            outcome.error = None
        except BaseException as error:  # SystemExit, too: it would end the loop of all listeners
            if isinstance(error, GeneratorExit) and not in_task(task):
                raise  # the loop is closed
            outcome.error = error
        finally:
            outcome.done.release()

    async def on_thread(self, work: Callable[[], None]) -> None:
        """Have a thread do what may wait, in the context of this task, and wait for it here whatever happens."""
        outcome, ended, context = _Outcome(), asyncio.Event(), contextvars.copy_context()

        def run() -> None:
            try:
                context.run(work)
                outcome.error = None
            except BaseException as error:
                outcome.error = error
            finally:
                self._soon(ended.set)

        start_thread("jmsbridge-app-wait", run)
        await self.to_the_end(ended.wait())
        outcome.value()

    async def to_the_end(self, awaitable: Awaitable[Any]) -> None:
        """Wait for it after a call, in its task; a cancellation was meant for the call, and has no effect."""
        try:
            await wait_to_the_end(awaitable)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            assert task is not None
            await _absorb(task)

    # ---- its state and its end

    def is_current(self) -> bool:
        """Whether the caller is on its thread."""
        return threading.get_ident() == self._thread

    def blocked_for(self) -> float:
        """Seconds for which the loop has not answered a question that an earlier call has asked; asks a new one."""
        asked = self._asked
        if asked is not None:
            return 0.0 if self._ended.is_set() else time.monotonic() - asked
        self._asked = time.monotonic()
        self._soon(self._answer)
        return 0.0

    def _answer(self) -> None:
        self._asked = None

    def _soon(self, act: Callable[[], object]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(act)

    def place(self) -> str:
        """Where the code on the loop is now."""
        frame = sys._current_frames().get(self._thread)
        return "" if frame is None else "".join(traceback.format_stack(frame)[-3:])

    def cancel(self) -> None:
        """Cancel the listeners that are still running."""
        self._soon(self._cancel)

    def _cancel(self) -> None:
        for task in tuple(self._tasks):
            task.cancel()

    def wait_closed(self, timeout: float) -> bool:
        """End the loop; False if a listener still blocks it after ``timeout`` seconds."""
        self._stopping = True
        self._soon(self._loop.stop)
        return self._ended.wait(timeout)
