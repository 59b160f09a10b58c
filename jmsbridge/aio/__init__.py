"""Jakarta Messaging for asyncio: the nouns of ``jmsbridge``, for the tasks of one event loop.

::

    from jmsbridge import aio

    async with aio.connect("embedded:") as connection:
        await connection.start()
        async with connection.create_session() as session:
            orders = session.create_queue("orders")
            producer = await session.create_producer(orders)
            await asyncio.gather(*(producer.send(f"order {n}") for n in range(100)))
            async with asyncio.timeout(1):
                async for message in await session.create_consumer(orders):
                    print(message.text)

What takes a while is awaited; messages, destinations, modes, options and errors are those of ``jmsbridge``. What
``connect`` and ``create_…`` return can be awaited, or used with ``async with``. A time-out is ``asyncio.timeout``: a
``receive`` that it ends has taken no message, and of a ``send`` that it ends ``in_doubt`` tells what is unknown.
"""

from jmsbridge.aio.browser import QueueBrowser
from jmsbridge.aio.connection import AnyExceptionListener, Connection, connect
from jmsbridge.aio.consumer import AnyMessageListener, MessageConsumer
from jmsbridge.aio.opening import Opening
from jmsbridge.aio.producer import MessageProducer
from jmsbridge.aio.requestor import Requestor, queue_requestor, topic_requestor
from jmsbridge.aio.sends import in_doubt
from jmsbridge.aio.session import Session

__all__ = [
    "AnyExceptionListener",
    "AnyMessageListener",
    "Connection",
    "MessageConsumer",
    "MessageProducer",
    "Opening",
    "QueueBrowser",
    "Requestor",
    "Session",
    "connect",
    "in_doubt",
    "queue_requestor",
    "topic_requestor",
]
