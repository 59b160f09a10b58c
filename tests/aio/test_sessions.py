"""Receiving, listeners, acknowledgement, browsing, requests and closing, in tasks."""

import asyncio

import pytest

import jmsbridge
from jmsbridge import Message, Queue, TextMessage, Topic, aio
from jmsbridge.errors import IllegalStateException, InvalidCall
from tests.aio.support import eventually, looped, opened, receive_texts, soon

QUEUE = Queue("orders")


def _text(message: Message | None) -> str | None:
    assert isinstance(message, TextMessage)
    return message.text


async def _filled(target: str, *texts: str) -> aio.Session:
    """A session on a started connection, whose queue has these texts."""
    session = await (await opened(target)).create_session(jmsbridge.CLIENT_ACKNOWLEDGE)
    async with session.create_producer(QUEUE) as producer:
        for text in texts:
            await producer.send(text)
    return session


@looped
async def test_a_consumer_is_iterated_until_it_is_closed(target: str) -> None:
    session = await _filled(target, "a", "b")
    consumer = await session.create_consumer(QUEUE)
    got = []
    asyncio.get_running_loop().call_later(0.05, lambda: asyncio.ensure_future(consumer.close()))
    async for message in consumer:
        got.append(_text(message))
    assert got == ["a", "b"]
    with pytest.raises(IllegalStateException):
        await consumer.receive()
    await session.connection.close()


@pytest.mark.parametrize("turn", [1, 64])
@pytest.mark.parametrize("what", ["consumer", "session", "connection"])
@looped
async def test_an_iteration_ends_when_another_task_closes_while_messages_are_here(
    target: str, what: str, turn: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jmsbridge.aio.consumer._TURN", turn)
    session = await _filled(target, *"abcdefgh")
    consumer = await session.create_consumer(QUEUE)
    close = {"consumer": consumer.close, "session": session.close, "connection": session.connection.close}[what]
    closing: list[asyncio.Task[None]] = []
    async for _ in consumer:
        if not closing:
            closing.append(asyncio.ensure_future(close()))
        await asyncio.sleep(0)
    await closing[0]
    with pytest.raises(IllegalStateException):
        await consumer.receive()
    await session.connection.close()


@looped
async def test_one_task_at_a_time_receives(target: str) -> None:
    session = await _filled(target)
    consumer = await session.create_consumer(QUEUE)
    waiting = asyncio.create_task(consumer.receive())
    await soon()
    with pytest.raises(IllegalStateException, match="another task"):
        await consumer.receive()
    with pytest.raises(IllegalStateException, match="task is receiving"):
        consumer.message_listener = print
    await session.close()
    assert await waiting is None
    await session.connection.close()


@looped
async def test_the_way_to_write_a_time_out_is_said(target: str) -> None:
    session = await _filled(target)
    consumer = await session.create_consumer(QUEUE)
    with pytest.raises(InvalidCall, match=r"asyncio\.timeout"):
        await consumer.receive(timeout=1)
    with pytest.raises(InvalidCall, match=r"asyncio\.timeout"):
        await consumer.receive(1000)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await consumer.receive()
    await session.connection.close()


@looped
async def test_acknowledge_is_awaited_or_not(target: str) -> None:
    session = await _filled(target, "a", "b", "c")
    consumer = await session.create_consumer(QUEUE)
    message = await consumer.receive()
    assert message is not None
    await message.acknowledge()
    (await consumer.receive()).acknowledge()  # type: ignore[union-attr]
    await consumer.receive()
    await session.recover()
    again = await consumer.receive()
    assert again is not None
    assert (_text(again), again.jms_redelivered) == ("c", True)
    await session.acknowledge()
    assert await consumer.receive_no_wait() is None
    await session.connection.close()


@looped
async def test_a_confirmed_acknowledgement_is_awaited_in_the_loop(target: str) -> None:
    async with await opened(target, block_on_acknowledge=True) as connection:
        session = await connection.create_session(jmsbridge.INDIVIDUAL_ACKNOWLEDGE)
        await (await session.create_producer(QUEUE)).send("x")
        message = await (await session.create_consumer(QUEUE)).receive()
        assert message is not None
        await message.acknowledge()
        await session.recover()
        assert await (await session.create_consumer(QUEUE)).receive_no_wait() is None


@looped
async def test_async_listeners_get_one_message_at_a_time_in_order(target: str) -> None:
    session = await _filled(target, *"abcdef")
    running, most, got = 0, 0, []

    async def listen(message: Message) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001)
        got.append(_text(message))
        await message.acknowledge()
        running -= 1

    consumer = await session.create_consumer(QUEUE)
    consumer.message_listener = listen
    assert consumer.message_listener is listen
    await eventually(lambda: len(got) == 6)
    assert (most, got) == (1, list("abcdef"))
    with pytest.raises(IllegalStateException, match="listener"):
        await consumer.receive()
    await session.connection.close()


@pytest.mark.parametrize("error", [ValueError, SystemExit, GeneratorExit, asyncio.CancelledError])
@looped
async def test_what_a_listener_raised_on_comes_again(target: str, error: type[BaseException]) -> None:
    async with await opened(target) as connection, connection.create_session() as session:
        await (await session.create_producer(QUEUE)).send("x")
        marks = []

        async def listen(message: Message) -> None:
            await asyncio.sleep(0)
            marks.append(message.jms_redelivered)
            if len(marks) == 1:
                raise error("not yet")

        (await session.create_consumer(QUEUE)).message_listener = listen
        await eventually(lambda: len(marks) == 2)
        assert marks == [False, True]


@looped
async def test_what_a_listener_may_call(target: str) -> None:
    """Its own session's commit, and its own consumer's close; not the close of its session or connection."""
    async with await opened(target) as connection:
        session = await connection.create_session(transacted=True)
        consumer = await session.create_consumer(QUEUE)
        refused: list[str] = []
        closed = asyncio.Event()

        async def listen(message: Message) -> None:
            for call in (session.close, connection.close, connection.stop):
                try:
                    await asyncio.create_task(call())
                except IllegalStateException as error:
                    refused.append(str(error))
            await session.commit()
            await consumer.close()
            closed.set()

        consumer.message_listener = listen
        async with connection.create_session() as sending, sending.create_producer(QUEUE) as producer:
            await producer.send("x")
            await closed.wait()
        assert len(refused) == 3
        assert all("listener" in text or "callback" in text for text in refused)
        async with connection.create_session() as other:
            assert await (await other.create_consumer(QUEUE)).receive_no_wait() is None


@looped
async def test_close_waits_for_the_listener_and_stop_pauses(target: str) -> None:
    session = await _filled(target, "a", "b")
    ended: list[str | None] = []
    begun = asyncio.Event()

    async def listen(message: Message) -> None:
        begun.set()
        await asyncio.sleep(0.02)
        ended.append(_text(message))

    (await session.create_consumer(QUEUE)).message_listener = listen
    await begun.wait()
    await session.connection.stop()
    assert ended == ["a"]
    await asyncio.sleep(0.03)
    assert ended == ["a"]
    begun.clear()
    await session.connection.start()
    await begun.wait()
    await session.close()
    assert ended == ["a", "b"]
    await session.connection.close()


@looped
async def test_browsing_shows_and_leaves(target: str) -> None:
    session = await _filled(target, *(str(number) for number in range(250)))
    async with session.create_browser(QUEUE) as browser:
        assert [_text(message) async for message in browser] == [str(number) for number in range(250)]
        assert browser.queue == QUEUE
    with pytest.raises(IllegalStateException):
        assert browser.enumeration
    await session.connection.close()


@pytest.mark.parametrize("kind", ["queue", "topic"])
@looped
async def test_requests_have_replies(target: str, kind: str) -> None:
    asking_for = QUEUE if kind == "queue" else Topic("questions")
    async with await opened(target) as connection:
        answering = await connection.create_session()
        replier = await answering.create_producer(None)

        async def answer(message: Message) -> None:
            assert message.jms_reply_to is not None
            await replier.send(message.jms_reply_to, f"re: {_text(message)}")

        (await answering.create_consumer(asking_for)).message_listener = answer
        session = await connection.create_session()
        open_requestor = aio.queue_requestor if kind == "queue" else aio.topic_requestor
        async with open_requestor(session, asking_for) as requestor:  # type: ignore[arg-type]
            assert _text(await requestor.request("one")) == "re: one"
            assert _text(await requestor.request(session.create_text_message("two"))) == "re: two"


@looped
async def test_a_late_reply_is_not_that_of_the_next_request(target: str) -> None:
    queue = Queue("questions")
    async with await opened(target) as connection, connection.create_session() as answering:
        producer = await answering.create_producer(None)
        questions = await answering.create_consumer(queue)

        async def answer(question: jmsbridge.Message | None) -> None:
            assert question is not None
            assert question.jms_reply_to is not None
            reply = answering.create_text_message(f"re: {_text(question)}")
            reply.jms_correlation_id = question.jms_correlation_id or question.jms_message_id
            await producer.send(question.jms_reply_to, reply)

        session = await connection.create_session()
        named = session.create_text_message("named")
        named.jms_correlation_id = "c1"
        async with aio.queue_requestor(session, queue) as requestor:
            late = []
            for text in ("one", named):
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.05):
                        await requestor.request(text)
                late.append(await questions.receive())
            asking = asyncio.create_task(requestor.request("two"))
            next_one = await questions.receive()
            for each in (*late, next_one):
                await answer(each)
            assert _text(await asking) == "re: two"
            again = asyncio.create_task(requestor.request(named))
            await answer(await questions.receive())
            assert _text(await again) == "re: named"


@looped
async def test_shared_and_durable_subscriptions(target: str) -> None:
    topic = Topic("news")
    async with await opened(target, client_id="reader") as connection, connection.create_session() as session:
        assert connection.client_id == "reader"
        durable = await session.create_durable_consumer(topic, "d")
        shared = await session.create_shared_consumer(topic, "s", "n = 1")
        lasting = await session.create_shared_durable_consumer(topic, "sd")
        producer = await session.create_producer(topic)
        message = session.create_text_message("x")
        message.properties["n"] = 1
        await producer.send(message)
        for consumer in (durable, shared, lasting):
            assert await receive_texts(consumer, 1) == ["x"]
            await consumer.close()
        await session.unsubscribe("d")
        with pytest.raises(jmsbridge.InvalidDestinationException):
            await session.unsubscribe("d")


@looped
async def test_attributes_are_those_of_the_api(target: str) -> None:
    connection = await aio.connect(target)
    await connection.set_client_id("late")
    assert connection.client_id == "late"
    assert connection.meta_data.jms_version == "3.1"
    assert await connection.capabilities()
    assert connection.state == "connected"
    session = await asyncio.create_task(connection.create_session(session_mode=jmsbridge.DUPS_OK_ACKNOWLEDGE))
    assert (session.acknowledge_mode, session.transacted) == (jmsbridge.DUPS_OK_ACKNOWLEDGE, False)
    assert session.connection is connection
    producer = await session.create_producer(QUEUE)
    producer.priority, producer.time_to_live, producer.delivery_delay = 7, 5, 0
    producer.disable_message_id, producer.disable_message_timestamp = True, True
    assert (producer.priority, producer.time_to_live, producer.destination) == (7, 5.0, QUEUE)
    with pytest.raises(AttributeError, match="time_to_live"):
        producer.ttl = 3  # type: ignore[attr-defined]
    session.group_ack_threshold = 3
    assert session.group_ack_threshold == 3
    await connection.close()
    await connection.close()
    assert connection.state == "closed"
    with pytest.raises(IllegalStateException):
        assert session.transacted
    with pytest.raises(IllegalStateException):
        await connection.create_session()
