"""The domain-specific interfaces of JMS 1.x, as thin subclasses (Jakarta Messaging 3.1 section 9.2).

A method of the other domain raises IllegalState before it checks its arguments (rules DF-2, DF-3).
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Never, NoReturn, overload

from jmsbridge.closing import Closing
from jmsbridge.config import Target
from jmsbridge.connection import Connection
from jmsbridge.consumer import QueueReceiver, TopicSubscriber
from jmsbridge.core import arguments
from jmsbridge.core.modes import AUTO_ACKNOWLEDGE
from jmsbridge.core.session import SessionCore
from jmsbridge.destinations import Destination, Queue, TemporaryQueue, TemporaryTopic, Topic
from jmsbridge.errors import IllegalStateException, InvalidDestinationException
from jmsbridge.factory import ConnectionFactory
from jmsbridge.message import Message, message_for_body
from jmsbridge.modes import chosen_mode
from jmsbridge.producer import MessageProducer
from jmsbridge.sending import Sendable
from jmsbridge.session import Session
from jmsbridge.spi import Backend, registry
from jmsbridge.strict import Strict

__all__ = [
    "QueueConnection",
    "QueueConnectionFactory",
    "QueueReceiver",
    "QueueRequestor",
    "QueueSender",
    "QueueSession",
    "TopicConnection",
    "TopicConnectionFactory",
    "TopicPublisher",
    "TopicRequestor",
    "TopicSession",
    "TopicSubscriber",
]


def _wrong_domain(what: str) -> NoReturn:
    raise IllegalStateException(f"{what} belongs to the other messaging domain")


class QueueSender(MessageProducer):
    """A producer for a queue."""

    __slots__ = ()

    @property
    def queue(self) -> Destination | None:
        """The queue; None if anonymous."""
        return self.destination


class TopicPublisher(MessageProducer):
    """A producer for a topic."""

    __slots__ = ()

    @property
    def topic(self) -> Destination | None:
        """The topic; None if anonymous."""
        return self.destination

    publish = MessageProducer.send  # the name in JMS 1.x


class _DomainSession(Session):
    """A session that refuses the methods of the other domain."""

    __slots__ = ()

    def _forbidden(self, what: str) -> NoReturn:
        self._check_open()
        _wrong_domain(what)


class QueueSession(_DomainSession):
    """A session for queues only."""

    __slots__ = ()

    def create_sender(self, queue: Queue | None) -> QueueSender:
        """A producer for a queue; an anonymous one for None."""
        self._check_open()
        return self._attach(QueueSender(self._core, None if queue is None else arguments.queue(queue)))

    def create_receiver(self, queue: Queue, message_selector: str | None = None) -> QueueReceiver:
        """A consumer of a queue."""
        self._check_open()
        target = arguments.queue(queue)
        return self._attach(self._core.consume(self._interest(target, message_selector, None), QueueReceiver, target))

    def create_durable_subscriber(self, *_: Any, **__: Any) -> NoReturn:
        """Raises IllegalState: for topics only."""
        self._forbidden("create_durable_subscriber")

    def create_durable_consumer(self, *_: Any, **__: Any) -> NoReturn:
        """Raises IllegalState: for topics only."""
        self._forbidden("create_durable_consumer")

    def create_shared_consumer(self, *_: Any, **__: Any) -> NoReturn:
        """Raises IllegalState: for topics only."""
        self._forbidden("create_shared_consumer")

    def create_shared_durable_consumer(self, *_: Any, **__: Any) -> NoReturn:
        """Raises IllegalState: for topics only."""
        self._forbidden("create_shared_durable_consumer")

    def create_temporary_topic(self) -> NoReturn:
        """Raises IllegalState: for topics only."""
        self._forbidden("create_temporary_topic")

    def create_topic(self, name: str, *, literal: bool = False) -> NoReturn:
        """Raises IllegalState: for topics only."""
        self._forbidden("create_topic")

    def unsubscribe(self, name: str) -> NoReturn:
        """Raises IllegalState: for topics only."""
        self._forbidden("unsubscribe")


class TopicSession(_DomainSession):
    """A session for topics only."""

    __slots__ = ()

    def create_publisher(self, topic: Topic | None) -> TopicPublisher:
        """A producer for a topic; an anonymous one for None."""
        self._check_open()
        return self._attach(TopicPublisher(self._core, None if topic is None else arguments.topic(topic)))

    def create_subscriber(
        self, topic: Topic, message_selector: str | None = None, no_local: bool = False
    ) -> TopicSubscriber:
        """A consumer of a new non-durable subscription."""
        self._check_open()
        target = arguments.topic(topic)
        interest = self._interest(target, message_selector, None, no_local=no_local)
        return self._attach(self._core.consume(interest, TopicSubscriber, target))

    def create_browser(self, *_: Any, **__: Any) -> NoReturn:
        """Raises IllegalState: for queues only."""
        self._forbidden("create_browser")

    def create_queue(self, name: str, *, literal: bool = False) -> NoReturn:
        """Raises IllegalState: for queues only."""
        self._forbidden("create_queue")

    def create_temporary_queue(self) -> NoReturn:
        """Raises IllegalState: for queues only."""
        self._forbidden("create_temporary_queue")


class QueueConnection(Connection):
    """A connection for queues only."""

    __slots__ = ()

    @overload
    def create_queue_session(self, session_mode: int = AUTO_ACKNOWLEDGE) -> QueueSession: ...
    @overload
    def create_queue_session(
        self, transacted: bool = False, acknowledge_mode: int = AUTO_ACKNOWLEDGE
    ) -> QueueSession: ...
    def create_queue_session(self, *given: Any, **named: Any) -> QueueSession:
        """A session for queues; arguments as for ``create_session``."""
        self._core.check_open()
        return QueueSession(self, self._settings(chosen_mode("create_queue_session", given, **named)))

    def _topics_only(self, *_: Any, **__: Any) -> NoReturn:
        self._core.check_open()
        _wrong_domain("a connection consumer on a topic subscription")

    create_shared_connection_consumer = _topics_only
    create_durable_connection_consumer = _topics_only
    create_shared_durable_connection_consumer = _topics_only


class TopicConnection(Connection):
    """A connection for topics only."""

    __slots__ = ()

    @overload
    def create_topic_session(self, session_mode: int = AUTO_ACKNOWLEDGE) -> TopicSession: ...
    @overload
    def create_topic_session(
        self, transacted: bool = False, acknowledge_mode: int = AUTO_ACKNOWLEDGE
    ) -> TopicSession: ...
    def create_topic_session(self, *given: Any, **named: Any) -> TopicSession:
        """A session for topics; arguments as for ``create_session``."""
        self._core.check_open()
        return TopicSession(self, self._settings(chosen_mode("create_topic_session", given, **named)))


class QueueConnectionFactory(ConnectionFactory):
    """Creates connections for queues."""

    __slots__ = ()

    def create_queue_connection(self, user_name: str | None = None, password: str | None = None) -> QueueConnection:
        """A new connection, stopped."""
        target, backend = _open(self, user_name, password)
        return QueueConnection(target, backend)


class TopicConnectionFactory(ConnectionFactory):
    """Creates connections for topics."""

    __slots__ = ()

    def create_topic_connection(self, user_name: str | None = None, password: str | None = None) -> TopicConnection:
        """A new connection, stopped."""
        target, backend = _open(self, user_name, password)
        return TopicConnection(target, backend)


def _open(factory: ConnectionFactory, user_name: str | None, password: str | None) -> tuple[Target, Backend]:
    target = factory._resolved(user_name, password)
    return target, registry.load(target.scheme)


class _Requestor(Closing, Strict):
    """Sends a request with a temporary reply destination and waits for the first reply (section 9.2.3)."""

    __slots__ = ("_consumer", "_producer", "_reply_to", "_session")

    def __init__(self, session: Session, destination: Queue | Topic, reply_to: TemporaryQueue | TemporaryTopic) -> None:
        self._session = session
        self._reply_to = reply_to
        self._producer = session.create_producer(destination)
        self._consumer = session.create_consumer(reply_to)

    def request(self, message: Sendable, *wrong: Never, timeout: float | timedelta | None = None) -> Message | None:
        """Send and wait for the reply: for ever, as specified, unless ``timeout`` (seconds) is given.

        ``message`` may be a plain body. None after the timeout, or when the session is closed.
        """
        if wrong:
            arguments.refuse_positional_timeout("request(message, {})", wrong)
        body = isinstance(message, str | bytes | bytearray | memoryview | Mapping)
        asking: Any = (
            message_for_body(message) if body else message
        )  # messages of other providers have this setter, too
        asking.jms_reply_to = self._reply_to
        self._producer.send(asking)
        return self._consumer.receive(timeout=timeout)

    def close(self) -> None:
        """Close the session, then delete the temporary destination."""
        self._session.close()
        self._reply_to.delete()


def _check_requestor(session: Session, destination: Any) -> None:
    core: SessionCore = session._core
    core.check_open()
    if destination is None:
        raise InvalidDestinationException("a requestor needs a destination")
    if not core.incoming.policy.automatic:
        raise IllegalStateException("a requestor needs a session that acknowledges automatically")


class QueueRequestor(_Requestor):
    """Request and reply over a queue."""

    __slots__ = ()

    def __init__(self, session: Session, queue: Queue) -> None:
        _check_requestor(session, queue)
        super().__init__(session, arguments.queue(queue), session.create_temporary_queue())


class TopicRequestor(_Requestor):
    """Request and reply over a topic."""

    __slots__ = ()

    def __init__(self, session: Session, topic: Topic) -> None:
        _check_requestor(session, topic)
        super().__init__(session, arguments.topic(topic), session.create_temporary_topic())
