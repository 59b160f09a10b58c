"""A single-threaded context for producing and consuming (Jakarta Messaging 3.1 section 6.2)."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from jmsbridge.browser import QueueBrowser
from jmsbridge.closing import Closing
from jmsbridge.consumer import MessageConsumer, TopicSubscriber
from jmsbridge.core import arguments
from jmsbridge.core.runtime.executor import ON_THREADS, Executors
from jmsbridge.core.session import SessionSettings
from jmsbridge.creating import Creating
from jmsbridge.destinations import Destination, Queue, TemporaryQueue, TemporaryTopic, Topic
from jmsbridge.errors import (
    IllegalStateException,
    InvalidDestinationException,
    JMSException,
    UnsupportedFeatureException,
)
from jmsbridge.listeners import AnySendAcknowledgementHandler, as_function
from jmsbridge.message import Message
from jmsbridge.modes import SessionModes
from jmsbridge.producer import MessageProducer
from jmsbridge.spi import Interest, Native
from jmsbridge.strict import Strict

if TYPE_CHECKING:
    from jmsbridge.connection import Connection

__all__ = ["Session"]

C = TypeVar("C", bound=MessageProducer | MessageConsumer | QueueBrowser)
K = TypeVar("K", bound=MessageConsumer)


class Session(Closing, Creating, SessionModes, Strict):
    """One thread's producers and consumers, with their order, acknowledgements and transaction.

    Not thread-safe: one thread uses a session at a time, a listener's thread included. Only ``close`` may be called
    from any thread (section 6.2.5). Every method of a closed session raises IllegalStateException.
    """

    __slots__ = ("__weakref__", "_connection", "_core")

    def __init__(self, connection: "Connection", settings: SessionSettings, executors: Executors = ON_THREADS) -> None:
        self._connection = connection
        self._core = connection._core.new_session(settings, executors)
        self._core.open()
        connection._core.use()

    # ---- state

    def _check_open(self) -> None:
        self._core.check_open()

    @property
    def connection(self) -> "Connection":
        """The connection that made this session."""
        return self._connection

    @property
    def transacted(self) -> bool:
        """Whether sends and receipts take effect at ``commit``."""
        self._check_open()
        return self._core.transacted

    @property
    def acknowledge_mode(self) -> int:
        """The session mode; SESSION_TRANSACTED if transacted, however it was created."""
        self._check_open()
        return self._core.mode

    @property
    def message_listener(self) -> None:
        """Not supported: an application-server facility."""
        self._check_open()
        raise UnsupportedFeatureException(
            "session-level message listeners (an application-server facility) are not supported; set one on a consumer"
        )

    @message_listener.setter
    def message_listener(self, listener: Any) -> None:
        return self.message_listener  # raises, as reading it does

    def run(self) -> None:
        """Not supported: an application-server facility."""
        self._check_open()
        raise UnsupportedFeatureException(
            "Session.run (an application-server facility) is not supported; set message_listener on a consumer"
        )

    # ---- beyond Jakarta Messaging

    @property
    def group_ack_threshold(self) -> int:
        """The number of PERSISTENT_GROUPACK messages after which a producer waits for their confirmation."""
        self._check_open()
        return self._core.outgoing.group_ack_threshold

    @group_ack_threshold.setter
    def group_ack_threshold(self, threshold: int) -> None:
        self._check_open()
        self._core.outgoing.group_ack_threshold = arguments.positive(threshold, "group_ack_threshold")

    @property
    def send_acknowledgement_handler(self) -> Callable[[Message], object] | None:
        """Called on the completion thread with each message that the broker has confirmed; or None.

        Only for sends without a completion listener outside a transaction.
        """
        self._check_open()
        return self._core.outgoing.handler

    @send_acknowledgement_handler.setter
    def send_acknowledgement_handler(self, handler: AnySendAcknowledgementHandler | None) -> None:
        self._check_open()
        self._core.outgoing.handler = as_function(handler, "send_acknowledged", "a handler")

    @property
    def failed_sends(self) -> tuple[JMSException, ...]:
        """The errors of non-blocking sends that failed later, oldest first; the last 1000."""
        self._check_open()
        return tuple(self._core.outgoing.failed)

    def acknowledge(self) -> None:
        """Acknowledge all messages that this session has consumed; only where the application does that (rule AC-4)."""
        self._core.acknowledge(None)

    # ---- transaction and recovery

    def commit(self) -> None:
        """Commit the transaction's sends and receipts, and begin the next transaction (section 6.2.7).

        Waits for incomplete asynchronous sends and their callbacks first. TransactionRolledBackException when the
        transaction was rolled back instead, InDoubtException when the outcome is unknown.
        """
        self._core.commit()

    def rollback(self) -> None:
        """Drop the transaction's sends; deliver its consumed messages again, in order, marked as redelivered."""
        self._core.rollback()

    def recover(self) -> None:
        """Deliver all unacknowledged messages again, in order, marked as redelivered (section 6.2.11)."""
        self._core.recover()

    # ---- producers and consumers

    def _attach(self, child: C) -> C:
        """Make the child refer to its session, so that neither is collected, and closed, while the child is used."""
        child._session = self
        return child

    def create_producer(self, destination: Destination | None) -> MessageProducer:
        """A producer for a destination; for None an anonymous one, each of whose sends names a destination."""
        self._check_open()
        if destination is not None:
            arguments.destination(destination)
        return self._attach(MessageProducer(self._core, destination))

    def create_consumer(
        self,
        destination: Destination,
        message_selector: str | None = None,
        no_local: bool = False,
        *,
        prefetch: int | None = None,
    ) -> MessageConsumer:
        """A consumer of a queue, or of a new unshared non-durable subscription of a topic.

        ``prefetch`` is how many messages may be delivered ahead of the application; 0 fetches one at a time.
        """
        self._check_open()
        target = arguments.destination(destination)
        no_local = no_local and isinstance(target, Topic)
        return self._consume(MessageConsumer, target, message_selector, prefetch, no_local=no_local)

    def create_shared_consumer(
        self, topic: Topic, name: str, message_selector: str | None = None, *, prefetch: int | None = None
    ) -> MessageConsumer:
        """A consumer of a shared non-durable subscription, which is created if missing (section 8.3.2)."""
        self._check_open()
        return self._consume(MessageConsumer, arguments.topic(topic), message_selector, prefetch, key=name, shared=True)

    def create_durable_consumer(
        self,
        topic: Topic,
        name: str,
        message_selector: str | None = None,
        no_local: bool = False,
        *,
        prefetch: int | None = None,
    ) -> MessageConsumer:
        """The one consumer of an unshared durable subscription; needs a client id (section 8.3.3)."""
        return self._durable(MessageConsumer, topic, name, message_selector, no_local, prefetch)

    def create_durable_subscriber(
        self,
        topic: Topic,
        name: str,
        message_selector: str | None = None,
        no_local: bool = False,
        *,
        prefetch: int | None = None,
    ) -> TopicSubscriber:
        """The same as ``create_durable_consumer``, with the interface of JMS 1.x."""
        return self._durable(TopicSubscriber, topic, name, message_selector, no_local, prefetch)

    def _durable(
        self, kind: type[K], topic: Topic, name: str, selector: str | None, no_local: bool, prefetch: int | None
    ) -> K:
        self._check_open()
        target = arguments.topic(topic)
        return self._consume(kind, target, selector, prefetch, key=name, durable=True, no_local=no_local)

    def create_shared_durable_consumer(
        self, topic: Topic, name: str, message_selector: str | None = None, *, prefetch: int | None = None
    ) -> MessageConsumer:
        """A consumer of a shared durable subscription, which is created if missing (section 8.3.4)."""
        self._check_open()
        target = arguments.topic(topic)
        return self._consume(MessageConsumer, target, message_selector, prefetch, key=name, durable=True, shared=True)

    def _consume(
        self,
        kind: type[K],
        target: Destination,
        message_selector: str | None,
        prefetch: int | None = None,
        *,
        key: str | None = None,
        durable: bool = False,
        shared: bool = False,
        no_local: bool = False,
    ) -> K:
        text = arguments.selector(message_selector)
        if durable or shared:
            arguments.subscription_name(key)
            if target.address.temporary and durable:
                raise InvalidDestinationException(f"no durable subscription on {target!r}: it would outlive the topic")
        policy = self._core.incoming.policy
        interest = Interest(
            address=target.address,
            key=key,
            durable=durable,
            shared=shared,
            selector=text,
            no_local=no_local,
            window=self._core.prefetch if prefetch is None else arguments.count(prefetch, "prefetch"),
            deferred=policy.deferred,
            presettled=policy.presettled,
        )
        if durable and not shared and not self._connection._core.client_id:
            raise IllegalStateException("an unshared durable subscription needs a client id (connection.client_id)")
        return self._attach(self._core.consume(interest, kind, target))

    def create_browser(self, queue: Queue, message_selector: str | None = None) -> QueueBrowser:
        """A browser, which shows a queue's messages without consuming them (section 4.1.6)."""
        self._check_open()
        target = arguments.queue(queue)
        text = arguments.selector(message_selector)
        self._core.plan().require(Native.BROWSE)
        connection = self._connection._core
        connection.temporaries.check_exists(target.address)
        connection.use()
        return self._attach(QueueBrowser(self._core, target, text))

    def create_temporary_queue(self) -> TemporaryQueue:
        """A queue that lives as long as its connection, which alone can consume from it."""
        self._check_open()
        return self._connection._core.create_temporary_queue()

    def create_temporary_topic(self) -> TemporaryTopic:
        """A topic that lives as long as its connection, which alone can consume from it."""
        self._check_open()
        return self._connection._core.create_temporary_topic()

    def unsubscribe(self, name: str) -> None:
        """Delete a durable subscription; InvalidDestination if it does not exist, IllegalState while it is in use."""
        self._check_open()
        if not isinstance(name, str) or not name:
            raise InvalidDestinationException(f"{name!r} is not a subscription name: a non-empty string is needed")
        self._connection._core.unsubscribe(name)

    # ---- end

    def close(self) -> None:
        """Close the session and all it created; roll back, but do not acknowledge for the application (section 6.2.15).

        Waits for a receive or listener in progress, for incomplete asynchronous sends and their callbacks. IllegalState
        from the session's own listener or completion listener. From any thread; idempotent.
        """
        self._core.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._core.name} {self._core.life.state.name.lower()}>"
