"""The simplified API: a connection and a session in one object (Jakarta Messaging 3.1 section 2.8)."""

import functools
import threading
from collections.abc import Callable
from typing import Any, ClassVar, Concatenate, NoReturn, ParamSpec, TypeVar

from jmsbridge.administration import Administration
from jmsbridge.closing import Closing
from jmsbridge.connection import Connection
from jmsbridge.consumer import MessageConsumer
from jmsbridge.core.modes import AUTO_ACKNOWLEDGE
from jmsbridge.core.plan import Capability
from jmsbridge.core.runtime.closing import State
from jmsbridge.creating import Creating
from jmsbridge.errors import UnsupportedFeatureRuntimeException
from jmsbridge.listeners import EXCEPTION_LISTENER_NAMES, AnyExceptionListener
from jmsbridge.metadata import ConnectionMetaData
from jmsbridge.modes import SessionModes
from jmsbridge.positions import MessagePositions
from jmsbridge.session import Session
from jmsbridge.simplified.consumer import JMSConsumer
from jmsbridge.simplified.producer import JMSProducer
from jmsbridge.simplified.unchecked import simplified
from jmsbridge.strict import Strict

__all__ = ["JMSContext"]

P = ParamSpec("P")
R = TypeVar("R")


class _Shared:
    """A connection and the contexts on it."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._lock = threading.Lock()  # guards _contexts
        self._contexts = 0

    def enter(self) -> None:
        with self._lock:
            self._contexts += 1

    def leave(self, context: "JMSContext") -> bool:
        """Forget a context; returns whether it was the last one. Repeated calls count once."""
        with self._lock:
            first, context._left = not context._left, True
            self._contexts -= first
            return first and self._contexts == 0


def _of_session(method: Callable[Concatenate[Session, P], R]) -> Callable[Concatenate["JMSContext", P], R]:
    """A method of the context that calls this one of its session."""

    @functools.wraps(method)
    @simplified
    def call(context: "JMSContext", /, *args: P.args, **kwargs: P.kwargs) -> R:
        return method(context._session, *args, **kwargs)

    return call


def _consuming(
    create: Callable[Concatenate[Session, P], MessageConsumer],
) -> Callable[Concatenate["JMSContext", P], JMSConsumer]:
    """The same for a method that creates a consumer: then starts the connection, unless ``auto_start`` is False."""

    @functools.wraps(create)
    @simplified
    def call(context: "JMSContext", /, *args: P.args, **kwargs: P.kwargs) -> JMSConsumer:
        consumer = create(context._session, *args, **kwargs)
        if context._auto_start:
            context._connection.start()
        return JMSConsumer(consumer)

    return call


class JMSContext(Closing, Creating, SessionModes, Strict):
    """A connection and one session on it; ``create_context`` creates further sessions on the same connection.

    Not thread-safe, except ``close`` and ``create_context``. Creating a consumer starts the connection unless
    ``auto_start`` is False. All its exceptions are unchecked (JMSRuntimeException and subclasses).
    """

    __slots__ = ("__weakref__", "_auto_start", "_connection", "_left", "_session", "_shared")
    _advice: ClassVar[dict[str, str]] = EXCEPTION_LISTENER_NAMES

    def __init__(
        self, connection: Connection, session_mode: int = AUTO_ACKNOWLEDGE, shared: _Shared | None = None
    ) -> None:
        try:
            used = connection._core.is_used or shared is not None
            self._session = connection.create_session(session_mode=session_mode)
            connection._core.is_used = used  # the first session is part of the context: its client id may still be set
        except BaseException:
            if shared is None:
                connection.close()
            raise
        self._connection = connection
        self._shared = shared or _Shared(connection)
        self._shared.enter()
        self._auto_start = True
        self._left = False

    @simplified
    def _check_open(self) -> None:
        self._session._check_open()

    # ---- the session

    @property
    @simplified
    def session_mode(self) -> int:
        """The session mode."""
        return self._session.acknowledge_mode

    @property
    @simplified
    def transacted(self) -> bool:
        """Whether sends and receipts take effect at ``commit``."""
        return self._session.transacted

    commit = _of_session(Session.commit)
    rollback = _of_session(Session.rollback)
    recover = _of_session(Session.recover)
    acknowledge = _of_session(Session.acknowledge)
    unsubscribe = _of_session(Session.unsubscribe)
    create_browser = _of_session(Session.create_browser)  # does not start the connection (rule CN-3)
    create_temporary_queue = _of_session(Session.create_temporary_queue)
    create_temporary_topic = _of_session(Session.create_temporary_topic)
    create_queue = _of_session(Session.create_queue)
    create_topic = _of_session(Session.create_topic)
    create_consumer = _consuming(Session.create_consumer)
    create_shared_consumer = _consuming(Session.create_shared_consumer)
    create_durable_consumer = _consuming(Session.create_durable_consumer)
    create_shared_durable_consumer = _consuming(Session.create_shared_durable_consumer)

    def create_producer(self) -> JMSProducer:
        """A light-weight producer, which does not need to be closed."""
        self._check_open()
        self._connection._core.use()
        return JMSProducer(self._session._core, self._session)

    # ---- the connection

    @property
    @simplified
    def client_id(self) -> str | None:
        """See ``Connection.client_id``."""
        self._session._check_open()
        return self._connection.client_id

    @client_id.setter
    @simplified
    def client_id(self, client_id: str) -> None:
        self._session._check_open()
        self._connection.client_id = client_id

    @property
    @simplified
    def meta_data(self) -> ConnectionMetaData:
        """See ``Connection.meta_data``."""
        self._session._check_open()
        return self._connection.meta_data

    @property
    @simplified
    def capabilities(self) -> dict[str, Capability]:
        """See ``Connection.capabilities``."""
        self._session._check_open()
        return self._connection.capabilities

    @property
    @simplified
    def admin(self) -> Administration:
        """See ``Connection.admin``."""
        self._session._check_open()
        return Administration(self._connection._core, simplified=True, connection=self._connection)

    @property
    @simplified
    def positions(self) -> MessagePositions:
        """See ``Connection.positions``."""
        self._session._check_open()
        return MessagePositions(self._connection._core, simplified=True, connection=self._connection)

    @property
    @simplified
    def exception_listener(self) -> AnyExceptionListener | None:
        """See ``Connection.exception_listener``."""
        self._session._check_open()
        return self._connection.exception_listener

    @exception_listener.setter
    @simplified
    def exception_listener(self, listener: AnyExceptionListener | None) -> None:
        self._session._check_open()
        self._connection.exception_listener = listener

    @property
    def auto_start(self) -> bool:
        """Whether creating a consumer starts the connection; by default True."""
        self._check_open()
        return self._auto_start

    @auto_start.setter
    def auto_start(self, value: bool) -> None:
        self._check_open()
        self._auto_start = bool(value)

    @simplified
    def start(self) -> None:
        """See ``Connection.start``."""
        self._session._check_open()
        self._connection.start()

    @simplified
    def stop(self) -> None:
        """See ``Connection.stop``."""
        self._session._check_open()
        self._connection.stop()

    @simplified
    def create_context(self, session_mode: int) -> "JMSContext":
        """Another session on the same connection, which stays started or stopped; from any thread."""
        self._session._check_open()
        return JMSContext(self._connection, session_mode, self._shared)

    def create_xa_context(self, *arguments: Any) -> NoReturn:
        """Not supported: Python has no XA transaction manager."""
        raise UnsupportedFeatureRuntimeException("XA contexts are not supported; use a context with SESSION_TRANSACTED")

    @simplified
    def close(self) -> None:
        """Close the session, and with the last context also the connection (rule CL-10); idempotent.

        IllegalStateRuntimeException from a listener or completion listener of this context.
        """
        try:
            self._session.close()
        finally:
            if self._session._core.life.state is State.CLOSED and self._shared.leave(self):
                self._connection.close()

    def __repr__(self) -> str:
        return f"<JMSContext on {self._connection!r}>"
