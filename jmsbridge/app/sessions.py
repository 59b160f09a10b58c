"""Sessions that many threads share: each is lent to one thread at a time."""

import contextlib
from collections import OrderedDict, deque
from collections.abc import Iterator
from queue import Empty, SimpleQueue

from jmsbridge.connection import Connection
from jmsbridge.consumer import MessageConsumer
from jmsbridge.destinations import Destination, Queue
from jmsbridge.errors import JMSException, ResourceAllocationException
from jmsbridge.producer import MessageProducer
from jmsbridge.session import Session

__all__ = ["LentSession", "SessionPool"]

_CONSUMERS = 16  # that a session keeps open; the one that was not used for longest is closed


class LentSession:
    """A session with the producer and the consumers that were needed on it so far."""

    __slots__ = ("_consumers", "_producer", "session")

    def __init__(self, session: Session) -> None:
        self.session = session
        self._producer: MessageProducer | None = None
        self._consumers: OrderedDict[tuple[Queue, str | None], MessageConsumer] = OrderedDict()

    @property
    def producer(self) -> MessageProducer:
        """Its anonymous producer."""
        if self._producer is None:
            self._producer = self.session.create_producer(None)
        return self._producer

    @contextlib.contextmanager
    def consuming(self, destination: Destination, selector: str | None) -> Iterator[MessageConsumer]:
        """A consumer that asks for one message at a time, so that no message waits here for the next receive.

        That of a queue is kept for the next call. That of a topic is a subscription, so it is closed afterwards.
        """
        if not isinstance(destination, Queue):
            with self.session.create_consumer(destination, selector, prefetch=0) as consumer:
                yield consumer
            return
        key = (destination, selector)
        kept = self._consumers.get(key)
        if kept is None:
            kept = self._consumers[key] = self.session.create_consumer(destination, selector, prefetch=0)
            if len(self._consumers) > _CONSUMERS:
                self._consumers.popitem(last=False)[1].close()
        else:
            self._consumers.move_to_end(key)
        yield kept


class SessionPool:
    """At most ``limit`` sessions of one connection in one mode; thread-safe.

    The session that was used last is lent first, so that few are open when few are needed.
    """

    def __init__(self, connection: Connection, mode: int, limit: int) -> None:
        self._connection = connection
        self._mode = mode
        self._limit = limit
        self._permits: SimpleQueue[None] = SimpleQueue()  # a semaphore would cost a send several microseconds
        for _ in range(limit):
            self._permits.put(None)
        self._idle: deque[LentSession] = deque()

    @contextlib.contextmanager
    def lend(self) -> Iterator[LentSession]:
        """A session for the calling thread; closed when a call on it raised, so that its messages return to the broker.

        Waits at most ``send_timeout`` for a session, then ResourceAllocationException.
        """
        patience = self._connection._core.options.send_timeout
        try:
            self._permits.get(timeout=patience)
        except Empty:
            raise ResourceAllocationException(
                f"all {self._limit} sessions of this template were in use for {patience:g} s; raise sessions=…"
            ) from None
        try:
            try:
                lent = self._idle.pop()
            except IndexError:
                lent = LentSession(self._connection.create_session(session_mode=self._mode))
            try:
                yield lent
            except BaseException:
                with contextlib.suppress(JMSException):  # the first error is the one to report
                    lent.session.close()
                raise
            self._idle.append(lent)
        finally:
            self._permits.put(None)
