"""jmsbridge as applications use it: containers, template and asyncio, with objects of 256 bytes as JSON."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jmsbridge
from integration.bench.clients.protocol import ORDER, WINDOW, Arguments, Order, arguments, check_order, serve
from jmsbridge import Message, Queue, Template, aio
from jmsbridge.app import App, JsonConverter

__all__ = ["main"]

_CONVERTER = JsonConverter({"Order": Order})
_PATIENCE = 60.0  # seconds for one request


class _Countdown:
    """Counts the messages of a window; ``done`` is set by the last one."""

    def __init__(self, count: int) -> None:
        self._left = count
        self.done = threading.Event()

    def take(self, order: Order) -> None:
        check_order(order)
        self._left -= 1
        if not self._left:
            self.done.set()


def _load(wanted: Arguments, count: int) -> None:
    with jmsbridge.connect(wanted.url, send_window=WINDOW) as connection, connection.create_session() as session:
        producer = session.create_producer(Queue(wanted.queue))
        for _ in range(count):
            producer.send_async(_CONVERTER.to_message(session, ORDER))


def _listen(wanted: Arguments, count: int) -> None:
    countdown = _Countdown(count)

    def got(message: Message) -> None:
        countdown.take(_CONVERTER.from_message(message, Order))

    with jmsbridge.connect(wanted.url) as connection:
        consumer = connection.create_session().create_consumer(Queue(wanted.queue))
        consumer.message_listener = got
        connection.start()
        countdown.done.wait()


def _contain(wanted: Arguments, count: int) -> None:
    countdown = _Countdown(count)
    app = App(wanted.url, converter=_CONVERTER)

    @app.listener(wanted.queue)
    def on_order(order: Order) -> None:
        countdown.take(order)

    with app:
        countdown.done.wait()


def _contain_async(wanted: Arguments, count: int) -> None:
    countdown = _Countdown(count)
    app = App(wanted.url, converter=_CONVERTER)

    @app.listener(wanted.queue)
    async def on_order(order: Order) -> None:
        countdown.take(order)

    with app:
        countdown.done.wait()


def _produce(wanted: Arguments) -> None:
    with jmsbridge.connect(wanted.url) as connection, connection.create_session() as session:
        producer = session.create_producer(Queue(wanted.queue))

        def window(count: int) -> None:
            for _ in range(count):
                producer.send(_CONVERTER.to_message(session, ORDER))

        serve(window)


def _by_template(wanted: Arguments) -> None:
    with Template(wanted.url, converter=_CONVERTER) as template:

        def window(count: int) -> None:
            for _ in range(count):
                template.send(wanted.queue, ORDER)

        serve(window)


def _answer(wanted: Arguments) -> None:
    app = App(wanted.url, converter=_CONVERTER)

    @app.listener(wanted.queue, concurrency=32, transacted=False)
    async def answer(order: Order) -> Order:
        return order

    with app:
        print("ready", flush=True)
        sys.stdin.read()


@contextmanager
def _answering(wanted: Arguments) -> Iterator[None]:
    """The program that answers, a process of its own as in practice, the same for both ways to ask."""
    command = [sys.executable, "-m", __spec__.name, "answer", wanted.url, wanted.queue]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as answering:
        assert answering.stdout is not None
        if answering.stdout.readline() != b"ready\n":
            raise RuntimeError("the program that answers has failed")
        yield
        answering.communicate(timeout=_PATIENCE)


def _ask(wanted: Arguments, *, at_once: int) -> None:
    with _answering(wanted), Template(wanted.url, converter=_CONVERTER) as template:

        def window(count: int) -> None:
            for start in range(0, count, at_once):
                asked = [
                    template.request_async(wanted.queue, ORDER, Order, timeout=_PATIENCE)
                    for _ in range(min(at_once, count - start))
                ]
                for each in asked:
                    check_order(each.result(_PATIENCE))

        serve(window)


async def _send_gathered(session: Any, producer: Any, count: int) -> None:
    for start in range(0, count, WINDOW):
        batch = range(min(WINDOW, count - start))
        await asyncio.gather(*(producer.send(_CONVERTER.to_message(session, ORDER)) for _ in batch))


async def _iterate(session: Any, queue: str, count: int) -> None:
    left = count
    async with session.create_consumer(Queue(queue)) as consumer:
        async for message in consumer:
            check_order(_CONVERTER.from_message(message, Order))
            left -= 1
            if not left:
                return


async def _with_aio(wanted: Arguments, *, sends: bool) -> None:
    loop = asyncio.get_running_loop()
    async with aio.connect(wanted.url, send_window=WINDOW) as connection, connection.create_session() as session:
        await connection.start()
        producer = await session.create_producer(Queue(wanted.queue))

        def window(count: int) -> None:
            work = _send_gathered(session, producer, count) if sends else _iterate(session, wanted.queue, count)
            asyncio.run_coroutine_threadsafe(work, loop).result()

        await asyncio.to_thread(serve, window)


_ROLES: dict[str, Callable[[Arguments], object]] = {
    "load": lambda wanted: serve(lambda count: _load(wanted, count)),
    "listener": lambda wanted: serve(lambda count: _listen(wanted, count)),
    "container": lambda wanted: serve(lambda count: _contain(wanted, count)),
    "async_container": lambda wanted: serve(lambda count: _contain_async(wanted, count)),
    "producer": _produce,
    "template": _by_template,
    "answer": _answer,
    "ask_one": lambda wanted: _ask(wanted, at_once=1),
    "ask_many": lambda wanted: _ask(wanted, at_once=1000),
    "aio_send": lambda wanted: asyncio.run(_with_aio(wanted, sends=True)),
    "aio_receive": lambda wanted: asyncio.run(_with_aio(wanted, sends=False)),
}


def main(wanted: Arguments) -> None:
    """Roles: the keys of ``_ROLES``."""
    _ROLES[wanted.role](wanted)


if __name__ == "__main__":
    main(arguments())
