"""A client's active connection to its broker, for the tasks of one event loop."""

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import Any, ClassVar, Never, TypeAlias, overload

from jmsbridge import connection as threaded
from jmsbridge import factory
from jmsbridge.aio.loops import Port
from jmsbridge.aio.opening import AsyncClosing, Opening
from jmsbridge.aio.pool import Tasks, run, wait_to_the_end
from jmsbridge.aio.session import Session
from jmsbridge.core.modes import AUTO_ACKNOWLEDGE
from jmsbridge.core.plan import Capability
from jmsbridge.errors import IllegalStateException, JMSException
from jmsbridge.listeners import EXCEPTION_LISTENER_NAMES, as_function
from jmsbridge.metadata import ConnectionMetaData
from jmsbridge.modes import MISSING, chosen_mode
from jmsbridge.strict import Strict

__all__ = ["AnyExceptionListener", "Connection", "connect"]

AnyExceptionListener: TypeAlias = Callable[[JMSException], Awaitable[object] | object]
"""A function, plain or ``async``."""

log = logging.getLogger("jmsbridge.connection")


class Connection(AsyncClosing, Strict):
    """A connection to a broker, created stopped: it delivers no messages before ``start``.

    It belongs to the event loop in which it was opened. Reconnects by itself when its link is lost, as the
    ``reconnect_…`` options say. Every method of a closed connection raises IllegalStateException.
    """

    __slots__ = ("__weakref__", "_closing", "_core", "_exception_listener", "_port", "_sessions", "_sync", "_tasks")
    _advice: ClassVar[dict[str, str]] = EXCEPTION_LISTENER_NAMES
    _exception_listener: AnyExceptionListener | None

    def __init__(self, port: Port, sync: threaded.Connection) -> None:
        self._port = port
        self._sync = sync
        self._core = sync._core
        self._sessions: set[Session] = set()  # that are open
        self._tasks = Tasks()
        self._closing: asyncio.Task[None] | None = None
        self._exception_listener = None
        port.watch(self._core)

    def _check(self) -> None:
        self._port.check()
        self._core.check_open()
        if self._closing is not None:
            raise IllegalStateException(f"the connection {self._core.name} is closed")

    # ---- attributes

    @property
    def client_id(self) -> str | None:
        """The client identifier, as configured with the option ``client_id``, or by ``set_client_id``."""
        return self._sync.client_id

    async def set_client_id(self, client_id: str) -> None:
        """Set it, once, before any other use of the connection (section 6.1.2). The option is simpler."""
        self._check()
        await run(self._port, lambda: self._core.set_client_id(client_id))

    @property
    def meta_data(self) -> ConnectionMetaData:
        """Versions of the API, of jmsbridge and of the broker."""
        return self._sync.meta_data

    @property
    def state(self) -> str:
        """``connected``, ``reconnecting``, ``failed`` when reconnecting was given up, or ``closed``; never waits."""
        return self._sync.state

    async def capabilities(self) -> dict[str, Capability]:
        """What the broker of the present link can do, by feature; waits for a reconnect."""
        self._check()
        return await run(self._port, lambda: self._sync.capabilities)

    @property
    def exception_listener(self) -> AnyExceptionListener | None:
        """Called in the loop with each problem that no call reports; a plain function or an ``async`` one, or None."""
        self._core.check_open()
        return self._exception_listener

    @exception_listener.setter
    def exception_listener(self, listener: AnyExceptionListener | None) -> None:
        self._check()
        call = as_function(listener, "on_exception", "an exception listener")
        tell = None if call is None else partial(_post, self._port, self._tasks, call)  # must not keep this connection
        self._sync.exception_listener = tell
        self._exception_listener = listener

    # ---- sessions

    @overload
    def create_session(
        self,
        session_mode: int = AUTO_ACKNOWLEDGE,
        *,
        prefetch: int | None = None,
        dups_ok_messages: int | None = None,
        dups_ok_interval: float | timedelta | None = None,
    ) -> Opening[Session]: ...
    @overload
    def create_session(
        self,
        transacted: bool = False,
        acknowledge_mode: int = AUTO_ACKNOWLEDGE,
        *,
        prefetch: int | None = None,
        dups_ok_messages: int | None = None,
        dups_ok_interval: float | timedelta | None = None,
    ) -> Opening[Session]: ...
    def create_session(
        self,
        *given: Any,
        transacted: Any = MISSING,
        acknowledge_mode: Any = MISSING,
        session_mode: Any = MISSING,
        prefetch: int | None = None,
        dups_ok_messages: int | None = None,
        dups_ok_interval: float | timedelta | None = None,
    ) -> Opening[Session]:
        """A session: ``create_session(mode)`` as in JMS 2.0, or ``create_session(transacted, mode)`` as in JMS 1.1.

        The default mode is AUTO_ACKNOWLEDGE. The other arguments override the connection's options;
        ``dups_ok_interval`` is in seconds.
        """

        async def make() -> Session:
            self._check()
            mode = chosen_mode("create_session", given, transacted, acknowledge_mode, session_mode)
            settings = self._sync._settings(mode, prefetch, dups_ok_messages, dups_ok_interval)
            return await Session.open(self, settings)

        return Opening(make())

    # ---- life

    async def start(self) -> None:
        """Start or resume the delivery of messages; idempotent."""
        self._check()
        await run(self._port, self._core.start)

    async def stop(self) -> None:
        """Pause delivery; returns when no listener is running and no receive will return a message; idempotent.

        IllegalState from a message listener of this connection.
        """
        self._check()
        if not any(session._delivering.is_current() for session in self._sessions):
            self._core.delivery.on = False
            for session in tuple(self._sessions):
                await session._delivering.wait_quiet()
        await run(self._port, self._core.stop)

    async def close(self) -> None:
        """Close all sessions, delete temporary destinations, and disconnect.

        Waits as ``Session.close`` does. IllegalState from a listener of one of its sessions. A cancelled close still
        goes on to its end. Idempotent.
        """
        self._port.check()
        if any(session._delivering.is_current() for session in self._sessions):
            raise IllegalStateException("close is not allowed in a callback of the connection's own sessions")
        if self._closing is None:
            self._closing = self._port.loop.create_task(self._close())
        await wait_to_the_end(self._closing)

    async def _close(self) -> None:
        sessions = tuple(self._sessions)
        await asyncio.gather(*(session._wait_settled() for session in sessions))
        try:
            await run(self._port, self._core.close)
        finally:
            for session in sessions:
                session._end()

    def __repr__(self) -> str:
        return f"<aio.{type(self).__name__} {self._core.name} {self._core.life.state.name.lower()}>"


def _post(port: Port, tasks: Tasks, call: Callable[[Any], Any], error: JMSException) -> None:
    if not port.post(lambda: tasks.start(port, _tell(call, error))):
        log.error("the event loop is closed, and its exception listener does not get: %s", error)


async def _tell(call: Callable[[Any], Any], error: JMSException) -> None:
    try:
        result = call(error)
        if inspect.isawaitable(result):
            await result
    except (Exception, SystemExit):  # user code: it must not end the loop
        log.exception("the exception listener raised")


def connect(
    target: str | Sequence[str] | None = None,
    *wrong: Never,
    user: str | None = None,
    password: str | None = None,
    **options: Any,
) -> Opening[Connection]:
    """A connection to ``target``, with the arguments of ``jmsbridge.connect``.

    ``async with aio.connect(target) as connection:``, or ``connection = await aio.connect(target)``. It belongs to the
    running event loop.
    """

    async def make() -> Connection:
        port = Port.here()
        sync = await run(
            port,
            lambda: factory.connect(target, *wrong, user=user, password=password, **options),
            lambda made: made.close(),
        )
        return Connection(port, sync)

    return Opening(make())
