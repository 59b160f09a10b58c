"""Sends of many tasks: their order, the window that they share, time-outs, errors, lost links."""

import asyncio
import threading
import time
from typing import Any

import pytest

import jmsbridge
from jmsbridge import DeliveryMode, Queue, aio, spi
from jmsbridge.errors import InDoubtException, ResourceAllocationException
from jmsbridge.testing.scripted import ScriptedBackend
from tests.aio.support import eventually, looped, opened, receive_texts, soon

QUEUE = Queue("orders")


@looped
async def test_many_at_once_keep_their_order_over_all_producers(target: str) -> None:
    async with await opened(target, send_window=7) as connection, connection.create_session() as session:
        first, second = await session.create_producer(QUEUE), await session.create_producer(None)
        sends = [first.send(str(n)) if n % 2 else second.send(QUEUE, str(n)) for n in range(500)]
        await asyncio.gather(*sends)
        assert await receive_texts(await session.create_consumer(QUEUE), 500) == [str(n) for n in range(500)]


@looped
async def test_ten_thousand_tasks_wait_for_one_window_and_the_loop_runs(backend: ScriptedBackend) -> None:
    threads = threading.active_count()
    connection = await opened("scripted:", send_window=100)
    producer = await (await connection.create_session()).create_producer(QUEUE)
    backend.hold("send")
    tasks = [asyncio.create_task(producer.send(str(number))) for number in range(10_000)]
    await eventually(lambda: backend.script.count("send") == 100)
    started = time.monotonic()
    await asyncio.sleep(0.01)
    assert time.monotonic() - started < 1.0
    assert threading.active_count() < threads + 10
    backend.script.answer_later("send")
    backend.script.release("send")
    await asyncio.gather(*tasks)
    assert [envelope.body for envelope in backend.accepted] == [str(number) for number in range(10_000)]
    await connection.close()


@looped
async def test_the_loop_is_woken_once_for_a_batch_of_answers(backend: ScriptedBackend) -> None:
    connection = await opened("scripted:")
    session = await connection.create_session()
    producer = await session.create_producer(QUEUE)
    backend.hold("send")
    tasks = [asyncio.create_task(producer.send(str(number))) for number in range(200)]
    await eventually(lambda: backend.script.count("send") == 200)
    before = session._port.wakes
    answering = threading.Thread(target=lambda: backend.script.release("send"))
    answering.start()
    answering.join()  # the loop does not run meanwhile
    await asyncio.gather(*tasks)
    assert session._port.wakes - before == 1
    backend.script.answer_inline("send")
    await connection.close()


@looped
async def test_a_window_that_stays_full_refuses_those_that_waited_long_enough(backend: ScriptedBackend) -> None:
    connection = await opened("scripted:", send_window=1, send_timeout=0.2)
    producer = await (await connection.create_session()).create_producer(QUEUE)
    backend.hold("send")
    outcomes = await asyncio.gather(*(producer.send(str(n)) for n in range(3)), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] in (
        [InDoubtException, ResourceAllocationException, ResourceAllocationException],
        [InDoubtException, InDoubtException, ResourceAllocationException],
        [InDoubtException, InDoubtException, InDoubtException],
    )
    doubt = outcomes[0]
    assert isinstance(doubt, InDoubtException)
    assert "send_timeout" in str(doubt)
    backend.script.answer_inline("send")
    backend.script.release("send")
    await producer.send("again")
    await connection.close()


@looped
async def test_errors_of_the_call_are_raised_and_disturb_no_other(target: str) -> None:
    async with await opened(target) as connection, connection.create_session() as session:
        producer = await session.create_producer(QUEUE)
        with pytest.raises(jmsbridge.UnsupportedOperationError):
            await producer.send(QUEUE, "with a destination")
        with pytest.raises(jmsbridge.MessageFormatException):
            await producer.send(None)  # type: ignore[call-overload]
        with pytest.raises(AttributeError, match="await send"):
            producer.send_async("x")  # type: ignore[attr-defined]
        outcomes = await asyncio.gather(
            producer.send("a"), producer.send("b", priority=12), producer.send("c"), return_exceptions=True
        )
        assert [outcome is None for outcome in outcomes] == [True, False, True]
        assert await receive_texts(await session.create_consumer(QUEUE), 2) == ["a", "c"]


@looped
async def test_a_message_stays_usable_while_its_send_is_awaited(backend: ScriptedBackend) -> None:
    connection = await opened("scripted:")
    session = await connection.create_session()
    producer, message = await session.create_producer(QUEUE), session.create_text_message("one")
    backend.hold("send")
    sending = asyncio.create_task(producer.send(message))
    await soon()
    message.text = "two"
    backend.script.answer_inline("send")
    backend.script.release("send")
    await sending
    await producer.send(message)
    assert [envelope.body for envelope in backend.accepted] == ["one", "two"]
    await connection.close()


@pytest.mark.parametrize("mode", [DeliveryMode.NON_PERSISTENT, DeliveryMode.PERSISTENT_GROUPACK])
@looped
async def test_what_asks_for_no_confirmation_does_not_wait_for_it(backend: ScriptedBackend, mode: DeliveryMode) -> None:
    connection = await opened("scripted:", group_ack_threshold=10)
    session = await connection.create_session()
    producer = await session.create_producer(QUEUE)
    producer.delivery_mode = mode
    backend.hold("send")
    for number in range(5):
        await producer.send(str(number))
    assert len(backend.script.held("send")) == 5
    backend.script.answer_inline("send")
    backend.script.release("send")
    await producer.close()
    await connection.close()


@looped
async def test_a_failure_that_no_task_awaits_is_reported(backend: ScriptedBackend) -> None:
    heard: list[jmsbridge.JMSException] = []
    connection = await opened("scripted:")

    async def listen(error: jmsbridge.JMSException) -> None:
        await asyncio.sleep(0)
        heard.append(error)

    connection.exception_listener = listen
    session = await connection.create_session()
    producer = await session.create_producer(QUEUE)
    backend.hold("send")
    await producer.send("x", delivery_mode=DeliveryMode.NON_PERSISTENT)
    backend.script.release("send", error=spi.SendRefused("no"))
    await eventually(lambda: heard)
    assert session.failed_sends == tuple(heard)
    backend.script.answer_inline("send")
    await connection.close()


@pytest.mark.parametrize("error", [ValueError, SystemExit])
@looped
async def test_an_exception_listener_that_raises_does_not_end_the_loop(
    backend: ScriptedBackend, caplog: pytest.LogCaptureFixture, error: type[BaseException]
) -> None:
    connection = await opened("scripted:")

    def listen(_: jmsbridge.JMSException) -> None:
        raise error("mistake")

    connection.exception_listener = listen
    connection._core.report(jmsbridge.JMSException("told"))
    await eventually(lambda: "the exception listener raised" in caplog.text)
    await connection.close()


@looped
async def test_sends_of_a_transaction_wait_for_its_commit(target: str) -> None:
    async with await opened(target) as connection:
        session = await connection.create_session(transacted=True)
        producer = await session.create_producer(QUEUE)
        reading = await connection.create_session()
        consumer = await reading.create_consumer(QUEUE)
        await asyncio.gather(*(producer.send(str(n)) for n in range(3)))
        assert await consumer.receive_no_wait() is None
        await asyncio.gather(producer.send("3"), session.commit(), producer.send("next"))
        assert await receive_texts(consumer, 4) == ["0", "1", "2", "3"]
        assert await consumer.receive_no_wait() is None
        await session.rollback()


@looped
async def test_what_comes_again_goes_before_later_sends(
    backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the answers of the lost link come only when the next one is there."""
    connection = await opened("scripted:", resend=True)
    session = await connection.create_session()
    producer = await session.create_producer(QUEUE)
    backend.script.keep("send")
    first = asyncio.create_task(producer.send("first"))
    await soon()
    backend.script.answer_inline("send")
    executor = session._core.outgoing.ledger.executor
    lost = backend.link
    with monkeypatch.context() as late:
        late.setattr(executor, "wake", lambda: None)
        lost.cut()
        second = asyncio.create_task(producer.send("second"))
        await eventually(lambda: backend.link is not lost and session._core.outgoing.channel.now is not None)
        await soon()
        assert backend.accepted == []
    executor.wake()
    await asyncio.gather(first, second)
    assert [envelope.body for envelope in backend.accepted] == ["first", "second"]
    await connection.close()


@looped
async def test_what_comes_again_does_not_go_over_the_lost_channel(backend: ScriptedBackend) -> None:
    """Its sends fail one after the other before the loss itself is told: the first must not end up behind them."""
    connection = await opened("scripted:")
    producer = await (await connection.create_session()).create_producer(QUEUE)
    backend.hold("send")
    sends = [asyncio.create_task(producer.send(str(number))) for number in range(3)]
    await eventually(lambda: len(backend.script.held("send")) == 3)
    for question in backend.script.held("send"):
        question.fail(spi.LinkLost("not written"))
        await soon()
    assert backend.script.count("send") == 3
    backend.script.answer_inline("send")
    backend.link.cut()
    await asyncio.gather(*sends)
    assert [envelope.body for envelope in backend.accepted] == ["0", "1", "2"]
    await connection.close()


@looped
async def test_sends_wait_for_the_next_link(backend: ScriptedBackend) -> None:
    """Those that never reached the broker go out on the next link, in order; the one in doubt says so."""
    connection = await opened("scripted:")
    producer = await (await connection.create_session()).create_producer(QUEUE)
    backend.script.keep("send")  # as if nothing was written yet
    sends = [asyncio.create_task(producer.send(str(number))) for number in range(5)]
    await soon()
    backend.script.answer_inline("send")
    backend.link.cut()
    outcomes = await asyncio.gather(*sends, return_exceptions=True)
    sent = [str(number) for number, outcome in enumerate(outcomes) if outcome is None]
    doubtful = [outcome for outcome in outcomes if outcome is not None]
    assert all(isinstance(outcome, InDoubtException) for outcome in doubtful)
    assert [envelope.body for envelope in backend.accepted] == sent
    await producer.send("after")
    await connection.close()


@looped
async def test_with_resend_the_second_send_has_the_id_of_the_first(backend: ScriptedBackend) -> None:
    connection = await opened("scripted:", resend=True)
    session = await connection.create_session()
    producer, message = await session.create_producer(QUEUE), session.create_text_message("twice")
    backend.hold("send")
    sending = asyncio.create_task(producer.send(message))
    await eventually(lambda: backend.script.held("send"))
    backend.script.answer_inline("send")
    backend.link.cut(applied=1)
    await sending
    assert [envelope.message_id for envelope in backend.accepted] == [message.jms_message_id] * 2
    await connection.close()


@pytest.mark.parametrize("end", ["cancel", "time-out", "close"])
@looped
async def test_what_would_be_sent_again_is_in_doubt_until_then(backend: ScriptedBackend, end: str) -> None:
    options: dict[str, Any] = {"resend": True, "reconnect_attempts": 1000, "close_timeout": 0.1}
    connection = await opened("scripted:", send_timeout=0.3 if end == "time-out" else 10.0, **options)
    session = await connection.create_session()
    producer, message = await session.create_producer(QUEUE), session.create_text_message("doubtful")
    backend.hold("send")
    sending = asyncio.create_task(producer.send(message))
    await eventually(lambda: backend.script.held("send"))
    backend.refuse(10_000)
    backend.link.cut(applied=1)
    await eventually(lambda: session._core.outgoing.ledger.is_idle)
    if end == "cancel":
        sending.cancel()
    elif end == "close":
        await session.close()
    with pytest.raises((asyncio.CancelledError, InDoubtException)) as outcome:
        await sending
    doubt = aio.in_doubt(outcome.value)
    assert doubt is not None
    assert doubt.unknown == (message,)
    await connection.close()
    assert len(backend.accepted) == 1


@looped
async def test_senders_pause_while_the_broker_asks_them_to(backend: ScriptedBackend) -> None:
    connection = await opened("scripted:", send_timeout=5.0)
    producer = await (await connection.create_session()).create_producer(QUEUE)
    backend.link.throttle(True)
    sending = asyncio.create_task(producer.send("x"))
    await soon()
    assert not sending.done()
    assert backend.script.count("send") == 0
    backend.link.throttle(False)
    await sending
    await connection.close()
