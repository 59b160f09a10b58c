"""Requests of a template: one temporary queue for all replies, found by their correlation ids."""

import threading
import uuid
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from jmsbridge.connection import Connection
from jmsbridge.core.modes import DUPS_OK_ACKNOWLEDGE
from jmsbridge.core.runtime.clock import Timer, system
from jmsbridge.core.runtime.executor import SerialExecutor
from jmsbridge.destinations import TemporaryQueue
from jmsbridge.errors import IllegalStateException, ResourceAllocationException
from jmsbridge.message import Message

__all__ = ["Requests", "Waiting"]


class Waiting:
    """A request that waits for its reply."""

    __slots__ = ("correlation_id", "due", "future", "read", "text", "timer")

    def __init__(self, text: str, due: float, read: Callable[[Message], Any]) -> None:
        self.correlation_id = uuid.uuid4().hex
        self.text = text
        self.due = due
        self.read = read
        self.future: Future[Any] = Future()
        self.timer: Timer | None = None


class Requests:
    """The requests of one connection that wait for replies, at most ``limit``; thread-safe.

    Futures are completed by replies on the delivery thread of the reply session, and after their time on a thread of
    their own; never by an I/O thread.
    """

    def __init__(self, connection: Connection, limit: int) -> None:
        self._limit = limit
        self._lock = threading.Lock()  # guards _waiting and _late
        self._waiting: dict[str, Waiting] = {}
        self._late: list[Waiting] = []
        self._expiring = SerialExecutor("jmsbridge-requests", self._fail_late)
        session = connection.create_session(session_mode=DUPS_OK_ACKNOWLEDGE)
        self.reply_to: TemporaryQueue = session.create_temporary_queue()
        session.create_consumer(self.reply_to).message_listener = self._arrived
        self._session = session
        connection.start()

    def add(self, text: str, timeout: float, read: Callable[[Message], Any]) -> Waiting:
        """A new request; its future has the reply as ``read`` returns it, or TimeoutError after ``timeout`` seconds."""
        waiting = Waiting(f"no reply to the request to {text} within {timeout:g} s", system.monotonic() + timeout, read)
        with self._lock:
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
            waiting.future.set_exception(error)

    def close(self) -> None:
        """Fail what still waits; the connection closes the session."""
        with self._lock:
            left, self._waiting = self._waiting, {}
        for waiting in left.values():
            _complete(waiting, error=IllegalStateException("the template was closed before the reply came"))
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
        except Exception as error:
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
    if not waiting.future.set_running_or_notify_cancel():
        return
    if error is None:
        waiting.future.set_result(value)
    else:
        waiting.future.set_exception(error)
