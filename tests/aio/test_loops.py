"""Event loops: many connections in one, several of them, one that was closed, and ``fork``."""

import asyncio
import gc
import os
import subprocess
import sys
import threading
import time
import weakref
from typing import Any

import pytest

import jmsbridge
from jmsbridge import Queue, aio
from jmsbridge.aio.pool import MOST_THREADS
from jmsbridge.core.runtime.waiting import LONGEST_WAIT
from jmsbridge.errors import IllegalStateException
from jmsbridge.testing.scripted import ScriptedBackend, text_envelope
from jmsbridge.testing.suite import support
from tests.aio.support import eventually, looped, opened, receive_texts, soon

QUEUE = Queue("orders")


@looped
async def test_a_thousand_connections_wait_without_threads(target: str) -> None:
    before = threading.active_count()
    connections = await asyncio.gather(*(opened(target) for _ in range(1000)))
    sessions = await asyncio.gather(*(connection.create_session() for connection in connections))
    consumers = await asyncio.gather(
        *(session.create_consumer(Queue(f"q{number}")) for number, session in enumerate(sessions))
    )
    waiting = [asyncio.create_task(consumer.receive()) for consumer in consumers]
    await soon()
    assert threading.active_count() <= before + MOST_THREADS
    producer = await sessions[0].create_producer(None)
    await asyncio.gather(*(producer.send(Queue(f"q{number}"), str(number)) for number in range(1000)))
    got = await asyncio.gather(*waiting)
    assert [message.get_body(str) for message in got if message is not None] == [str(number) for number in range(1000)]
    await asyncio.gather(*(connection.close() for connection in connections))


@looped
async def test_who_waits_for_a_message_does_not_wake_the_loop(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    timers: list[float] = []
    loop = asyncio.get_running_loop()
    call_later = loop.call_later

    def note(delay: float, *more: Any, **named: Any) -> asyncio.TimerHandle:
        timers.append(delay)
        return call_later(delay, *more, **named)

    async with await opened(target) as connection, connection.create_session() as session:
        consumer = await session.create_consumer(QUEUE)
        monkeypatch.setattr(loop, "call_later", note)
        waiting = asyncio.create_task(consumer.receive())
        await soon()
        assert timers
        assert min(timers) >= LONGEST_WAIT
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)


def test_another_loop_is_told(target: str) -> None:
    async def use() -> tuple[aio.Connection, aio.Session, aio.MessageConsumer]:
        connection = await opened(target)
        session = await connection.create_session()
        return connection, session, await session.create_consumer(QUEUE)

    async def fails(call: Any) -> None:
        with pytest.raises(IllegalStateException, match="another event loop"):
            await call()

    first = asyncio.new_event_loop()
    connection, session, consumer = first.run_until_complete(use())
    for call in (connection.create_session, connection.close, session.commit, session.close, consumer.receive):
        asyncio.run(fails(call))
    asyncio.run(fails(consumer.receive_no_wait))
    first.run_until_complete(connection.close())
    first.close()


def test_each_loop_has_its_own_connections(target: str) -> None:
    def work(name: str, texts: list[str]) -> None:
        async def run() -> None:
            async with await opened(target) as connection, connection.create_session() as session:
                producer = await session.create_producer(Queue(name))
                await asyncio.gather(*(producer.send(f"{name}{number}") for number in range(50)))
                texts.extend(await receive_texts(await session.create_consumer(Queue(name)), 50))

        asyncio.run(run())

    results: dict[str, list[str]] = {name: [] for name in "abc"}
    threads = [threading.Thread(target=work, args=item) for item in results.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert results == {name: [f"{name}{number}" for number in range(50)] for name in "abc"}


def test_a_forked_process_is_told_and_opens_its_own(target: str) -> None:
    async def child(connection: aio.Connection) -> None:
        with pytest.raises(IllegalStateException, match="another process"):
            await connection.create_session()
        async with await opened("embedded:?broker=child") as own, own.create_session() as session:
            await (await session.create_producer(QUEUE)).send("x")
            assert await receive_texts(await session.create_consumer(QUEUE), 1) == ["x"]

    loop = asyncio.new_event_loop()
    connection = loop.run_until_complete(opened(target))
    pid = os.fork()
    if pid == 0:
        failed = 1
        try:
            asyncio.set_event_loop(None)
            asyncio.run(child(connection))
            failed = 0
        finally:
            os._exit(failed)
    assert os.waitpid(pid, 0)[1] == 0
    loop.run_until_complete(connection.close())
    loop.close()


def test_a_loop_closed_with_sends_in_flight_leaves_nothing_stuck(
    backend: ScriptedBackend, caplog: pytest.LogCaptureFixture
) -> None:
    async def begin() -> aio.Connection:
        connection = await opened("scripted:")
        producer = await (await connection.create_session()).create_producer(QUEUE)
        backend.hold("send")
        sends.extend(asyncio.ensure_future(producer.send(str(number))) for number in range(10))
        await soon()
        return connection

    sends: list[asyncio.Future[None]] = []
    loop = asyncio.new_event_loop()
    connection = loop.run_until_complete(begin())
    for send in sends:
        send.cancel()
    loop.run_until_complete(asyncio.gather(*sends, return_exceptions=True))
    loop.close()
    backend.script.answer_inline("send")
    backend.script.release("send", 5)
    backend.script.release("send", error=jmsbridge.spi.SendRefused("no"))
    closed = threading.Event()

    def look() -> None:
        while connection._core.life.state.name != "CLOSED":
            closed.wait(0.005)
        closed.set()

    threading.Thread(target=look, daemon=True).start()
    assert closed.wait(15)
    assert "an event loop was closed while 1 of its connections were open" in caplog.text
    assert len(connection._core.sessions) == 0


_SILENT = """
import asyncio, os, signal, socket, threading, time
from jmsbridge import aio

async def main():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        await aio.connect(f"rabbitmq://127.0.0.1:{silent.getsockname()[1]}")

try:
    asyncio.run(main())
except KeyboardInterrupt:
    print(time.time(), flush=True)
"""


def test_python_ends_at_once_although_a_connect_that_was_interrupted_goes_on() -> None:
    ended = subprocess.run([sys.executable, "-c", _SILENT], capture_output=True, text=True, timeout=60, check=False)
    assert time.time() - float(ended.stdout) < 5.0
    assert "event loop was closed" not in ended.stderr


def test_a_loop_closed_while_a_listener_waits_closes_the_connection(backend: ScriptedBackend) -> None:
    async def begin() -> aio.Connection:
        connection = await opened("scripted:")
        listening, sending = await connection.create_session(), await connection.create_session()
        started = asyncio.Event()

        async def wait(_: jmsbridge.Message) -> None:
            started.set()
            await asyncio.get_running_loop().create_future()

        (await listening.create_consumer(QUEUE)).message_listener = wait
        backend.subscription.deliver(text_envelope(QUEUE.address, "x"))
        await started.wait()
        backend.hold("send")
        kept.append(asyncio.ensure_future((await sending.create_producer(QUEUE)).send("y")))
        await soon()
        return connection

    kept: list[Any] = []
    loop = asyncio.new_event_loop()
    connection = loop.run_until_complete(begin())
    kept.extend(asyncio.all_tasks(loop))
    loop.close()
    backend.script.answer_inline("send")
    backend.script.release("send")
    support.eventually(lambda: connection._core.life.state.name == "CLOSED", 15)


@pytest.mark.parametrize("used", [False, True])
def test_a_connection_that_is_dropped_is_closed(target: str, used: bool) -> None:
    async def use(connection: aio.Connection) -> None:
        connection.exception_listener = print
        session = await connection.create_session()
        producer = await session.create_producer(QUEUE)
        await producer.send("x")
        assert await receive_texts(await session.create_consumer(QUEUE), 1) == ["x"]

    async def drop() -> None:
        connection = await opened(target)
        if used:
            await use(connection)
        core = connection._core
        del connection

        def is_closed() -> bool:
            gc.collect()
            return core.life.state.name == "CLOSED"

        await eventually(is_closed)  # the thread that has served the last call may still be on its way to its end

    loop = asyncio.new_event_loop()
    with pytest.warns(ResourceWarning, match="was not closed"):
        loop.run_until_complete(drop())
    loop.close()


@looped
async def test_a_busy_consumer_or_sender_lets_other_tasks_run(target: str) -> None:
    turns = 0
    async with await opened(target) as connection, connection.create_session(transacted=True) as session:
        producer = await session.create_producer(QUEUE)

        async def count() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        counting = asyncio.create_task(count())
        for number in range(1000):
            await producer.send(str(number))
        assert turns >= 10
        await session.commit()
        consumer = await session.create_consumer(QUEUE, prefetch=1000)
        before = turns
        await receive_texts(consumer, 1000)
        assert turns - before >= 10
        counting.cancel()
        await session.commit()


@looped
async def test_a_wake_up_that_an_interrupt_has_swallowed_is_late_but_not_lost(backend: ScriptedBackend) -> None:
    connection = await opened("scripted:", send_timeout=4.0)
    session = await connection.create_session()
    producer = await session.create_producer(QUEUE)
    backend.hold("send")
    sending = asyncio.create_task(producer.send("x"))
    await eventually(lambda: backend.script.held("send"))
    port = connection._port
    port._woken = port._pass  # as if it were coming
    backend.script.answer_inline("send")
    backend.script.release("send")
    await sending
    await connection.close()


@looped
async def test_a_receive_that_an_interrupt_has_ended_does_not_hinder_the_next(target: str) -> None:
    async with await opened(target) as connection, connection.create_session() as session:
        await (await session.create_producer(QUEUE)).send("x")
        consumer = await session.create_consumer(QUEUE)
        ended = asyncio.create_task(asyncio.sleep(0))
        await ended
        session._scope.receiving = ended  # as if it had not come to its end
        assert await receive_texts(consumer, 1) == ["x"]


def test_a_loop_is_not_kept_by_its_connections(target: str) -> None:
    async def use() -> None:
        async with await opened(target) as connection, connection.create_session() as session:
            await (await session.create_producer(QUEUE)).send("x")

    loop = asyncio.new_event_loop()
    loop.run_until_complete(use())
    loop.close()
    seen = weakref.ref(loop)
    del loop

    def is_gone() -> bool:
        gc.collect()
        return seen() is None

    support.eventually(is_gone)  # threads that have served it may still be on their way to their end
