"""Tasks: ``jmsbridge.aio``."""

import asyncio
from collections.abc import AsyncIterator
from typing import assert_type

import jmsbridge
from jmsbridge import Message, TextMessage, aio


def text_of(message: Message | None) -> str:
    assert isinstance(message, TextMessage)
    return message.text or ""


async def first(messages: AsyncIterator[Message], count: int) -> list[str]:
    texts: list[str] = []
    async for message in messages:
        texts.append(text_of(message))
        await message.acknowledge()
        if len(texts) == count:
            break
    return texts


async def work(url: str) -> list[str]:
    async with aio.connect(url, send_window=10) as connection:
        assert_type(connection, aio.Connection)
        await connection.start()
        queue = jmsbridge.Queue("tasks")
        async with connection.create_session(jmsbridge.CLIENT_ACKNOWLEDGE) as session:
            producer = assert_type(await session.create_producer(queue), aio.MessageProducer)
            await asyncio.gather(*(producer.send(str(number), priority=5) for number in range(3)))
            async with session.create_consumer(queue) as consumer:
                texts = await first(aiter(consumer), 3)
                assert_type(await consumer.receive_no_wait(), Message | None)
        async with connection.create_session(transacted=True) as transacted:
            heard = asyncio.Event()

            async def listen(message: Message) -> None:
                if message.jms_reply_to is not None:
                    answer = await transacted.create_producer(message.jms_reply_to)
                    await answer.send(f"re: {text_of(message)}")
                await transacted.commit()
                heard.set()

            (await transacted.create_consumer(queue)).message_listener = listen
            asking = await connection.create_session()
            async with asking.create_producer(queue) as one:
                await one.send("x")
                await heard.wait()
            async with aio.queue_requestor(asking, queue) as requestor:
                reply = await requestor.request("ping")
        try:
            async with asyncio.timeout(5):
                await connection.create_session()
        except TimeoutError as error:
            print(aio.in_doubt(error))
    return [*texts, "heard", text_of(reply)]


def main(url: str) -> list[str]:
    return asyncio.run(work(url))
