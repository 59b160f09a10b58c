"""The simplified API: a connection and a session in one object (Jakarta Messaging 3.1 section 2.8)."""

import threading
from typing import Any, ClassVar, NoReturn

from jmsbridge.administration import Administration
from jmsbridge.browser import QueueBrowser
from jmsbridge.closing import Closing
from jmsbridge.connection import Connection
from jmsbridge.consumer import MessageConsumer
from jmsbridge.core.modes import AUTO_ACKNOWLEDGE
from jmsbridge.core.plan import Capability
from jmsbridge.core.runtime.closing import State
from jmsbridge.creating import Creating
from jmsbridge.destinations import Destination, Queue, TemporaryQueue, TemporaryTopic, Topic
from jmsbridge.errors import UnsupportedFeatureRuntimeException
from jmsbridge.listeners import EXCEPTION_LISTENER_NAMES, AnyExceptionListener
from jmsbridge.metadata import ConnectionMetaData
from jmsbridge.modes import SessionModes
from jmsbridge.simplified.consumer import JMSConsumer
from jmsbridge.simplified.producer import JMSProducer
from jmsbridge.simplified.unchecked import simplified
from jmsbridge.strict import Strict

__all__ = ["JMSContext"]


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

    @simplified
    def commit(self) -> None:
        """See ``Session.commit``."""
        self._session.commit()

    @simplified
    def rollback(self) -> None:
        """See ``Session.rollback``."""
        self._session.rollback()

    @simplified
    def recover(self) -> None:
        """See ``Session.recover``."""
        self._session.recover()

    @simplified
    def acknowledge(self) -> None:
        """Acknowledge everything that this session has consumed; only in CLIENT_ACKNOWLEDGE (rule AC-4)."""
        self._session.acknowledge()

    @simplified
    def unsubscribe(self, name: str) -> None:
        """See ``Session.unsubscribe``."""
        self._session.unsubscribe(name)

    def create_producer(self) -> JMSProducer:
        """A light-weight producer, which does not need to be closed."""
        self._check_open()
        self._connection._core.use()
        return JMSProducer(self._session._core, self._session)

    def _consumer(self, consumer: MessageConsumer) -> JMSConsumer:
        if self._auto_start:
            self._connection.start()
        return JMSConsumer(consumer)

    @simplified
    def create_consumer(
        self,
        destination: Destination,
        message_selector: str | None = None,
        no_local: bool = False,
        *,
        prefetch: int | None = None,
    ) -> JMSConsumer:
        """See ``Session.create_consumer``."""
        return self._consumer(self._session.create_consumer(destination, message_selector, no_local, prefetch=prefetch))

    @simplified
    def create_shared_consumer(
        self, topic: Topic, name: str, message_selector: str | None = None, *, prefetch: int | None = None
    ) -> JMSConsumer:
        """See ``Session.create_shared_consumer``."""
        return self._consumer(self._session.create_shared_consumer(topic, name, message_selector, prefetch=prefetch))

    @simplified
    def create_durable_consumer(
        self,
        topic: Topic,
        name: str,
        message_selector: str | None = None,
        no_local: bool = False,
        *,
        prefetch: int | None = None,
    ) -> JMSConsumer:
        """See ``Session.create_durable_consumer``."""
        return self._consumer(
            self._session.create_durable_consumer(topic, name, message_selector, no_local, prefetch=prefetch)
        )

    @simplified
    def create_shared_durable_consumer(
        self, topic: Topic, name: str, message_selector: str | None = None, *, prefetch: int | None = None
    ) -> JMSConsumer:
        """See ``Session.create_shared_durable_consumer``."""
        return self._consumer(
            self._session.create_shared_durable_consumer(topic, name, message_selector, prefetch=prefetch)
        )

    @simplified
    def create_browser(self, queue: Queue, message_selector: str | None = None) -> QueueBrowser:
        """See ``Session.create_browser``; does not start the connection (rule CN-3)."""
        return self._session.create_browser(queue, message_selector)

    @simplified
    def create_temporary_queue(self) -> TemporaryQueue:
        """See ``Session.create_temporary_queue``."""
        return self._session.create_temporary_queue()

    @simplified
    def create_temporary_topic(self) -> TemporaryTopic:
        """See ``Session.create_temporary_topic``."""
        return self._session.create_temporary_topic()

    @simplified
    def create_queue(self, name: str, *, literal: bool = False) -> Queue:
        """See ``Session.create_queue``; does not contact the broker (rule QU-1)."""
        return self._session.create_queue(name, literal=literal)

    @simplified
    def create_topic(self, name: str, *, literal: bool = False) -> Topic:
        """See ``Session.create_topic``; does not contact the broker (rule QU-1)."""
        return self._session.create_topic(name, literal=literal)

    # ---- the connection

    @property
    @simplified
    def client_id(self) -> str | None:
        """See ``Connection.client_id``."""
        self._session._check_open()
        return self._connection.client_id

    @client_id.setter
    def client_id(self, client_id: str) -> None:
        self._set_client_id(client_id)

    @simplified
    def _set_client_id(self, client_id: str) -> None:
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
    def exception_listener(self) -> AnyExceptionListener | None:
        """See ``Connection.exception_listener``."""
        self._session._check_open()
        return self._connection.exception_listener

    @exception_listener.setter
    def exception_listener(self, listener: AnyExceptionListener | None) -> None:
        self._set_exception_listener(listener)

    @simplified
    def _set_exception_listener(self, listener: AnyExceptionListener | None) -> None:
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
        """Not offered: Python has no XA transaction manager."""
        raise UnsupportedFeatureRuntimeException("XA contexts are not offered")

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
