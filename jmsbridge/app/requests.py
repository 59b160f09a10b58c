"""Requests of a template: one temporary queue for all replies, found by their correlation ids."""

import itertools
import logging
import threading
import uuid
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any

from jmsbridge.connection import Connection
from jmsbridge.core.modes import DUPS_OK_ACKNOWLEDGE
from jmsbridge.core.runtime.clock import Timer, system
from jmsbridge.core.runtime.executor import SerialExecutor
from jmsbridge.destinations import TemporaryQueue
from jmsbridge.errors import IllegalStateException, ResourceAllocationException
from jmsbridge.message import Message

__all__ = ["Requests", "Waiting"]

log = logging.getLogger("jmsbridge.app")


class _Reply(Future[Any]):
    """The future of a request; a cancelled one no longer counts among those that wait."""

    def __init__(self, forget: Callable[[], object]) -> None:
        super().__init__()
        self._forget = forget

    def cancel(self) -> bool:
        """See ``Future``."""
        self._forget()
        return super().cancel()


class Waiting:
    """A request that waits for its reply."""

    __slots__ = ("correlation_id", "future", "read", "text", "timer")

    def __init__(
        self, correlation_id: str, text: str, read: Callable[[Message], Any], forget: Callable[[str], object]
    ) -> None:
        self.correlation_id = correlation_id
        self.text = text
        self.read = read
        self.future: Future[Any] = _Reply(partial(forget, correlation_id))
        self.timer: Timer | None = None


class Requests:
    """The requests of one connection that wait for replies, at most ``limit``; thread-safe.

    Futures are completed by replies on the delivery thread of the reply session, and after their time on a thread of
    their own; never by an I/O thread.
    """

    def __init__(self, connection: Connection, limit: int) -> None:
        self._limit = limit
        self._lock = threading.Lock()  # guards _waiting, _late and _closed
        self._closed: str | None = None  # why
        self._waiting: dict[str, Waiting] = {}
        self._late: list[Waiting] = []
        self._prefix = uuid.uuid4().hex
        self._numbers = itertools.count(1)
        self._expiring = SerialExecutor("jmsbridge-requests", self._fail_late)
        session = connection.create_session(session_mode=DUPS_OK_ACKNOWLEDGE)
        try:
            self.reply_to: TemporaryQueue = session.create_temporary_queue()
            session.create_consumer(self.reply_to).message_listener = self._arrived
        except BaseException:
            session.close()
            raise
        self._session = session
        connection.start()

    def add(self, text: str, timeout: float, read: Callable[[Message], Any]) -> Waiting:
        """A new request; its future has the reply as ``read`` returns it, or TimeoutError after ``timeout`` seconds."""
        late = f"no reply to the request to {text} within {timeout:g} s"
        waiting = Waiting(f"{self._prefix}-{next(self._numbers)}", late, read, self._taken)
        with self._lock:
            if self._closed is not None:
                raise IllegalStateException(self._closed)
            if len(self._waiting) >= self._limit:
                raise ResourceAllocationException(
                    f"{self._limit} requests of this template wait for replies; raise max_requests=…"
                )
            self._waiting[waiting.correlation_id] = waiting
        waiting.timer = system.call_later(timeout, lambda: self._due(waiting))
        return waiting

    def fail(self, waiting: Waiting, error: BaseException) -> None:
        """The request was not sent."""
        if self._taken(waiting.correlation_id) is not None:
            _complete(waiting, error=error)

    def close(self, why: str) -> None:
        """Fail what still waits; the connection closes the session."""
        with self._lock:
            self._closed = why
            left, self._waiting = self._waiting, {}
        for waiting in left.values():
            if waiting.timer is not None:
                waiting.timer.cancel()
            _complete(waiting, error=IllegalStateException(f"{why} before the reply came"))
        self._expiring.close()
        self._fail_late()

    def _taken(self, correlation_id: str | None) -> Waiting | None:
        with self._lock:
            waiting = self._waiting.pop(correlation_id, None) if correlation_id is not None else None
        if waiting is not None and waiting.timer is not None:
            waiting.timer.cancel()
        return waiting

    def _arrived(self, message: Message) -> None:
        waiting = self._taken(message.jms_correlation_id)
        if waiting is None:
            return  # it came after its request had ended, or a second time
        try:
            value = waiting.read(message)
        except BaseException as error:  # user code; the request must end
            _complete(waiting, error=error)
        else:
            _complete(waiting, value)

    def _due(self, waiting: Waiting) -> None:
        with self._lock:
            if self._waiting.pop(waiting.correlation_id, None) is None:
                return
            self._late.append(waiting)
        self._expiring.wake()

    def _fail_late(self) -> None:
        with self._lock:
            late, self._late = self._late, []
        for waiting in late:
            _complete(waiting, error=TimeoutError(waiting.text))


def _complete(waiting: Waiting, value: Any = None, error: BaseException | None = None) -> None:
    future = waiting.future
    try:
        if not future.set_running_or_notify_cancel():
            return
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)
    except BaseException:  # a done callback: even its SystemExit must not keep the other requests waiting
        log.exception("a done callback of a request raised")
