"""The cost of the facade: CPU per message with a backend that answers at once and stores nothing."""

import threading
import time
from collections.abc import Callable, Iterator
from functools import partial

import jmsbridge
from bench.measuring import BODY, Figure, message, read, windows
from jmsbridge import Connection, Message, Queue
from jmsbridge.spi import Address, BodyKind, Envelope, Long
from jmsbridge.testing.scripted import ScriptedBackend

__all__ = ["figures"]

_PATIENCE = 120.0


def figures(count: int) -> Iterator[Figure]:
    """CPU microseconds per message, all threads together, the scripted backend's share included."""
    template = Envelope(
        Address("bench"),
        BodyKind.TEXT,
        BODY,
        {"customer": "c-4711", "number": 42, "sequence": Long(1 << 40), "price": 9.75, "rush": True},
        "ID:bench-1",
        1,
    )
    backend = ScriptedBackend(name="bench", auto=True, template=template)
    with backend.installed(), jmsbridge.connect("bench:") as connection:
        connection.start()
        for name, bar, run in (
            ("facade, asynchronous send", 12.0, _send_async),
            ("facade, synchronous send", 12.0, _send),
            ("facade, listener, AUTO", 10.0, _listen),
            ("facade, receive(), AUTO", 10.0, _receive),
        ):
            yield windows(name, "µs CPU/message", bar, partial(_per_message, run, connection, count), more=False)


def _per_message(run: Callable[[Connection, int], float], connection: Connection, count: int) -> float:
    return run(connection, count) / count * 1e6


class _Completions:
    def __init__(self, count: int) -> None:
        self._left = count
        self.done = threading.Event()

    def on_completion(self, sent: Message) -> None:
        self._left -= 1
        if not self._left:
            self.done.set()

    def on_exception(self, sent: Message, error: Exception) -> None:
        raise error


def _send_async(connection: Connection, count: int) -> float:
    session = connection.create_session()
    producer = session.create_producer(Queue("bench"))
    completions = _Completions(count)
    started = time.process_time()
    for _ in range(count):
        producer.send(message(session), completion_listener=completions)
    if not completions.done.wait(_PATIENCE):
        raise RuntimeError("the completions did not arrive")
    used = time.process_time() - started
    session.close()
    return used


def _send(connection: Connection, count: int) -> float:
    session = connection.create_session()
    producer = session.create_producer(Queue("bench"))
    started = time.process_time()
    for _ in range(count):
        producer.send(message(session))
    used = time.process_time() - started
    session.close()
    return used


def _listen(connection: Connection, count: int) -> float:
    session = connection.create_session()
    consumer = session.create_consumer(Queue("bench"))
    left, done = count, threading.Event()

    def listener(received: Message) -> None:
        nonlocal left
        read(received)
        left -= 1
        if not left:
            done.set()

    started = time.process_time()
    consumer.message_listener = listener
    if not done.wait(_PATIENCE):
        raise RuntimeError("the messages did not come")
    used = time.process_time() - started
    session.close()
    return used


def _receive(connection: Connection, count: int) -> float:
    session = connection.create_session()
    consumer = session.create_consumer(Queue("bench"))
    started = time.process_time()
    for _ in range(count):
        read(consumer.receive())
    used = time.process_time() - started
    session.close()
    return used
