"""The I/O thread of one link, and how other threads pass work to it.

A caller wakes the thread only if the thread is not about to look for work anyway, so work comes in batches. The thread
counts its rounds and begins a new one before it looks for work. A caller appends its item, reads the round, wakes the
thread unless it was already woken in this round, and only then records the wake-up. A recorded wake-up has therefore
always happened, wherever a signal handler raises, and no item is left waiting.
"""

import contextlib
import logging
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from jmsbridge.spi import BackendError, LinkLost
from jmsbridge.transport.network.forking import at_fork
from jmsbridge.transport.network.loop import Timer, new_loop

__all__ = ["IoThread", "Mailbox"]

log = logging.getLogger("jmsbridge.transport")

T = TypeVar("T")

_SOME = 64  # waiting items from which a watched mailbox wakes the thread, at most
_CROWD = 128  # waiting items from which a caller lets the I/O thread run
_GIVE_WAY = 50e-6  # seconds
_TICK = 1e-3  # seconds


class IoThread:
    """A daemon thread that runs a loop. All methods but ``post`` and ``join`` are for the thread itself.

    ``ended`` is the error with which the link ended, set before the loss is handled; work posted after that may not be
    run. ``around`` runs a batch of work, so that its writes can be joined; ``crashed`` gets exceptions raised by work.
    """

    def __init__(
        self, name: str, around: Callable[[Callable[[], None]], None], crashed: Callable[[BaseException], None]
    ) -> None:
        self.ended: BackendError | None = None
        self.loop = new_loop()
        self._around = around
        self._crashed = crashed
        self._tasks: deque[Callable[[], None]] = deque()
        self._looks: list[Callable[[], None]] = []
        self._is_over = False
        self._joining: list[threading.Lock] = []
        self._round = 1
        self._woken = 0  # the last round in which the thread was woken
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        _threads.add(self)

    def start(self, task: Callable[[], None]) -> None:
        """Start the thread; it runs ``task`` first."""
        self.post(task)
        self._thread.start()

    def post(self, task: Callable[[], None]) -> None:
        """Run this on the I/O thread soon; from any thread. Not run once the thread has ended."""
        try:
            self._tasks.append(task)
            now = self._round
            if self._woken != now:
                self.loop.add_callback_threadsafe(self._work)
                self._woken = now
        except BaseException:  # an interrupt
            self.loop.add_callback_threadsafe(self._work)
            raise

    def call_later(self, seconds: float, task: Callable[[], None]) -> Timer:
        """Run this after so many seconds; ``cancel`` takes the timer that is returned."""
        return self.loop.call_later(seconds, lambda: self._guard(lambda: self._around(task)))

    def look_later(self, look: Callable[[], None]) -> None:
        """Run this within about a millisecond, together with all others that are asked for until then."""
        self._looks.append(look)
        if len(self._looks) == 1:
            self.call_later(_TICK, self.look)

    def look(self) -> None:
        """Run now what was asked for with ``look_later``."""
        looks, self._looks = self._looks, []
        for look in looks:
            look()

    def cancel(self, timer: Timer) -> None:
        """Cancel a timer."""
        self.loop.remove_timeout(timer)

    def stop(self) -> None:
        """End the thread after its current work."""
        self.loop.stop()

    def is_current(self) -> bool:
        """Whether this is the I/O thread."""
        return threading.current_thread() is self._thread

    def join(self, timeout: float) -> None:
        """Wait until the thread has ended."""
        if self.is_current() or not self._thread.is_alive():
            return
        # not Thread.join: a signal handler that raises in it may mark a running thread as ended
        waiting = threading.Lock()
        waiting.acquire()
        self._joining.append(waiting)
        if not self._is_over:
            waiting.acquire(timeout=timeout)
        if self._is_over:
            self._thread.join(1.0)

    def _run(self) -> None:
        try:
            self.loop.start()
        except Exception as error:
            problem = error
            log.exception("the I/O thread fails")
            self._guard(lambda: self._crashed(problem))
        finally:
            self.loop.close()
            self._is_over = True  # before the loop below: a later ``join`` does not wait
            for waiting in list(self._joining):
                waiting.release()

    def _work(self) -> None:
        self._guard(lambda: self._around(self._work_all))
        if self._tasks:  # one of them raised
            self.loop.add_callback_threadsafe(self._work)

    def _work_all(self) -> None:
        self._round += 1  # before looking for tasks: a later caller wakes the thread again
        tasks = self._tasks
        while tasks:
            tasks.popleft()()

    def _guard(self, task: Callable[[], None]) -> None:
        try:
            task()
        except Exception as error:
            log.exception("unexpected error on the I/O thread")
            with contextlib.suppress(Exception):
                self._crashed(error)


class Mailbox(Generic[T]):
    """Passes items to the I/O thread; ``serve`` gets the deque there and empties it, in order.

    Once the link has ended, items are passed to ``refuse`` instead, each exactly once. A caller that is far ahead of
    the I/O thread sleeps for ``give_way`` seconds.
    """

    def __init__(
        self,
        thread: IoThread,
        serve: Callable[[deque[T]], None],
        refuse: Callable[[T], None],
        give_way: float = _GIVE_WAY,
    ) -> None:
        self._thread = thread
        self._serve = serve
        self._refuse = refuse
        self._give_way = give_way
        self._round = 1
        self._called = 0  # the last round in which ``work`` was posted
        self._watched = False
        self._enough = _SOME  # waiting items that wake the thread although the mailbox is watched
        self._refusing = threading.RLock()  # held while items are refused, by one thread at a time
        self.items: deque[T] = deque()

    def put(self, item: T, *, waits: bool = True) -> None:
        """Add an item; from any thread. An interrupted call has added it or not, never in part.

        If it ``waits``, a watched mailbox serves it with others; if not, the thread is woken, and serves what waits.
        """
        try:
            self.items.append(item)
            now = self._round
            if self._thread.ended is not None:
                self.refuse_all()
            elif self._called != now:
                if not (self._watched and waits) or len(self.items) >= self._enough:
                    self._thread.post(self.work)
                    self._called = now
            elif len(self.items) >= _CROWD and not self._thread.is_current():
                time.sleep(self._give_way)  # sleep: lets the I/O thread take the GIL now instead of after 5 ms
        except BaseException:  # an interrupt
            if self._thread.ended is None:
                self._thread.post(self.work)
            else:
                self.refuse_all()
            raise

    def watch(self, awaited: int = _SOME) -> None:
        """Serve new items within about a millisecond; until then a few do not wake the thread. On the I/O thread.

        When ``awaited`` items wait, the thread is woken at once: perhaps no others come.
        """
        self._enough = min(awaited, _SOME)
        if awaited > 1 and not self._watched:
            self._watched = True
            self._thread.look_later(self._look)

    def _look(self) -> None:
        self._watched = False  # before looking for items: a later caller wakes the thread
        self.work()

    def work(self) -> None:
        """Serve all items; on the I/O thread."""
        self._round += 1  # before looking for items: a later caller posts again
        if self.items and self._thread.ended is None:
            self._serve(self.items)

    def take(self) -> list[T]:
        """Remove and return all items; on the I/O thread."""
        items = []
        while self.items:
            items.append(self.items.popleft())
        return items

    def refuse_all(self) -> None:
        """Refuse all items that were not served: called when the link ends, and for later items."""
        items = self.items
        with self._refusing:
            while items:
                item = items[0]
                self._refuse(item)  # before removing it: after an interrupt in between it is refused again, not lost
                if items and items[0] is item:
                    items.popleft()


_threads: "weakref.WeakSet[IoThread]" = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for thread in list(_threads):
        thread.ended = LinkLost("the link was opened in another process; connect again after a fork")


at_fork(after_in_child=_after_fork_in_child)
