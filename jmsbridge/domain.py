"""The domain-specific interfaces of JMS 1.x, thin (Jakarta Messaging 3.1 section 9.2).

What belongs to the other domain raises IllegalState before anything else is looked at (rules DF-2, DF-3).
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, NoReturn

from jmsbridge.closing import Closing
from jmsbridge.config import Target
from jmsbridge.connection import Connection
from jmsbridge.consumer import QueueReceiver, TopicSubscriber
from jmsbridge.core import arguments
from jmsbridge.core.modes import AUTO_ACKNOWLEDGE, SESSION_TRANSACTED, session_mode
from jmsbridge.core.session import SessionCore
from jmsbridge.destinations import Destination, Queue, Topic
from jmsbridge.errors import IllegalStateException, InvalidDestinationException
from jmsbridge.factory import ConnectionFactory
from jmsbridge.message import message_for_body
from jmsbridge.producer import MessageProducer
from jmsbridge.session import Session
from jmsbridge.spi import Backend, registry

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

    @property
    def queue(self) -> Destination | None:
        """The queue; None when anonymous."""
        return self.destination


class TopicPublisher(MessageProducer):
    """A producer for a topic."""

    @property
    def topic(self) -> Destination | None:
        """The topic; None when anonymous."""
        return self.destination

    def publish(self, *arguments: Any, **options: Any) -> None:
        """``send`` by its older name: ``publish(message)`` or ``publish(topic, message)``."""
        self.send(*arguments, **options)


class _DomainSession(Session):
    """A session that refuses what belongs to the other domain."""

    def _forbidden(self, what: str) -> NoReturn:
        self._check_open()
        _wrong_domain(what)


class QueueSession(_DomainSession):
    """A session for queues only."""

    def create_sender(self, queue: Queue | None) -> QueueSender:
        """A producer for a queue; anonymous for None."""
        self._check_open()
        return QueueSender(self._engine, None if queue is None else arguments.queue(queue))

    def create_receiver(self, queue: Queue, message_selector: str | None = None) -> QueueReceiver:
        """A consumer of a queue."""
        self._check_open()
        target = arguments.queue(queue)
        return self._engine.consume(self._interest(target, message_selector, None), QueueReceiver, target)

    def create_durable_subscriber(self, *_: Any, **__: Any) -> NoReturn:
        """Belongs to topics."""
        self._forbidden("create_durable_subscriber")

    def create_durable_consumer(self, *_: Any, **__: Any) -> NoReturn:
        """Belongs to topics."""
        self._forbidden("create_durable_consumer")

    def create_shared_consumer(self, *_: Any, **__: Any) -> NoReturn:
        """Belongs to topics."""
        self._forbidden("create_shared_consumer")

    def create_shared_durable_consumer(self, *_: Any, **__: Any) -> NoReturn:
        """Belongs to topics."""
        self._forbidden("create_shared_durable_consumer")

    def create_temporary_topic(self) -> NoReturn:
        """Belongs to topics."""
        self._forbidden("create_temporary_topic")

    def create_topic(self, name: str) -> NoReturn:
        """Belongs to topics."""
        self._forbidden("create_topic")

    def unsubscribe(self, name: str) -> NoReturn:
        """Belongs to topics."""
        self._forbidden("unsubscribe")


class TopicSession(_DomainSession):
    """A session for topics only."""

    def create_publisher(self, topic: Topic | None) -> TopicPublisher:
        """A producer for a topic; anonymous for None."""
        self._check_open()
        return TopicPublisher(self._engine, None if topic is None else arguments.topic(topic))

    def create_subscriber(
        self, topic: Topic, message_selector: str | None = None, no_local: bool = False
    ) -> TopicSubscriber:
        """A consumer of a new non-durable subscription."""
        self._check_open()
        target = arguments.topic(topic)
        interest = self._interest(target, message_selector, None, no_local=no_local)
        return self._engine.consume(interest, TopicSubscriber, target)

    def create_browser(self, *_: Any, **__: Any) -> NoReturn:
        """Belongs to queues."""
        self._forbidden("create_browser")

    def create_queue(self, name: str) -> NoReturn:
        """Belongs to queues."""
        self._forbidden("create_queue")

    def create_temporary_queue(self) -> NoReturn:
        """Belongs to queues."""
        self._forbidden("create_temporary_queue")


class QueueConnection(Connection):
    """A connection for queues only."""

    def create_queue_session(
        self, transacted: bool | int = False, acknowledge_mode: int = AUTO_ACKNOWLEDGE
    ) -> QueueSession:
        """A session for queues."""
        self._core.check_open()
        mode = SESSION_TRANSACTED if transacted else session_mode(acknowledge_mode)
        return QueueSession(self, self._settings(mode))

    def _topics_only(self, *_: Any, **__: Any) -> NoReturn:
        self._core.check_open()
        _wrong_domain("a connection consumer on a topic subscription")

    create_shared_connection_consumer = _topics_only
    create_durable_connection_consumer = _topics_only
    create_shared_durable_connection_consumer = _topics_only


class TopicConnection(Connection):
    """A connection for topics only."""

    def create_topic_session(
        self, transacted: bool | int = False, acknowledge_mode: int = AUTO_ACKNOWLEDGE
    ) -> TopicSession:
        """A session for topics."""
        self._core.check_open()
        mode = SESSION_TRANSACTED if transacted else session_mode(acknowledge_mode)
        return TopicSession(self, self._settings(mode))


class QueueConnectionFactory(ConnectionFactory):
    """Makes connections for queues."""

    def create_queue_connection(self, user_name: str | None = None, password: str | None = None) -> QueueConnection:
        """A new connection, stopped."""
        target, backend = _open(self, user_name, password)
        return QueueConnection(target, backend)


class TopicConnectionFactory(ConnectionFactory):
    """Makes connections for topics."""

    def create_topic_connection(self, user_name: str | None = None, password: str | None = None) -> TopicConnection:
        """A new connection, stopped."""
        target, backend = _open(self, user_name, password)
        return TopicConnection(target, backend)


def _open(factory: ConnectionFactory, user_name: str | None, password: str | None) -> tuple[Target, Backend]:
    target = factory._resolved(user_name, password)
    return target, registry.load(target.scheme)


class _Requestor(Closing):
    """Sends a request with a temporary reply destination and waits for the first reply (section 9.2.3)."""

    def __init__(self, session: Session, destination: Any, reply_to: Any) -> None:
        self._session = session
        self._reply_to = reply_to
        self._producer = session.create_producer(destination)
        self._consumer = session.create_consumer(reply_to)

    def request(self, message: Any, *, timeout: float | timedelta | None = None) -> Any:
        """Send and wait for the reply; for ever, as the specification has it, unless ``timeout`` seconds are given.

        ``message`` may be a plain body.
        """
        if isinstance(message, str | bytes | Mapping):
            message = message_for_body(message)
        message.jms_reply_to = self._reply_to
        self._producer.send(message)
        return self._consumer.receive(timeout=timeout)

    def close(self) -> None:
        """Close the session, then delete the temporary destination."""
        self._session.close()
        self._reply_to.delete()


def _check_requestor(session: Session, destination: Any) -> None:
    engine: SessionCore = session._engine
    engine.check_open()
    if destination is None:
        raise InvalidDestinationException("a requestor needs a destination")
    if not engine.incoming.policy.automatic:
        raise IllegalStateException("a requestor needs a session that acknowledges by itself")


class QueueRequestor(_Requestor):
    """Request and reply over a queue."""

    def __init__(self, session: Session, queue: Queue) -> None:
        _check_requestor(session, queue)
        super().__init__(session, arguments.queue(queue), session.create_temporary_queue())


class TopicRequestor(_Requestor):
    """Request and reply over a topic."""

    def __init__(self, session: Session, topic: Topic) -> None:
        _check_requestor(session, topic)
        super().__init__(session, arguments.topic(topic), session.create_temporary_topic())
