"""Rates through the facade on the embedded broker in memory."""

import itertools
import resource
import threading
import time
from collections.abc import Iterator

import jmsbridge
from bench.measuring import Figure, median_rate, message, read, windows
from jmsbridge import Connection, Message, Queue, Session

__all__ = ["figures"]

_names = itertools.count(1)
_PATIENCE = 120.0


class _Counter:
    """A listener that counts to a number; its calls come one at a time."""

    def __init__(self, count: int) -> None:
        self._left = count
        self.failed: Exception | None = None
        self.done = threading.Event()

    def __call__(self, received: Message) -> None:
        self._left -= 1
        if not self._left:
            self.done.set()

    def on_message(self, received: Message) -> None:
        read(received)
        self(received)

    def on_completion(self, sent: Message) -> None:
        self(sent)

    def on_exception(self, sent: Message, error: Exception) -> None:
        self.failed = error
        self.done.set()

    def wait_done(self) -> None:
        if not self.done.wait(_PATIENCE) or self.failed:
            raise RuntimeError(f"the window did not end: {self.failed or 'no answer'}")


def figures(count: int) -> Iterator[Figure]:
    """The four rates with their required values."""
    with jmsbridge.connect("embedded:?broker=bench&max_messages=5000000") as connection:
        connection.start()
        yield median_rate(
            "asynchronous sends, completion listener", 45_000, count, lambda n: _send_async(connection, n)
        )
        yield windows("thread switches, the same", "per message", 0.1, lambda: _switches(connection, count), more=False)
        yield median_rate("synchronous sends", 25_000, count, lambda n: _send(connection, n))
        yield median_rate("listener, AUTO", 45_000, count, lambda n: _listen(connection, n))
        yield median_rate("receive(), AUTO", 25_000, count, lambda n: _receive(connection, n))


def _fresh(session: Session) -> Queue:
    return session.create_queue(f"bench.{next(_names)}")


def _drain(session: Session, queue: Queue) -> None:
    """Empty the broker, so that every window begins alike."""
    consumer = session.create_consumer(queue)
    while consumer.receive_no_wait() is not None:
        pass
    consumer.close()


def _send_async(connection: Connection, count: int) -> float:
    session = connection.create_session()
    queue = _fresh(session)
    producer = session.create_producer(queue)
    counter = _Counter(count)
    started = time.perf_counter()
    for _ in range(count):
        producer.send(message(session), completion_listener=counter)
    counter.wait_done()
    seconds = time.perf_counter() - started
    _drain(session, queue)
    session.close()
    return seconds


def _switches(connection: Connection, count: int) -> float:
    """Voluntary thread switches, which show whether the completion thread is woken for every message."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
    _send_async(connection, count)
    return (resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw - before) / count


def _send(connection: Connection, count: int) -> float:
    session = connection.create_session()
    queue = _fresh(session)
    seconds = _fill(session, queue, count)
    _drain(session, queue)
    session.close()
    return seconds


def _fill(session: Session, queue: Queue, count: int) -> float:
    producer = session.create_producer(queue)
    started = time.perf_counter()
    for _ in range(count):
        producer.send(message(session))
    seconds = time.perf_counter() - started
    producer.close()
    return seconds


def _listen(connection: Connection, count: int) -> float:
    session = connection.create_session()
    queue = _fresh(session)
    _fill(session, queue, count)
    counter = _Counter(count)
    consumer = session.create_consumer(queue)
    started = time.perf_counter()
    consumer.message_listener = counter
    counter.wait_done()
    seconds = time.perf_counter() - started
    session.close()
    return seconds


def _receive(connection: Connection, count: int) -> float:
    session = connection.create_session()
    queue = _fresh(session)
    _fill(session, queue, count)
    consumer = session.create_consumer(queue)
    started = time.perf_counter()
    for _ in range(count):
        read(consumer.receive(timeout=_PATIENCE))
    seconds = time.perf_counter() - started
    session.close()
    return seconds
