"""A cancellation at every ``await`` of a program: nothing is lost, nothing is marked, nobody is stuck."""

import asyncio
import itertools
from typing import Any

import pytest

import jmsbridge
from jmsbridge import Queue, aio
from jmsbridge.aio.pool import Call
from jmsbridge.core import connection as core
from jmsbridge.testing.scripted import ScriptedBackend, text_envelope
from tests.aio.support import ANSWERED, cancelled_at, eventually, looped, opened, receive_texts, soon

QUEUE = Queue("orders")


def _open_connections(target: str) -> list[Any]:
    try:
        every = list(core._connections)
    except RuntimeError:  # a thread is opening one
        return [None]
    return [one for one in every if target in str(one.target) and one.life.state.name == "OPEN"]


@ANSWERED
@looped
async def test_what_a_cancelled_call_had_made_is_closed(target: str, answered: bool) -> None:
    for at in itertools.count():

        async def program() -> None:
            async with aio.connect(target) as connection:
                await connection.start()
                async with connection.create_session() as session:
                    async with session.create_consumer(QUEUE) as consumer, session.create_producer(QUEUE) as producer:
                        await producer.send("x")
                        assert await receive_texts(consumer, 1) == ["x"]
                    temporary = await session.create_temporary_queue()
                    await temporary.delete()
                    async with session.create_browser(QUEUE) as browser:
                        assert [message async for message in browser] == []

        ended = await cancelled_at(program(), at, answered)
        await eventually(lambda: not _open_connections(target))
        async with await opened(target) as connection, connection.create_session() as session:
            rest = await session.create_consumer(QUEUE)
            while await rest.receive_no_wait() is not None:
                pass
        if ended is None:
            break
    assert at > 8


@looped
async def test_a_cancelled_send_says_what_became_of_it(backend: ScriptedBackend) -> None:
    """In flight: in doubt, and a failure is reported. Still in line: not sent."""
    heard: list[jmsbridge.JMSException] = []
    connection = await opened("scripted:", send_window=1)
    connection.exception_listener = heard.append
    session = await connection.create_session()
    producer = await session.create_producer(QUEUE)
    backend.hold("send")
    flying, waiting = (asyncio.create_task(producer.send(text)) for text in ("flying", "waiting"))
    await soon()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError) as unsent:
        await waiting
    assert aio.in_doubt(unsent.value) is None
    assert "was not sent" in unsent.value.__notes__[0]
    flying.cancel()
    with pytest.raises(asyncio.CancelledError) as sent:
        await flying
    doubt = aio.in_doubt(sent.value)
    assert doubt is not None
    (message,) = doubt.unknown
    assert isinstance(message, jmsbridge.TextMessage)
    assert message.text == "flying"
    backend.script.release("send", error=jmsbridge.spi.SendRefused("no"))
    await eventually(lambda: heard)
    assert session.failed_sends == tuple(heard)
    assert heard[0].refused == (message,)  # type: ignore[attr-defined]
    backend.script.answer_inline("send")
    await producer.send("next")
    assert [envelope.body for envelope in backend.accepted] == ["next"]
    await connection.close()


@looped
async def test_a_time_out_around_a_send_tells_its_doubt(backend: ScriptedBackend) -> None:
    connection = await opened("scripted:")
    producer = await (await connection.create_session()).create_producer(QUEUE)
    backend.hold("send")
    with pytest.raises(TimeoutError) as late:
        async with asyncio.timeout(0.02):
            await producer.send("late")
    assert aio.in_doubt(late.value) is not None
    backend.script.answer_inline("send")
    backend.script.release("send")
    await connection.close()


@looped
async def test_a_cancelled_commit_goes_on_and_the_next_call_says_its_error(backend: ScriptedBackend) -> None:
    connection = await opened("scripted:")
    session = await connection.create_session(transacted=True)
    producer = await session.create_producer(QUEUE)
    await producer.send("x")
    backend.hold("commit")
    committing = asyncio.create_task(session.commit())
    await eventually(lambda: backend.script.held("commit"))
    committing.cancel()
    await asyncio.wait({committing})
    backend.script.release("commit", error=jmsbridge.spi.TransactionRolledBack("no"))
    backend.script.answer_inline("commit")
    await session._line.wait_still()
    with pytest.raises(jmsbridge.TransactionRolledBackException):
        await session.commit()
    await session.commit()
    await connection.close()


@pytest.mark.parametrize("closed", ["session", "connection"])
@looped
async def test_if_the_next_call_is_close_the_exception_listener_gets_the_error(
    backend: ScriptedBackend, closed: str
) -> None:
    heard: list[jmsbridge.JMSException] = []
    connection = await opened("scripted:")
    connection.exception_listener = heard.append
    session = await connection.create_session(transacted=True)
    await (await session.create_producer(QUEUE)).send("x")
    backend.hold("commit")
    committing = asyncio.create_task(session.commit())
    await eventually(lambda: backend.script.held("commit"))
    committing.cancel()
    await asyncio.wait({committing})
    closing = asyncio.create_task(session.close() if closed == "session" else connection.close())
    await soon()
    backend.script.release("commit", error=jmsbridge.spi.TransactionRolledBack("no"))
    backend.script.answer_inline("commit")
    await closing
    await eventually(lambda: heard)
    assert [type(error) for error in heard] == [jmsbridge.TransactionRolledBackException]
    await connection.close()


@pytest.mark.parametrize("closed", ["consumer", "session"])
@looped
async def test_an_acknowledged_message_that_no_receive_returned_is_logged_at_close(
    backend: ScriptedBackend, caplog: pytest.LogCaptureFixture, closed: str
) -> None:
    """With ``block_on_acknowledge`` the broker has deleted it."""
    connection = await opened("scripted:", block_on_acknowledge=True)
    session = await connection.create_session()
    consumer = await session.create_consumer(QUEUE)
    backend.hold("settle")
    receiving = asyncio.create_task(consumer.receive())
    await eventually(lambda: backend.subscription.credit)
    backend.subscription.deliver(text_envelope(QUEUE.address, "x", message_id="ID:x"))
    await eventually(lambda: backend.script.held("settle"))
    receiving.cancel()
    await asyncio.wait({receiving})
    backend.script.answer_inline("settle")
    backend.script.release("settle")
    await session._line.wait_still()
    await (consumer.close() if closed == "consumer" else session.close())
    assert "message ID:x was acknowledged, and no task has got it" in caplog.text
    await connection.close()
    assert caplog.text.count("ID:x") == 1


@looped
async def test_a_cancelled_close_still_closes(target: str) -> None:
    connection = await opened(target)
    session = await connection.create_session()
    closing = asyncio.create_task(connection.close())
    await asyncio.sleep(0)
    closing.cancel()
    await asyncio.wait({closing})
    assert closing.cancelled()
    assert not _open_connections(target)
    with pytest.raises(jmsbridge.IllegalStateException):
        await session.create_producer(QUEUE)


@looped
async def test_a_call_that_ends_in_the_moment_of_its_cancellation_is_undone(target: str) -> None:
    async with await opened(target) as connection, connection.create_session() as session:
        undone: list[str] = []
        call: Call[str] = Call(session._port, lambda: "made", late=undone.append)

        async def use() -> None:
            call.start()
            await call.wait_ended()

        task = asyncio.create_task(use())
        call.future.add_done_callback(lambda _: task.cancel())
        await asyncio.wait({task})
        assert task.cancelled()
        assert undone == ["made"]


@looped
async def test_a_send_answered_in_the_moment_of_its_cancellation_was_sent(backend: ScriptedBackend) -> None:
    connection = await opened("scripted:")
    producer = await (await connection.create_session()).create_producer(QUEUE)
    backend.hold("send")
    sending = asyncio.create_task(producer.send("x"))
    await soon()
    backend.script.answer_inline("send")
    backend.script.release("send")
    sending.cancel()
    with pytest.raises(asyncio.CancelledError) as cancelled:
        await sending
    assert "the broker has it" in cancelled.value.__notes__[0]
    await connection.close()
