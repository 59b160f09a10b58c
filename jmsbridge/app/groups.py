"""The consumers of one listener: as many as its concurrency and its backlog say; ended ones are replaced."""

import logging
import time
from collections.abc import Sequence

from jmsbridge.administration import DestinationInfo
from jmsbridge.app.listeners import Listener
from jmsbridge.app.loop_workers import new_worker
from jmsbridge.app.status import ListenerStatus
from jmsbridge.app.workers import Shared, Worker
from jmsbridge.connection import Connection
from jmsbridge.core.runtime.threads import start_thread
from jmsbridge.destinations import Queue
from jmsbridge.errors import JMSException

__all__ = ["Depths", "Group"]

log = logging.getLogger("jmsbridge.app")

_IDLE = 10.0  # seconds without a message after which a consumer above the least number is closed
_PAUSE = 1.0  # before a consumer that the broker has ended is replaced; doubles
_LONGEST_PAUSE = 30.0


class Depths:
    """How many messages wait for which listener, as far as the broker says, at one time."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._listed: Sequence[DestinationInfo] | None = None

    def depth(self, listener: Listener) -> int | None:
        """Asks the broker; for subscriptions, which it can only list, at most once for all of them."""
        if self._connection.state != "connected":
            return None
        try:
            if isinstance(listener.destination, Queue):
                return self._connection.admin.depth(listener.destination)
            if self._listed is None:
                self._listed = ()  # if this fails, it is not tried for each listener
                self._listed = self._connection.admin.list()
        except JMSException as error:
            log.debug("no depth of %s: %s", listener.pattern, error)
            return None
        for info in self._listed:
            if info.destination == listener.destination and info.subscription == listener.subscription:
                return info.depth
        return None


class Group:
    """Changed by the thread that starts the application, then by the thread that watches it; read by others."""

    def __init__(self, listener: Listener, shared: Shared) -> None:
        self.listener = listener
        self.workers: tuple[Worker, ...] = ()
        self.depth: int | None = None
        """How many messages wait, as the broker said last; written by the thread that asks."""
        self._shared = shared
        self._gone: list[Worker] = []  # closed ones: what they have counted still counts
        self._was_busy = False
        self._pause = _PAUSE
        self._next = 0.0

    def open(self, connection: Connection) -> None:
        """Open as many consumers as there are at least; raises JMSException."""
        while len(self.workers) < self.listener.least:
            self._add(connection)

    def _add(self, connection: Connection) -> None:
        worker = new_worker(self.listener, self._shared)
        worker.open(connection)
        self.workers = (*self.workers, worker)

    def _remove(self, worker: Worker) -> None:
        self.workers = tuple(each for each in self.workers if each is not worker)
        if self._gone:  # one is enough to keep the counts
            self._gone[0].handled += worker.handled
            self._gone[0].failed += worker.failed
            self._gone[0].dead += worker.dead
        else:
            self._gone.append(worker)

    # ---- on the thread that watches

    def look(self, connection: Connection, depths: Depths) -> None:
        """Replace consumers that the broker has ended, add or remove some, and report calls over their deadline.

        The broker is asked for the backlog only while all consumers are busy and there may be more.
        """
        self._report_stuck()
        self._replace(connection)
        busy = bool(self.workers) and all(worker.is_occupied for worker in self.workers)
        was_busy, self._was_busy = self._was_busy, busy
        if busy and len(self.workers) < self.listener.most:
            depth = depths.depth(self.listener)
            if was_busy if depth is None else depth > len(self.workers):
                self._add_further(connection)
        elif not busy and len(self.workers) > self.listener.least:
            self._close_idle()

    def _add_further(self, connection: Connection) -> None:
        try:
            self._add(connection)
        except JMSException as error:
            log.warning("listener %s gets no further consumer: %s", self.listener.name, error)

    def _close_idle(self) -> None:
        for worker in reversed(self.workers):
            if not worker.is_occupied and time.monotonic() - worker.last > _IDLE:
                self._remove(worker)
                # It may just have got a message, and then closing waits for its listener.
                start_thread("jmsbridge-app-close", worker.close)
                return

    def _replace(self, connection: Connection) -> None:
        now = time.monotonic()
        for worker in self.workers:
            problem = worker.problem()
            if problem is not None:
                log.warning("the broker has ended a consumer of listener %s: %s", self.listener.name, problem)
                self._remove(worker)
                start_thread("jmsbridge-app-close", worker.close)
                self._next = now + self._pause
        if len(self.workers) >= self.listener.least or now < self._next:
            return
        try:
            self.open(connection)
            self._pause = _PAUSE
        except JMSException as error:
            self._pause = min(self._pause * 2, _LONGEST_PAUSE)
            self._next = now + self._pause
            log.warning(
                "listener %s has no consumer; next attempt in %.0f s: %s", self.listener.name, self._pause, error
            )

    def _report_stuck(self) -> None:
        deadline = self.listener.deadline
        for worker in self.workers if deadline is not None else ():
            began = worker.began
            if began is not None and began != worker.warned and time.monotonic() - began > (deadline or 0):
                worker.warned = began
                log.warning("listener %s is over its deadline of %g s", self.listener.name, deadline)

    # ---- on any thread

    def status(self) -> ListenerStatus:
        """How it is doing."""
        workers, now = self.workers, time.monotonic()
        every = [*workers, *self._gone]
        begun = [now - began for began in (worker.began for worker in workers) if began is not None]
        deadline = self.listener.deadline
        return ListenerStatus(
            name=self.listener.name,
            destination=self.listener.pattern,
            consumers=len(workers),
            running=len(begun),
            handled=sum(worker.handled for worker in every),
            failed=sum(worker.failed for worker in every),
            dead_lettered=sum(worker.dead for worker in every),
            stuck=[round(each, 1) for each in begun if deadline is not None and each > deadline],
            depth=self.depth,
        )
