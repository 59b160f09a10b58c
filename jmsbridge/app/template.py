"""``Template``: single calls on a broker, from any thread, without sessions, producers and consumers to look after."""

import contextlib
import logging
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar, overload

from jmsbridge.app.converters import Converter, converter_of
from jmsbridge.app.listeners import where
from jmsbridge.app.requests import Requests, Waiting
from jmsbridge.app.sessions import LentSession, SessionPool
from jmsbridge.closing import Closing
from jmsbridge.connection import Connection
from jmsbridge.core import arguments
from jmsbridge.core.modes import AUTO_ACKNOWLEDGE, SESSION_TRANSACTED
from jmsbridge.core.runtime.interrupts import Work, start_whole
from jmsbridge.destinations import Destination
from jmsbridge.errors import (
    IllegalStateException,
    JMSException,
    ResourceAllocationException,
    TransactionRolledBackException,
)
from jmsbridge.factory import ConnectionFactory
from jmsbridge.message import Message
from jmsbridge.strict import Strict
from jmsbridge.transport.network.forking import at_fork
from jmsbridge.values import PropertyValue

__all__ = ["Template", "Transaction"]

log = logging.getLogger("jmsbridge.app")

T = TypeVar("T")

_PATIENCE = 60.0  # seconds; the limit of a wait for what another thread does, which has limits of its own

_templates: "weakref.WeakSet[Template]" = weakref.WeakSet()


class _Open:
    """A connection of a template, and what it shares among threads."""

    def __init__(self, connection: Connection, sessions: int, max_requests: int) -> None:
        self.connection = connection
        self.sessions = SessionPool(connection, AUTO_ACKNOWLEDGE, sessions)
        self.transactions = SessionPool(connection, SESSION_TRANSACTED, sessions)
        self._max_requests = max_requests
        self._lock = threading.Lock()  # guards _requests
        self._requests: Requests | None = None
        this = weakref.ref(self)  # the listener is kept as long as the connection is open, which this closes

        def on_exception(error: JMSException) -> None:
            log.error("the connection of a template: %s", error)
            opened = this()
            if opened is not None and opened.is_over:
                opened.fail_requests(f"the connection was lost for good ({error})")

        connection.exception_listener = on_exception

    @property
    def is_over(self) -> bool:
        """Whether the connection will not come back: it was lost for good, closed, or opened before a fork."""
        return self.connection._core.supervisor.is_over

    def requests(self) -> Requests:
        """What finds the replies; made by the first request."""
        with self._lock:
            if self._requests is None:
                self._requests = Requests(self.connection, self._max_requests)
            return self._requests

    def close(self, why: str) -> None:
        """Close the connection, and fail the requests that wait; IllegalState, and no effect, in a callback of it."""
        try:
            self.connection.close()
        finally:
            if self.is_over:
                self.fail_requests(why)

    def fail_requests(self, why: str) -> None:
        """Fail the requests that wait."""
        with self._lock:
            requests = self._requests
        if requests is not None:
            requests.close(why)


class _Calls:
    """The calls on one session, which a template and a transaction have in common."""

    __slots__ = ()
    _converter: Converter

    def _lend(self) -> contextlib.AbstractContextManager[LentSession]:
        raise NotImplementedError

    def send(  # size: the settings of a message and of its send
        self,
        destination: Destination | str,
        value: Any,
        *,
        properties: Mapping[str, PropertyValue] | None = None,
        correlation_id: str | None = None,
        reply_to: Destination | str | None = None,
        delivery_mode: int | None = None,
        priority: int | None = None,
        time_to_live: float | timedelta | None = None,
        delivery_delay: float | timedelta = 0,
        sent_as: Any = None,
    ) -> None:
        """Send a message, or a value that the converter makes into one; returns when the broker has confirmed.

        ``destination`` may be text: ``"orders"``, ``"queue:orders"`` or ``"topic:news"``. Times are seconds.
        ``sent_as`` is the type of a value that does not say it itself, such as a ``TypedDict``. Raises what
        ``MessageProducer.send`` raises.
        """
        target = where(destination)
        answers = None if reply_to is None else where(reply_to)
        with self._lend() as lent:
            message = self._message(self._converted(lent, value, sent_as), properties, correlation_id, answers)
            producer = lent.producer
            producer.delivery_delay = delivery_delay
            producer.send(target, message, delivery_mode=delivery_mode, priority=priority, time_to_live=time_to_live)

    def _converted(self, lent: LentSession, value: Any, sent_as: Any) -> Message:
        if isinstance(value, Message):
            return value
        if sent_as is None:
            return self._converter.to_message(lent.session, value)
        converter: Any = self._converter  # of which not all know types
        made: Message = converter.to_message(lent.session, value, sent_as)
        return made

    @staticmethod
    def _message(
        message: Message,
        properties: Mapping[str, PropertyValue] | None,
        correlation_id: str | None,
        reply_to: Destination | None,
    ) -> Message:
        for name, each in (properties or {}).items():
            message.set_object_property(name, each)
        if correlation_id is not None:
            message.jms_correlation_id = correlation_id
        if reply_to is not None:
            message.jms_reply_to = reply_to
        return message

    @overload
    def receive(
        self, destination: Destination | str, *, timeout: float | timedelta, selector: str | None = None
    ) -> Message | None: ...
    @overload
    def receive(
        self, destination: Destination | str, kind: type[T], *, timeout: float | timedelta, selector: str | None = None
    ) -> T | None: ...
    def receive(
        self,
        destination: Destination | str,
        kind: type[Any] | None = None,
        *,
        timeout: float | timedelta,
        selector: str | None = None,
    ) -> Any:
        """The next message, or with ``kind`` its body as the converter makes it; None after ``timeout`` seconds.

        It asks the broker for this one message and no further one. A message that cannot be converted stays in the
        queue, and MessageFormat says why. Of a topic it sees only what is sent during the call.
        """
        target = where(destination)
        with self._lend() as lent:
            lent.session.connection.start()
            with lent.consuming(target, selector) as consumer:
                return consumer._take(arguments.seconds(timeout), self._read(kind))

    def _read(self, kind: type[Any] | None) -> Callable[[Message], Any]:
        if kind is None:
            return _as_it_is
        convert = self._converter.from_message
        return lambda message: convert(message, kind)

    def browse(self, queue: Destination | str, *, selector: str | None = None) -> Iterator[Message]:
        """The messages of a queue, which stay there; uses one session until the iterator ends or is closed."""
        with self._lend() as lent, lent.session.create_browser(arguments.queue(where(queue)), selector) as shown:
            yield from shown


class Transaction(_Calls):
    """The calls of one transaction: see ``Template.in_transaction``. Belongs to the thread that began it."""

    __slots__ = ("_converter", "_lent", "_refused")

    def __init__(self, lent: LentSession, converter: Converter) -> None:
        self._lent: LentSession | None = lent
        self._converter = converter
        self._refused: BaseException | None = None  # why a message was not converted

    def _lend(self) -> contextlib.AbstractContextManager[LentSession]:
        if self._lent is None:
            raise IllegalStateException("this transaction has ended; begin another with template.in_transaction()")
        return contextlib.nullcontext(self._lent)

    def _read(self, kind: type[Any] | None) -> Callable[[Message], Any]:
        read = super()._read(kind)

        def note(message: Message) -> Any:
            try:
                return read(message)
            except BaseException as error:
                self._refused = error
                raise

        return note

    def browse(self, queue: Destination | str, *, selector: str | None = None) -> Iterator[Message]:
        """The messages of a queue, which stay there; IllegalState when the transaction has ended meanwhile."""
        for message in super().browse(queue, selector=selector):
            yield message
            self._lend()

    def _end(self) -> None:
        """Commit, but not the loss of a message that nobody has got."""
        lent, self._lent = self._lent, None
        assert lent is not None
        if self._refused is not None:
            raise TransactionRolledBackException(
                "the transaction is rolled back: a message could not be converted, and stays in the queue; "
                "to take such messages out, receive them without a type"
            ) from self._refused
        lent.session.commit()


class Template(_Calls, Closing, Strict):
    """Sends, receives and asks on one connection, by calls that any thread may make at any time.

    ``target`` and ``options`` are those of ``jmsbridge.connect``, or ``target`` is a ConnectionFactory. The connection
    is opened by the first call, in a forked child by its first call, and again after it was lost for good. At most
    ``sessions`` sessions of each kind are open at once; a further thread waits for one, at most ``send_timeout``. At
    most ``max_requests`` requests may wait for replies.
    """

    __slots__ = ("__weakref__", "_closed", "_converter", "_factory", "_limits", "_lock", "_opened")

    def __init__(
        self,
        target: ConnectionFactory | str | Sequence[str] | None = None,
        *,
        converter: Converter | None = None,
        sessions: int = 8,
        max_requests: int = 10_000,
        **options: Any,
    ) -> None:
        self._factory = target if isinstance(target, ConnectionFactory) else ConnectionFactory(target, **options)
        self._converter = converter_of(converter)
        self._limits = (arguments.positive(sessions, "sessions"), arguments.positive(max_requests, "max_requests"))
        self._lock = threading.Lock()
        self._opened: _Open | None = None
        self._closed = False
        _templates.add(self)

    # ---- the connection

    def _open(self) -> _Open:
        opened = self._opened
        if opened is not None and not opened.is_over:
            return opened
        with self._opening():
            if self._closed:
                raise IllegalStateException("the template is closed")
            over = self._opened
            if over is not None and not over.is_over:
                return over
            opened = self._opened = _Open(self._factory.create_connection(), *self._limits)
        if over is not None:  # on a thread of its own: this one may be in a callback of it, and callbacks will run
            start_whole(Work(partial(over.close, "the connection was lost for good")))
        return opened

    @contextlib.contextmanager
    def _opening(self) -> Iterator[None]:
        """One thread opens or closes the connection; the others wait, since all need the result."""
        if not self._lock.acquire(timeout=_PATIENCE):
            raise ResourceAllocationException(f"another thread has been opening a connection for {_PATIENCE:g} s")
        try:
            yield
        finally:
            self._lock.release()

    def _lend(self) -> contextlib.AbstractContextManager[LentSession]:
        return self._open().sessions.lend()

    # ---- requests and transactions

    @overload
    def request(
        self, destination: Destination | str, value: Any, *, timeout: float | timedelta, **settings: Any
    ) -> Message: ...
    @overload
    def request(
        self, destination: Destination | str, value: Any, kind: type[T], *, timeout: float | timedelta, **settings: Any
    ) -> T: ...
    def request(
        self,
        destination: Destination | str,
        value: Any,
        kind: type[Any] | None = None,
        *,
        timeout: float | timedelta,
        **settings: Any,
    ) -> Any:
        """Send a request and return its reply; TimeoutError if none came within ``timeout`` seconds.

        The request names the template's own temporary queue for the reply, and a correlation id, which the reply must
        repeat. Any number of threads may ask at once. ``settings`` as those of ``request_async``.
        """
        future = self.request_async(destination, value, kind, timeout=timeout, **settings)
        try:
            return future.result(min(arguments.seconds(timeout) + _PATIENCE, threading.TIMEOUT_MAX))
        finally:
            future.cancel()

    def request_async(
        self,
        destination: Destination | str,
        value: Any,
        kind: type[Any] | None = None,
        *,
        timeout: float | timedelta,
        properties: Mapping[str, PropertyValue] | None = None,
        priority: int | None = None,
        time_to_live: float | timedelta | None = None,
        sent_as: Any = None,
    ) -> Future[Any]:
        """``request`` with a future, so that one thread can have many requests under way.

        ``timeout`` and ``time_to_live`` are in seconds. Done callbacks run on the thread that delivers replies, and
        must not wait.
        """
        target = where(destination)
        opened = self._open()
        requests = opened.requests()
        with opened.sessions.lend() as lent:
            waiting = requests.add(repr(target), arguments.seconds(timeout), self._read(kind))
            try:
                converted = self._converted(lent, value, sent_as)
                message = self._message(converted, properties, waiting.correlation_id, requests.reply_to)
                producer = lent.producer
                producer.delivery_delay = 0
                sent = partial(_sent, requests, waiting)
                producer.send(target, message, priority=priority, time_to_live=time_to_live, completion_listener=sent)
            except BaseException as error:
                requests.fail(waiting, error)
                raise
        return waiting.future

    @contextlib.contextmanager
    def in_transaction(self) -> Iterator[Transaction]:
        """A block whose sends and receives take effect together at its end, or not at all when it raises.

        TransactionRolledBack if a message in it could not be converted, although the block has dealt with that error.
        """
        with self._open().transactions.lend() as lent:
            transaction = Transaction(lent, self._converter)
            try:
                yield transaction
                transaction._end()
            finally:
                transaction._lent = None

    def close(self) -> None:
        """Close the connection; requests that wait fail. Idempotent; IllegalState in a callback."""
        with self._opening():
            self._closed = True
            opened = self._opened
        if opened is not None:
            try:
                opened.close("the template was closed")
            except JMSException:
                self._closed = opened.is_over  # in a callback it is refused, and the template stays open
                raise
            self._opened = None


def _after_fork() -> None:
    """In a forked child: another thread of the parent may hold the lock, and those who wait for replies are there."""
    for template in tuple(_templates):
        template._lock = threading.Lock()
        template._opened = None


at_fork(after_in_child=_after_fork)


def _as_it_is(message: Message) -> Message:
    return message


def _sent(requests: Requests, waiting: Waiting, message: Message, error: JMSException | None) -> None:
    if error is not None:
        requests.fail(waiting, error)
