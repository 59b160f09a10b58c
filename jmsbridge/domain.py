"""The domain-specific interfaces of JMS 1.x, as thin subclasses (Jakarta Messaging 3.1 section 9.2).

A method of the other domain raises IllegalState before it checks its arguments (rules DF-2, DF-3).
"""

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Never, NoReturn, overload

from jmsbridge.closing import Closing
from jmsbridge.connection import Connection
from jmsbridge.consumer import QueueReceiver, TopicSubscriber
from jmsbridge.core import arguments
from jmsbridge.core.modes import AUTO_ACKNOWLEDGE
from jmsbridge.core.session import SessionCore
from jmsbridge.destinations import Destination, Queue, TemporaryQueue, TemporaryTopic, Topic
from jmsbridge.errors import IllegalStateException
from jmsbridge.factory import ConnectionFactory
from jmsbridge.message import Message
from jmsbridge.modes import chosen_mode
from jmsbridge.producer import MessageProducer
from jmsbridge.replies import GivenUp, check_requestor, request_of
from jmsbridge.sending import Sendable
from jmsbridge.session import Session
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
    raise IllegalStateException(f"{what} belongs to the other messaging domain; Connection and Session have both")


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


def _refused(what: str) -> Callable[..., NoReturn]:
    """A method of the other domain."""

    def refuse(session: Session, *_: Any, **__: Any) -> NoReturn:
        """Raises IllegalState: belongs to the other messaging domain."""
        session._check_open()
        _wrong_domain(what)

    return refuse


class QueueSession(Session):
    """A session for queues only."""

    __slots__ = ()

    def create_sender(self, queue: Queue | None) -> QueueSender:
        """A producer for a queue; an anonymous one for None."""
        self._check_open()
        return self._attach(QueueSender(self._core, None if queue is None else arguments.queue(queue)))

    def create_receiver(self, queue: Queue, message_selector: str | None = None) -> QueueReceiver:
        """A consumer of a queue."""
        self._check_open()
        return self._consume(QueueReceiver, arguments.queue(queue), message_selector)

    create_durable_subscriber = _refused("create_durable_subscriber")
    create_durable_consumer = _refused("create_durable_consumer")
    create_shared_consumer = _refused("create_shared_consumer")
    create_shared_durable_consumer = _refused("create_shared_durable_consumer")
    create_temporary_topic = _refused("create_temporary_topic")
    create_topic = _refused("create_topic")
    unsubscribe = _refused("unsubscribe")


class TopicSession(Session):
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
        return self._consume(TopicSubscriber, arguments.topic(topic), message_selector, no_local=no_local)

    create_browser = _refused("create_browser")
    create_queue = _refused("create_queue")
    create_temporary_queue = _refused("create_temporary_queue")


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
        return self._connect(QueueConnection, user_name, password)


class TopicConnectionFactory(ConnectionFactory):
    """Creates connections for topics."""

    __slots__ = ()

    def create_topic_connection(self, user_name: str | None = None, password: str | None = None) -> TopicConnection:
        """A new connection, stopped."""
        return self._connect(TopicConnection, user_name, password)


class _Requestor(Closing, Strict):
    """Sends a request with a temporary reply destination and waits for the first reply (section 9.2.3)."""

    __slots__ = ("_consumer", "_given_up", "_producer", "_reply_to", "_session")

    def __init__(self, session: Session, destination: Queue | Topic, reply_to: TemporaryQueue | TemporaryTopic) -> None:
        self._session = session
        self._reply_to = reply_to
        self._producer = session.create_producer(destination)
        self._consumer = session.create_consumer(reply_to)
        self._given_up = GivenUp()

    def request(self, message: Sendable, *wrong: Never, timeout: float | timedelta | None = None) -> Message | None:
        """Send and wait for the reply: for ever, as specified, unless ``timeout`` (seconds) is given.

        ``message`` may be a plain body. None after the timeout, or when the session is closed. A reply that comes after
        the timeout, with the id or the correlation id of its request as its correlation id, is dropped by a later call.
        """
        if wrong:
            arguments.refuse_positional_timeout("request(message, {})", wrong)
        timeout = None if timeout is None else arguments.seconds(timeout)
        asking = request_of(message)
        asking.jms_reply_to = self._reply_to
        deadline = None if timeout is None else time.monotonic() + timeout
        self._producer.send(asking)
        reply = self._consumer.receive(timeout=timeout)
        while reply is not None and self._given_up.has(reply, asking):
            reply = self._consumer.receive(timeout=deadline and max(0.0, deadline - time.monotonic()))
        if reply is None:
            self._given_up.add(asking)
        return reply

    def close(self) -> None:
        """Close the session, then delete the temporary destination."""
        self._session.close()
        self._reply_to.delete()


def _check_requestor(session: Session, destination: Any) -> None:
    core: SessionCore = session._core
    core.check_open()
    check_requestor(core, destination)


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
