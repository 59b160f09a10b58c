"""Programs that are cancelled at every ``await``: nothing is lost, nothing is marked. They run on real brokers, too."""

import asyncio
import itertools

import pytest

import jmsbridge
from jmsbridge import Queue, aio
from tests.aio.support import ANSWERED, cancelled_at, looped, opened, receive_texts, send

MODES = (jmsbridge.AUTO_ACKNOWLEDGE, jmsbridge.CLIENT_ACKNOWLEDGE, jmsbridge.DUPS_OK_ACKNOWLEDGE)
TEXTS = [str(number) for number in range(8)]


@pytest.mark.parametrize("prefetch", [0, 1, 100])
@pytest.mark.parametrize("mode", MODES)
@ANSWERED
@looped
async def test_a_receive_loses_and_marks_nothing(
    target: str, queue: Queue, mode: int, prefetch: int, answered: bool
) -> None:
    for at in itertools.count():
        async with await opened(target) as connection, connection.create_session(mode) as session:
            consumer = await session.create_consumer(queue, prefetch=prefetch)
            got: list[str] = []

            async def program(consumer: aio.MessageConsumer = consumer, got: list[str] = got) -> None:
                async for message in consumer:
                    assert isinstance(message, jmsbridge.TextMessage)
                    assert not message.jms_redelivered
                    got.append(str(message.text))
                    await asyncio.sleep(0)
                    if len(got) == len(TEXTS):
                        return

            sending = asyncio.create_task(send(target, queue, *TEXTS))
            ended = await cancelled_at(program(), at, answered)
            await sending
            got += await receive_texts(consumer, len(TEXTS) - len(got))
            assert got == TEXTS
            await session.acknowledge() if mode == jmsbridge.CLIENT_ACKNOWLEDGE else None
            assert await consumer.receive_no_wait() is None
        if ended is None:
            break
    assert at > 5


@ANSWERED
@looped
async def test_a_confirmed_receive_that_is_cancelled_gives_its_message_to_the_next(
    target: str, queue: Queue, answered: bool
) -> None:
    """With ``block_on_acknowledge`` the message may be acknowledged before the cancellation."""
    for at in itertools.count():
        async with await opened(target, block_on_acknowledge=True) as connection:
            session = await connection.create_session()
            consumer = await session.create_consumer(queue)
            got: list[str] = []

            async def program(consumer: aio.MessageConsumer = consumer, got: list[str] = got) -> None:
                while len(got) < 3:
                    got.extend(await receive_texts(consumer, 1))

            await send(target, queue, "a", "b", "c")
            ended = await cancelled_at(program(), at, answered)
            got += await receive_texts(consumer, 3 - len(got))
            assert got == ["a", "b", "c"]
        if ended is None:
            break
    assert at > 2


@ANSWERED
@looped
async def test_transactions_move_each_message_once(target: str, queue: Queue, answered: bool) -> None:
    """The program takes, forwards and commits; after a cancellation it rolls back and goes on."""
    there = Queue(f"{queue.queue_name}-forwarded")
    for at in itertools.count():
        await send(target, queue, *TEXTS[:3])
        async with await opened(target) as connection, connection.create_session(transacted=True) as session:
            consumer, producer = await session.create_consumer(queue), await session.create_producer(there)

            async def program(
                session: aio.Session = session,
                consumer: aio.MessageConsumer = consumer,
                producer: aio.MessageProducer = producer,
            ) -> None:
                while (message := await consumer.receive_no_wait()) is not None:
                    await producer.send(message)
                    await session.commit()

            ended = await cancelled_at(program(), at, answered)
            await session.rollback()
            await program()
        async with await opened(target) as connection, connection.create_session() as session:
            moved = await session.create_consumer(there)
            assert sorted(await receive_texts(moved, 3)) == TEXTS[:3]
            assert await moved.receive_no_wait() is None
        if ended is None:
            break
    assert at >= 3


@ANSWERED
@looped
async def test_sends_are_in_doubt_or_not_sent_and_keep_their_order(target: str, queue: Queue, answered: bool) -> None:
    for at in itertools.count():
        place = Queue(f"{queue.queue_name}-{at}")
        sent: list[str] = []
        async with await opened(target, send_window=2) as connection, connection.create_session() as session:
            producer = await session.create_producer(place)

            async def program(producer: aio.MessageProducer = producer, sent: list[str] = sent) -> None:
                for text in TEXTS:
                    await producer.send(text)
                    sent.append(text)

            ended = await cancelled_at(program(), at, answered)
            await producer.send("last")
            there: list[str] = []
            consumer = await session.create_consumer(place)
            while "last" not in there:
                there += await receive_texts(consumer, 1)
            if ended is None or "not sent" in ended.__notes__[0]:
                assert there == [*sent, "last"]
            else:  # in flight, or answered in the same moment: this broker has it
                assert there == [*sent, TEXTS[len(sent)], "last"]
        if ended is None:
            break
    assert at == len(TEXTS)
