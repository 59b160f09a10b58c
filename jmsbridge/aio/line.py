"""The calls of one session, in the order in which its tasks made them.

A send is handed over at once while nothing is in line, there is room in the send window and a channel. Otherwise it
joins the line, and its task waits, not the loop. A call that waits for the broker (a commit) runs in the pool; the line
stands still meanwhile, so that what was sent before belongs to it, and what is sent after does not.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from jmsbridge.aio.loops import LoopExecutor, Port, wait_changed
from jmsbridge.aio.pool import Call
from jmsbridge.core.sending.tickets import NotNow
from jmsbridge.core.session import SessionCore
from jmsbridge.errors import IllegalStateException, JMSException
from jmsbridge.spi import Channel

__all__ = ["Line", "Queued"]

log = logging.getLogger("jmsbridge.aio")

T = TypeVar("T")


class Queued(Protocol):
    """A call in line."""

    @property
    def gone(self) -> bool:
        """Whether its task has given up waiting."""

    @property
    def since(self) -> float:
        """When it was made, by the monotonic clock."""

    @property
    def limited(self) -> bool:
        """Whether it may wait for the broker at most ``send_timeout``."""

    def join(self) -> None:
        """It joins the line, in its task."""

    def begin(self) -> None:
        """Make the call; NotNow if it has to wait, any other exception is its outcome."""

    def refuse(self, error: BaseException) -> None:
        """It ends with this error; called once it has waited."""


class _Whole(Call[T]):
    """A call in the pool while the line stands still."""

    limited = False

    def __init__(
        self,
        line: "Line",
        work: Callable[[], T],
        undo: Callable[[T], object] | None,
        unheard: Callable[[BaseException], None] | None,
        late: Callable[[T], object] | None,
    ) -> None:
        super().__init__(line.port, work, undo, unheard, late)
        self.since = time.monotonic()
        self._line = line

    @property
    def gone(self) -> bool:
        return self.future.done()

    def join(self) -> None:
        pass

    def begin(self) -> None:
        self._line.stop(self)
        self.start()

    def refuse(self, error: BaseException) -> None:
        if not self.future.done():
            self.future.set_exception(error)

    def end(self) -> None:
        self._line.go_on(self)
        super().end()


class Line:
    """Belongs to one session of ``jmsbridge.aio``, and to its event loop."""

    def __init__(self, port: Port) -> None:
        self.port = port
        self.core: SessionCore  # set when the session is open
        self._completions: LoopExecutor
        self._queue: deque[Queued] = deque()
        self._again: deque[Queued] = deque()  # sends that did not reach the broker, before all others
        self._running: _Whole[Any] | None = None
        self._still = asyncio.Event()  # set while nothing runs in the pool
        self._still.set()
        self._empty = asyncio.Event()  # set while nothing is in line
        self._empty.set()
        self._closed = False
        self._channel: Channel | None = None  # over which the last send went
        self._lost: Channel | None = None  # over which a send was lost: the next one goes over another
        self._owed: BaseException | None = None
        self._progress = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._watching: set[asyncio.Task[None]] = set()  # for a channel, or for the end of a pause
        self._marks: deque[tuple[float, int]] = deque()  # when which send was the last one
        self._auditor: asyncio.TimerHandle | None = None
        self.is_audited = False
        """Whether it is looked after that every send is answered, or given up."""

    # ---- the tasks' side

    def check(self) -> None:
        """IllegalState in another loop and after the close; raises the error of a call whose task was cancelled."""
        self.port.check()
        if self._closed and not self.core.incoming.listening.executor.is_current():
            raise IllegalStateException(f"the session {self.core.name} is closed")
        if self._owed is not None:
            owed, self._owed = self._owed, None
            raise owed

    def add(self, call: Queued) -> None:
        """Make the call now, or when it is its turn; raises what a call that is made now raises."""
        if self._running is None and not self._queue and not self._again:
            try:
                call.begin()
                return
            except NotNow:
                pass  # it joins the line
        if not self._queue:
            self._progress = time.monotonic()
        call.join()
        self._queue.append(call)
        self._empty.clear()
        self._block()

    def add_again(self, call: Queued) -> None:
        """The link was lost before the send reached the broker: it comes first, after those that came again before."""
        self._again.append(call)
        self._lost = self._channel
        self._empty.clear()
        self._block()

    async def whole(
        self,
        work: Callable[[], T],
        undo: Callable[[T], object] | None = None,
        *,
        late: Callable[[T], object] | None = None,
        owes: bool = False,
        to_the_end: bool = False,
    ) -> T:
        """Make a call in the pool, when it is its turn, while the line stands still.

        A call that has begun goes on when its task is cancelled: ``late`` gets its result in the loop, or ``undo`` in
        the pool, and where it ``owes`` its error, the session's next call raises it.
        """
        call = _Whole(self, work, undo, self._owe if owes else None, late)
        self.add(call)
        return await call.wait_ended(to_the_end=to_the_end)

    def _owe(self, error: BaseException) -> None:
        self._owed = error
        if self.port.is_closed():
            self.report_owed()

    def report_owed(self) -> None:
        """The session is closed: no call raises the error of one whose task was cancelled, so the listener gets it."""
        owed, self._owed = self._owed, None
        if isinstance(owed, JMSException):
            self.core.connection.report(owed)
        elif owed is not None:
            log.error("a call that was cancelled failed afterwards", exc_info=owed)

    async def wait_still(self) -> None:
        """Wait until no call runs in the pool."""
        while self._running is not None:
            await self._still.wait()

    @property
    def is_still(self) -> bool:
        """Whether no call runs in the pool."""
        return self._running is None

    @property
    def is_closed(self) -> bool:
        """Whether it accepts no more calls."""
        return self._closed

    def close(self) -> None:
        """Accept no more calls, but of a listener that is running."""
        self._closed = True

    def end(self) -> None:
        """The session is closed."""
        for timer in (self._timer, self._auditor):
            if timer is not None:
                timer.cancel()
        for task in self._watching:
            task.cancel()

    async def wait_empty(self, timeout: float) -> None:
        """Wait until all calls were made; those that were not after so many seconds are refused."""
        try:
            async with asyncio.timeout(timeout):
                while self._queue or self._again:
                    await self._empty.wait()
        except TimeoutError:
            error = "the message was not sent: the session was closed before there was room in its send window"
            self._refuse_all(lambda _: True, lambda: IllegalStateException(error))

    # ---- in the loop

    def stop(self, call: _Whole[Any]) -> None:
        """This call begins in the pool."""
        self._running = call
        self._still.clear()

    def go_on(self, call: _Whole[Any]) -> None:
        """It has ended."""
        if self._running is call:
            self._running = None
            self._still.set()
            self.port.loop.call_soon(self.pump)

    def pump(self) -> None:
        """Make the calls in line, as far as they go."""
        while self._running is None and (queue := self._again or self._queue):
            call = queue[0]
            try:
                if not call.gone:
                    call.begin()
            except NotNow:
                self._block()
                return
            except Exception as error:
                call.refuse(error)
            except BaseException:  # an interrupt: the call may have been made, and is not made again
                queue.popleft()
                raise
            queue.popleft()
            self._progress = time.monotonic()
        if not self._queue and not self._again:
            self._empty.set()

    def _block(self) -> None:
        if self._timer is None:
            self._timer = self.port.loop.call_later(self._timeout, self._check_progress)
        if self._running is not None or self._watching:
            return
        outgoing = self.core.outgoing
        if self._next_channel() is None:
            self._watch(wait_changed(self.port, outgoing.channel.changed, self._has_channel))
        elif outgoing.throttle.is_active:
            self._watch(wait_changed(self.port, outgoing.throttle.changed, lambda: not outgoing.throttle.is_active))
        elif self.is_ready():
            self.port.loop.call_soon(self.pump)

    def is_ready(self) -> bool:
        """Whether a send would go out now."""
        return self.may_send() and not self.core.outgoing.ledger.is_full(0)

    def may_send(self) -> bool:
        """Whether there is a channel, no pause, and no send over an earlier channel that may come again, and first."""
        outgoing = self.core.outgoing
        channel = self._next_channel()
        if channel is None or outgoing.throttle.is_active:
            return False
        if channel is not self._channel:
            if not outgoing.ledger.is_idle:
                return False
            self._channel = channel
        return True

    def _next_channel(self) -> Channel | None:
        """The channel of the next send; None also while the one over which a send was lost is not replaced."""
        channel = self.core.outgoing.channel.now
        return None if channel is self._lost else channel

    def _has_channel(self) -> bool:
        return self._next_channel() is not None or self.core.outgoing.channel.down is not None

    def _watch(self, waiting: Any) -> None:
        task = self.port.loop.create_task(waiting)
        self._watching.add(task)
        task.add_done_callback(self._watched)

    def _watched(self, task: "asyncio.Task[None]") -> None:
        self._watching.discard(task)
        if not task.cancelled():
            self.pump()

    # ---- time

    @property
    def _timeout(self) -> float:
        return self.core.connection.options.send_timeout

    def _check_progress(self) -> None:
        self._timer = None
        if not self._queue and not self._again:
            return
        now = time.monotonic()
        late = now - self._timeout
        if self._running is None and self._progress <= late:
            self._refuse_all(lambda call: call.limited and call.since <= late, self._refusal)
        if self._queue or self._again:
            oldest = max(self._progress, min(call.since for call in (*self._again, *self._queue)))
            left = max(oldest - late, self._timeout / 100)
            self._timer = self.port.loop.call_later(left, self._check_progress)

    def _refusal(self) -> JMSException:
        outgoing = self.core.outgoing
        if self._next_channel() is None:
            return outgoing.channel.refusal()
        if outgoing.throttle.is_active:
            return outgoing.throttle.refusal(self._timeout)
        return outgoing.ledger.refusal(self._timeout)

    def _refuse_all(self, which: Callable[[Queued], bool], error: Callable[[], BaseException]) -> None:
        for queue in (self._again, self._queue):
            kept = [call for call in queue if not which(call)]
            for call in queue:
                if which(call) and not call.gone:
                    call.refuse(error())
            queue.clear()
            queue.extend(kept)
        self.pump()

    # ---- answers

    def new_completions(self, name: str, deliver: Callable[[], None]) -> LoopExecutor:
        """The executor of the session's answers: each batch of them makes room for the next sends."""

        def work() -> None:
            deliver()
            if not self.port.loop.is_closed():
                self.pump()

        self._completions = LoopExecutor(self.port, name, work)
        return self._completions

    def expect_answer(self) -> None:
        """A send awaits its answer: at the latest a quarter after ``send_timeout`` it gives up."""
        if not self.is_audited:
            self.is_audited = True
            self._marks.append((time.monotonic(), self.core.outgoing.ledger.last))
            self._auditor = self.port.loop.call_later(self._timeout / 4, self._audit)

    def _audit(self) -> None:
        self.port.catch_up()
        self._completions.catch_up()
        ledger = self.core.outgoing.ledger
        now = time.monotonic()
        overdue = 0
        while self._marks and self._marks[0][0] <= now - self._timeout:
            overdue = self._marks.popleft()[1]
        if overdue:
            call: Call[None] = Call(self.port, lambda: ledger.give_up(overdue))
            call.start()
        if ledger.is_idle:
            self._marks.clear()
            self.is_audited = False
            return
        self._marks.append((now, ledger.last))
        self._auditor = self.port.loop.call_later(self._timeout / 4, self._audit)
