"""A context for producing and consuming in tasks (Jakarta Messaging 3.1 section 6.2)."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from jmsbridge import consumer as threaded_consumer
from jmsbridge import session as threaded
from jmsbridge.aio.browser import QueueBrowser
from jmsbridge.aio.consumer import MessageConsumer
from jmsbridge.aio.delivering import Delivering
from jmsbridge.aio.line import Line
from jmsbridge.aio.opening import AsyncClosing, Opening
from jmsbridge.aio.pool import run, wait_to_the_end
from jmsbridge.aio.producer import MessageProducer
from jmsbridge.aio.scope import Scope
from jmsbridge.core.runtime.executor import Executors
from jmsbridge.core.session import SessionSettings
from jmsbridge.creating import Creating
from jmsbridge.destinations import Destination, Queue, TemporaryQueue, TemporaryTopic, Topic
from jmsbridge.errors import IllegalStateException, JMSException
from jmsbridge.modes import SessionModes
from jmsbridge.strict import Strict

if TYPE_CHECKING:
    from jmsbridge.aio.connection import Connection

__all__ = ["Session"]

T = TypeVar("T")
D = TypeVar("D", bound=TemporaryQueue | TemporaryTopic)


class Session(AsyncClosing, Creating, SessionModes, Strict):
    """Producers and consumers with their order, acknowledgements and transaction, for the tasks of one event loop.

    Its calls take effect in the order in which they were made. Any tasks may send on it, one at a time receives. A
    commit, rollback, recover or acknowledgement covers the calls that were made before, of all tasks: give tasks with
    transactions of their own a session each. Every method of a closed session raises IllegalStateException.
    """

    __slots__ = (
        "__weakref__",
        "_closing",
        "_connection",
        "_core",
        "_delivering",
        "_line",
        "_port",
        "_scope",
        "_sync",
    )

    def __init__(self, connection: "Connection", line: Line, delivering: Delivering, sync: threaded.Session) -> None:
        self._connection = connection
        self._sync = sync
        self._core = sync._core
        self._line = line
        self._port = line.port
        self._delivering = delivering
        self._closing: asyncio.Task[None] | None = None
        self._scope = Scope(self._core, line, delivering, connection._tasks)

    @staticmethod
    async def open(connection: "Connection", settings: SessionSettings) -> "Session":
        """A new session of this connection."""
        line = Line(connection._port)
        delivering = Delivering(line)
        executors = Executors(deliver=delivering.new_executor, complete=line.new_completions)

        def make() -> threaded.Session:
            sync = threaded.Session(connection._sync, settings, executors)
            line.core = sync._core
            return sync

        sync = await run(connection._port, make, lambda made: made.close())
        session = Session(connection, line, delivering, sync)
        connection._sessions.add(session)
        return session

    def _check_open(self) -> None:
        self._scope.check()

    # ---- state

    @property
    def connection(self) -> "Connection":
        """The connection that made this session."""
        return self._connection

    @property
    def transacted(self) -> bool:
        """Whether sends and receipts take effect at ``commit``."""
        self._scope.check()
        return self._core.transacted

    @property
    def acknowledge_mode(self) -> int:
        """The session mode; SESSION_TRANSACTED if transacted, however it was created."""
        self._scope.check()
        return self._core.mode

    @property
    def group_ack_threshold(self) -> int:
        """The number of PERSISTENT_GROUPACK messages after which a producer waits for their confirmation."""
        return self._sync.group_ack_threshold

    @group_ack_threshold.setter
    def group_ack_threshold(self, threshold: int) -> None:
        self._sync.group_ack_threshold = threshold

    @property
    def failed_sends(self) -> tuple[JMSException, ...]:
        """The errors of sends that no task waited for any more, oldest first; the last 1000."""
        return self._sync.failed_sends

    # ---- acknowledgement, transaction and recovery

    async def acknowledge(self) -> None:
        """Acknowledge all messages that this session has consumed; only where the application does that."""
        self._scope.check()
        await self._scope.acknowledge(None)

    async def commit(self) -> None:
        """Commit the transaction's sends and receipts, and begin the next transaction (section 6.2.7).

        Waits for sends that are in flight first. TransactionRolledBackException when the transaction was rolled back
        instead, InDoubtException when the outcome is unknown. A cancelled commit goes on: the session's next call waits
        for it, and raises its error.
        """
        self._scope.check()
        await self._line.whole(self._core.commit, owes=True)

    async def rollback(self) -> None:
        """Drop the transaction's sends; deliver its consumed messages again, in order, marked as redelivered."""
        self._scope.check()
        await self._line.whole(self._core.rollback, owes=True)

    async def recover(self) -> None:
        """Deliver all unacknowledged messages again, in order, marked as redelivered (section 6.2.11)."""
        self._scope.check()
        await self._line.whole(self._core.recover, owes=True)

    # ---- producers, consumers, browsers

    def create_producer(self, destination: Destination | None) -> Opening[MessageProducer]:
        """A producer for a destination; for None an anonymous one, each of whose sends names a destination."""

        async def make() -> MessageProducer:
            self._scope.check()
            return MessageProducer(self._scope, self._sync.create_producer(destination))

        return Opening(make())

    def create_consumer(
        self,
        destination: Destination,
        message_selector: str | None = None,
        no_local: bool = False,
        *,
        prefetch: int | None = None,
    ) -> Opening[MessageConsumer]:
        """A consumer of a queue, or of a new unshared non-durable subscription of a topic.

        ``prefetch`` is how many messages may be delivered ahead of the application; 0 fetches one at a time.
        """
        make = self._sync.create_consumer
        return self._consume(lambda: make(destination, message_selector, no_local, prefetch=prefetch))

    def create_shared_consumer(
        self, topic: Topic, name: str, message_selector: str | None = None, *, prefetch: int | None = None
    ) -> Opening[MessageConsumer]:
        """A consumer of a shared non-durable subscription, which is created if missing (section 8.3.2)."""
        make = self._sync.create_shared_consumer
        return self._consume(lambda: make(topic, name, message_selector, prefetch=prefetch))

    def create_durable_consumer(
        self,
        topic: Topic,
        name: str,
        message_selector: str | None = None,
        no_local: bool = False,
        *,
        prefetch: int | None = None,
    ) -> Opening[MessageConsumer]:
        """The one consumer of an unshared durable subscription; needs a client id (section 8.3.3)."""
        make = self._sync.create_durable_consumer
        return self._consume(lambda: make(topic, name, message_selector, no_local, prefetch=prefetch))

    def create_shared_durable_consumer(
        self, topic: Topic, name: str, message_selector: str | None = None, *, prefetch: int | None = None
    ) -> Opening[MessageConsumer]:
        """A consumer of a shared durable subscription, which is created if missing (section 8.3.4)."""
        make = self._sync.create_shared_durable_consumer
        return self._consume(lambda: make(topic, name, message_selector, prefetch=prefetch))

    def _consume(self, make: Callable[[], threaded_consumer.MessageConsumer]) -> Opening[MessageConsumer]:
        async def consume() -> MessageConsumer:
            self._scope.check()
            return MessageConsumer(self._scope, await self._line.whole(make, lambda made: made.close()))

        return Opening(consume())

    def create_browser(self, queue: Queue, message_selector: str | None = None) -> Opening[QueueBrowser]:
        """A browser, which shows a queue's messages without consuming them (section 4.1.6)."""

        async def make() -> QueueBrowser:
            self._scope.check()
            sync = await self._line.whole(lambda: self._sync.create_browser(queue, message_selector))
            return QueueBrowser(self._scope, sync)

        return Opening(make())

    async def create_temporary_queue(self) -> TemporaryQueue:
        """A queue that lives as long as its connection, which alone can consume from it; ``await queue.delete()``."""
        self._scope.check()
        return self._deleted_here(await self._line.whole(self._sync.create_temporary_queue, _delete))

    async def create_temporary_topic(self) -> TemporaryTopic:
        """A topic that lives as long as its connection, which alone can consume from it; ``await topic.delete()``."""
        self._scope.check()
        return self._deleted_here(await self._line.whole(self._sync.create_temporary_topic, _delete))

    def _deleted_here(self, made: D) -> D:
        delete = made._delete
        assert delete is not None
        port, tasks = self._port, self._connection._tasks
        made._delete = lambda: tasks.start(port, run(port, delete))
        return made

    async def unsubscribe(self, name: str) -> None:
        """Delete a durable subscription; InvalidDestination if it does not exist, IllegalState while it is in use."""
        self._scope.check()
        await self._line.whole(lambda: self._sync.unsubscribe(name), owes=True)

    # ---- end

    async def close(self) -> None:
        """Close the session and all it created; roll back, but do not acknowledge for the application.

        Waits for the listener and the sends that are in progress; a waiting receive returns None. IllegalState from
        the session's own listener. A cancelled close still goes on to its end. Idempotent.
        """
        self._port.check()
        if self._delivering.is_current():
            raise IllegalStateException("close is not allowed in a message listener of its own session")
        if self._closing is None:
            self._closing = self._port.loop.create_task(self._close())
        await wait_to_the_end(self._closing)

    async def _close(self) -> None:
        await self._wait_settled()
        await run(self._port, self._sync.close)
        self._end()

    async def _wait_settled(self) -> None:
        """Accept no more calls, and wait for those in progress, in the loop instead of a thread."""
        self._line.close()
        for receiver in self._core.incoming.receivers:
            receiver.close()
        await self._delivering.wait_ended()
        await self._line.wait_empty(self._core.connection.options.close_timeout)
        await self._line.wait_still()
        self._line.report_owed()
        self._scope.report_kept()

    def _end(self) -> None:
        self._line.end()
        self._connection._sessions.discard(self)

    def __repr__(self) -> str:
        return f"<aio.{type(self).__name__} {self._core.name} {self._core.life.state.name.lower()}>"


def _delete(made: TemporaryQueue | TemporaryTopic) -> None:
    made.delete()
