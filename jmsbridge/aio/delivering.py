"""Message listeners in an event loop: one task per session, one message at a time, as its thread elsewhere."""

import asyncio
import contextvars
import inspect
import logging
from collections.abc import Callable
from typing import Any

from jmsbridge.aio.line import Line
from jmsbridge.aio.loops import Port, in_task
from jmsbridge.core.receiving.delivery import Delivery
from jmsbridge.core.receiving.receiver import Receiver
from jmsbridge.spi import BackendError

__all__ = ["Delivering"]

log = logging.getLogger("jmsbridge.aio")

_PATIENCE = 10.0  # seconds after which a wait for the user's own listener is logged
_TURN = 64
"""After so many messages without a wait, other tasks get a turn."""


class _Run:
    """One call of a listener; tasks that it starts inherit it, and it counts only while it lasts."""

    __slots__ = ("lasts", "owner")

    def __init__(self, owner: "Delivering") -> None:
        self.owner = owner
        self.lasts = True


_run: contextvars.ContextVar[_Run | None] = contextvars.ContextVar("jmsbridge_listener", default=None)


class Delivering:
    """Calls the listeners of one session; it is the executor that the session's core wakes."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._port: Port = line.port
        self._news = asyncio.Event()
        self._quiet = asyncio.Event()  # set while no listener is running
        self._quiet.set()
        self._task: asyncio.Task[None] | None = None
        self._ended = False
        self._pass = 0
        self._woken = -1

    def new_executor(self, name: str, work: Callable[[], None]) -> "Delivering":
        """For ``Executors``: the work is done by the task instead."""
        return self

    # ---- as an Executor

    def wake(self) -> None:
        """A consumer may have a message."""
        coming = self._pass
        if self._ended or self._woken == coming:
            return
        if self._port.post(self._on_news):
            self._woken = coming

    def _on_news(self) -> None:
        self._pass += 1
        self._news.set()
        if self._task is None and not self._ended:
            self._task = self._port.loop.create_task(self._serve())

    def is_current(self) -> bool:
        """Whether the caller is in a listener of this session, or in a task or call that it has started."""
        run = _run.get()
        return run is not None and run.lasts and run.owner is self

    def close(self) -> None:
        """Deliver nothing more."""
        self._ended = True
        self._port.post(self._news.set)

    @property
    def has_died(self) -> bool:
        """Whether the task has ended before its time, because it was cancelled by others."""
        task = self._task
        return task is not None and task.done() and not self._ended

    # ---- the task

    async def wait_ended(self) -> None:
        """Deliver nothing more, and wait for the listener that is running."""
        self._ended = True
        self._news.set()
        await self.wait_quiet()

    async def wait_quiet(self, receiver: Receiver | None = None) -> None:
        """Wait until no listener is running, of this consumer or of any."""
        listening = self._line.core.incoming.listening
        while not self._quiet.is_set() and listening.is_running(receiver):
            try:
                async with asyncio.timeout(_PATIENCE):
                    await self._quiet.wait()
            except TimeoutError:
                log.warning("still waiting for a message listener to return")

    async def _serve(self) -> None:
        listening = self._line.core.incoming.listening
        while not self._ended:
            receiver = listening.next_receiver()
            if receiver is None:
                await self._news.wait()
                self._news.clear()
                continue
            try:
                await self._take_turn(receiver)
            finally:
                listening.leave()
        self._task = None

    async def _take_turn(self, receiver: Receiver) -> None:
        listening = self._line.core.incoming.listening
        delivered = 0
        while not self._ended and await self._deliver_next(receiver):
            if listening.has_others(receiver):
                return
            delivered += 1
            if delivered % _TURN == 0:
                await asyncio.sleep(0)

    async def _deliver_next(self, receiver: Receiver) -> bool:
        core = self._line.core
        await self._line.wait_still()
        if receiver.listener is None:
            return False
        try:
            delivery = receiver.poll()
            if delivery is None:
                return False
            taken = core.incoming.listening.begin(receiver, delivery)
            if taken is not None:
                await self._call(delivery, *taken)
        except BackendError as error:  # a confirmed acknowledgement failed
            log.warning("the message will be delivered again: %s", error)
        finally:
            core.incoming.hand.delivery = None
        return True

    async def _call(self, delivery: Delivery, listener: Callable[[Any], Any], message: Any) -> None:
        listening = self._line.core.incoming.listening
        run = _Run(self)
        _run.set(run)
        self._quiet.clear()
        error: BaseException | None = None
        try:
            result = listener(message)
            if inspect.isawaitable(result):
                await result
        except BaseException as raised:  # user code; even SystemExit must not end the loop
            if isinstance(raised, GeneratorExit) and not in_task(self._task):
                raise  # the loop is closed, and this task garbage
            error = raised
        finally:
            run.lasts = False
            _run.set(None)  # not ``reset``, which the end of a closed loop's task may not call
            self._quiet.set()
        if self._is_confirmed():
            await self._line.whole(lambda: listening.end(delivery, error), to_the_end=True)
        else:
            listening.end(delivery, error)
        if isinstance(error, KeyboardInterrupt) or (isinstance(error, asyncio.CancelledError) and self._is_cancelled()):
            raise error

    def _is_confirmed(self) -> bool:
        return self._line.core.connection.options.block_on_acknowledge

    def _is_cancelled(self) -> bool:
        return self._task is not None and self._task.cancelling() > 0
