"""Request and reply over a temporary destination (Jakarta Messaging 3.1 section 9.2.3)."""

from typing import Any

from jmsbridge.aio.consumer import MessageConsumer
from jmsbridge.aio.opening import AsyncClosing, Opening
from jmsbridge.aio.producer import MessageProducer
from jmsbridge.aio.session import Session
from jmsbridge.destinations import Queue, TemporaryQueue, TemporaryTopic, Topic
from jmsbridge.message import Message
from jmsbridge.replies import GivenUp, check_requestor, request_of
from jmsbridge.sending import Sendable
from jmsbridge.strict import Strict

__all__ = ["Requestor", "queue_requestor", "topic_requestor"]


class Requestor(AsyncClosing, Strict):
    """Sends a request with a temporary reply destination and waits for the first reply: one request at a time."""

    __slots__ = ("_consumer", "_given_up", "_producer", "_reply_to", "_session")

    def __init__(
        self,
        session: Session,
        producer: MessageProducer,
        consumer: MessageConsumer,
        reply_to: TemporaryQueue | TemporaryTopic,
    ) -> None:
        self._session = session
        self._producer = producer
        self._consumer = consumer
        self._reply_to = reply_to
        self._given_up = GivenUp()

    async def request(self, message: Sendable) -> Message | None:
        """Send and wait for the reply; a time-out is ``asyncio.timeout``. None when the session is closed.

        ``message`` may be a plain body. The reply to a request that timed out is dropped by a later request, if it is
        there before that, or has the id or the correlation id of its request as its correlation id.
        """
        asking = request_of(message)
        while await self._consumer.receive_no_wait() is not None:
            pass
        asking.jms_reply_to = self._reply_to
        try:
            await self._producer.send(asking)
            reply = await self._consumer.receive()
            while reply is not None and self._given_up.has(reply, asking):
                reply = await self._consumer.receive()
        except BaseException:
            self._given_up.add(asking)
            raise
        return reply

    async def close(self) -> None:
        """Close the session, then delete the temporary destination."""
        await self._session.close()
        await self._reply_to.delete()


def queue_requestor(session: Session, queue: Queue) -> Opening[Requestor]:
    """Request and reply over a queue."""
    return Opening(_open(session, queue, session.create_temporary_queue))


def topic_requestor(session: Session, topic: Topic) -> Opening[Requestor]:
    """Request and reply over a topic."""
    return Opening(_open(session, topic, session.create_temporary_topic))


async def _open(session: Session, destination: Queue | Topic, reply_to: Any) -> Requestor:
    session._scope.check()
    check_requestor(session._core, destination)
    replies = await reply_to()
    return Requestor(
        session, await session.create_producer(destination), await session.create_consumer(replies), replies
    )
