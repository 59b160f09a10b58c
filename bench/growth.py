"""The cost of a message with 1, 10, 100 and 1,000 objects that are idle, or share the work."""

import itertools
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import jmsbridge
from bench.measuring import WINDOWS, Curve, message, read
from jmsbridge import CLIENT_ACKNOWLEDGE, Connection, Message, MessageConsumer, Queue, Session, Topic

__all__ = ["COUNTS", "curves"]

COUNTS = (1, 10, 100, 1000)
BAR = 2.0
"""The highest allowed cost, relative to the cost with one object."""

_PATIENCE = 120.0
_WINDOW = 0.1
"""Approximate seconds of one window."""

_names = itertools.count(1)

Run = Callable[[int], float]
"""Send and receive this many messages; return the CPU seconds of all threads."""


def curves() -> Iterator[Curve]:
    """Microseconds of CPU per message; idle objects belong to the same connection."""
    for name, prepare in (
        ("listener, consumers in one session", _listening),
        ("send and receive(), consumers in one session", _receiving),
        ("the same, CLIENT, each acknowledged", _acknowledging),
        ("send and receive(), sessions", _among_sessions),
        ("send and receive(), queues with a consumer each", _among_queues),
        ("send, consumers of one queue in turn", _to_many),
        ("send and receive(), selectors on the queue, one matches", _selecting_queue),
        ("send and receive(), selectors on the topic, one matches", _selecting_topic),
    ):
        yield _curve(name, prepare)


def _curve(name: str, prepare: Callable[[ExitStack, int], Run]) -> Curve:
    """Windows for each number in turn, so that the load of the machine affects all."""
    with ExitStack() as stack:
        runs = [prepare(stack, count) for count in COUNTS]
        sizes = [_size(run) for run in runs]
        rounds = [[run(size) / size * 1e6 for run, size in zip(runs, sizes, strict=True)] for _ in range(WINDOWS)]
    costs = [statistics.median(values) for values in zip(*rounds, strict=True)]
    return Curve(name, costs, max(costs[1:]) / costs[0], BAR)


def _size(run: Run) -> int:
    """The number of messages of a window; finding it is also the warm-up."""
    size = 10
    while (seconds := run(size)) < _WINDOW / 2 and size < 20_000:
        size = min(20_000, max(2 * size, int(size * _WINDOW / max(seconds, 1e-6) / 2)))
    return size


def _connect(stack: ExitStack) -> Connection:
    connection = stack.enter_context(jmsbridge.connect(f"embedded:?broker=growth-{next(_names)}"))
    connection.start()
    return connection


def _pass_on(connection: Connection, to: Queue | Topic, consumer: MessageConsumer, **properties: str) -> Run:
    """Send and receive one message at a time; the sender has another session."""
    session = connection.create_session()
    producer = session.create_producer(to)

    def run(count: int) -> float:
        started = time.process_time()
        for _ in range(count):
            made = message(session)
            for name, value in properties.items():
                made.set_string_property(name, value)
            producer.send(made)
            read(consumer.receive(timeout=_PATIENCE))
        return time.process_time() - started

    return run


def _listening(stack: ExitStack, count: int) -> Run:
    connection = _connect(stack)
    session, sender = connection.create_session(), connection.create_session()
    left, done = 0, threading.Event()

    def listener(received: Message) -> None:
        nonlocal left
        read(received)
        left -= 1
        if not left:
            done.set()

    for number in range(count):
        session.create_consumer(Queue(f"q{number}")).message_listener = listener
    producer = sender.create_producer(Queue("q0"))

    def run(messages: int) -> float:
        nonlocal left
        left = messages
        done.clear()
        started = time.process_time()
        for _ in range(messages):
            producer.send(message(sender))
        if not done.wait(_PATIENCE):
            raise RuntimeError("the messages did not come")
        return time.process_time() - started

    return run


def _consumers(session: Session, count: int) -> MessageConsumer:
    """Create ``count`` consumers, each on another queue; return the first."""
    first, *_ = [session.create_consumer(Queue(f"q{number}")) for number in range(count)]
    return first


def _receiving(stack: ExitStack, count: int) -> Run:
    connection = _connect(stack)
    return _pass_on(connection, Queue("q0"), _consumers(connection.create_session(), count))


def _acknowledging(stack: ExitStack, count: int) -> Run:
    connection = _connect(stack)
    sender = connection.create_session()
    producer = sender.create_producer(Queue("q0"))
    consumer = _consumers(connection.create_session(session_mode=CLIENT_ACKNOWLEDGE), count)

    def run(messages: int) -> float:
        started = time.process_time()
        for _ in range(messages):
            producer.send(message(sender))
            received = consumer.receive(timeout=_PATIENCE)
            assert received is not None
            read(received)
            received.acknowledge()
        return time.process_time() - started

    return run


def _among_sessions(stack: ExitStack, count: int) -> Run:
    connection = _connect(stack)
    sessions = [connection.create_session() for _ in range(count)]
    consumers = [session.create_consumer(Queue(f"q{number}")) for number, session in enumerate(sessions)]
    return _pass_on(connection, Queue("q0"), consumers[0])


def _among_queues(stack: ExitStack, count: int) -> Run:
    """The messages go through all of them."""
    connection = _connect(stack)
    sender = connection.create_session()
    consumers = [connection.create_session().create_consumer(Queue(f"q{number}")) for number in range(count)]
    producer = sender.create_producer(None)
    queues = itertools.cycle([(Queue(f"q{number}"), consumer) for number, consumer in enumerate(consumers)])

    def run(messages: int) -> float:
        started = time.process_time()
        for queue, consumer in itertools.islice(queues, messages):
            producer.send(queue, message(sender))
            read(consumer.receive(timeout=_PATIENCE))
        return time.process_time() - started

    return run


def _to_many(stack: ExitStack, count: int) -> Run:
    """Only the sends are timed; the messages are received before the next window."""
    connection = _connect(stack)
    sender = connection.create_session()
    producer = sender.create_producer(Queue("q"))
    consumers = [connection.create_session().create_consumer(Queue("q"), prefetch=20_000) for _ in range(count)]

    def run(messages: int) -> float:
        started = time.process_time()
        for _ in range(messages):
            producer.send(message(sender))
        seconds = time.process_time() - started
        for consumer in consumers:
            for _ in range(messages // count + 1):
                if consumer.receive(timeout=0.0001) is None:
                    break
        return seconds

    return run


def _selecting_queue(stack: ExitStack, count: int) -> Run:
    return _selecting(stack, count, Queue("q"))


def _selecting_topic(stack: ExitStack, count: int) -> Run:
    return _selecting(stack, count, Topic("t"))


def _selecting(stack: ExitStack, count: int, destination: Queue | Topic) -> Run:
    connection = _connect(stack)
    idle = connection.create_session()
    for number in range(1, count):
        idle.create_consumer(destination, f"kind = 'k{number}' AND number > 0")
    consumer = connection.create_session().create_consumer(destination, "kind = 'k0' AND number > 0")
    return _pass_on(connection, destination, consumer, kind="k0")
