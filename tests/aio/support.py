"""Helpers of the tests of asyncio: tests as coroutines, and a cancellation at any ``await`` of a program."""

import asyncio
import functools
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any, TypeVar

import pytest

import jmsbridge
from jmsbridge import Queue, aio

__all__ = ["ANSWERED", "LONG", "cancelled_at", "eventually", "looped", "opened", "receive_texts", "send", "soon"]

ANSWERED = pytest.mark.parametrize("answered", [False, True], ids=["waits", "is-answered"])
"""When a cancellation comes: while the program waits, or in the moment of an answer that it has not seen."""

LONG = 20.0
"""Seconds after which a test has failed."""

T = TypeVar("T")


def looped(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run a coroutine function as a test, in a new event loop."""

    @functools.wraps(test)
    def run(*args: Any, **named: Any) -> None:
        async def within() -> None:
            async with asyncio.timeout(LONG):
                await test(*args, **named)

        asyncio.run(within())

    return run


async def opened(target: str, *, start: bool = True, **options: Any) -> aio.Connection:
    """A connection, started; the test closes it."""
    connection = await aio.connect(target, reconnect_delay=0.001, **options)
    if start:
        await connection.start()
    return connection


async def send(target: str, queue: Queue, *texts: str) -> None:
    """Send texts, pipelined, over a connection of its own."""
    async with aio.connect(target) as connection, connection.create_session() as session:
        producer = await session.create_producer(queue)
        await asyncio.gather(*(producer.send(text) for text in texts))


async def receive_texts(consumer: aio.MessageConsumer, count: int) -> list[str]:
    """The texts of the next messages, none of which may be a redelivery."""
    texts: list[str] = []
    async with asyncio.timeout(LONG / 2):
        while len(texts) < count:
            message = await consumer.receive()
            assert isinstance(message, jmsbridge.TextMessage)
            assert not message.jms_redelivered
            texts.append(str(message.text))
    return texts


async def eventually(is_so: Callable[[], object]) -> None:
    """Wait until it is so."""
    async with asyncio.timeout(LONG / 2):
        while not is_so():
            await asyncio.sleep(0.002)


async def soon() -> None:
    """Let all tasks run until they wait."""
    for _ in range(20):
        await asyncio.sleep(0)


class _Cancelling(Awaitable[T]):
    """Awaits a coroutine, and cancels the task when it waits for the ``at``-th time, or when that wait is answered."""

    def __init__(self, program: Coroutine[Any, Any, T], at: int, answered: bool) -> None:
        self.program = program
        self.at = at
        self.answered = answered

    def __await__(self) -> Generator[Any, Any, T]:
        steps = self.program.__await__()
        waits = 0
        send: Callable[[], Any] = functools.partial(next, steps)
        while True:
            try:
                waiting = send()
            except StopIteration as ended:
                value: T = ended.value
                return value
            if waits == self.at:
                task = asyncio.current_task()
                assert task is not None
                if self.answered and isinstance(waiting, asyncio.Future):
                    waiting.add_done_callback(lambda _, task=task: task.cancel())  # type: ignore[misc]
                else:
                    asyncio.get_running_loop().call_soon(task.cancel)
            waits += 1
            try:
                yield waiting
            except BaseException as error:
                send = functools.partial(steps.throw, error)
            else:
                send = functools.partial(next, steps)


async def cancelled_at(program: Coroutine[Any, Any, Any], at: int, answered: bool) -> BaseException | None:
    """Run a program, cancelled at its ``at``-th wait; the CancelledError, or None if it did not wait that often.

    With ``answered`` the cancellation comes in the moment in which there is an answer that the program has not seen.
    """

    async def run() -> None:
        await _Cancelling(program, at, answered)

    task = asyncio.create_task(run())
    await asyncio.wait({task})
    if task.cancelled():
        try:
            await task
        except asyncio.CancelledError as cancelled:
            return cancelled
    await task
    return None
