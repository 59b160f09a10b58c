"""Two million messages through every kind of producer and consumer at once: none lost, none twice, constant memory."""

import gc
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

import jmsbridge
from bench.measuring import resident
from jmsbridge import CLIENT_ACKNOWLEDGE, Connection, Message, MessageConsumer, TextMessage

TOTAL = 2_000_000
EACH = TOTAL // 4
BATCH = 100
AHEAD = 1000
"""Messages that a producer may be ahead of its consumer: stored messages must not look like a leak."""
PATIENCE = 60.0
FLAT = 16.0  # MiB
BODY = "x" * 256


class Pair:
    """One producer and one consumer in two threads, and their progress."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.received = 0
        self._room = threading.Semaphore(AHEAD)

    def message(self, make: Callable[[str], TextMessage], number: int) -> TextMessage:
        """Make the next message, as soon as the consumer has caught up."""
        assert self._room.acquire(timeout=PATIENCE), f"{self.name}: the consumer stopped at {self.received}"
        made = make(BODY)
        made.set_int_property("number", number)
        return made

    def check(self, message: Message | None) -> None:
        """Check that each message comes once, in the order of the sends."""
        assert message is not None, f"{self.name}: nothing came after {self.received}"
        got = message.get_int_property("number")
        assert got == self.received, f"{self.name}: {got} came where {self.received} was due"
        self.received += 1
        self._room.release()


class Completions:
    """Counts completions; the last one sets ``done``."""

    def __init__(self) -> None:
        self.completed = 0
        self.errors: list[Exception] = []
        self.done = threading.Event()

    def on_completion(self, message: Message) -> None:
        self.completed += 1
        if self.completed == EACH:
            self.done.set()

    def on_exception(self, message: Message, error: Exception) -> None:
        self.errors.append(error)
        self.done.set()


def asynchronous(connection: Connection, pair: Pair) -> None:
    """Sends with a completion listener."""
    session, completions = connection.create_session(), Completions()
    producer = session.create_producer(session.create_queue(pair.name))
    for number in range(EACH):
        producer.send(pair.message(session.create_text_message, number), completion_listener=completions)
    assert completions.done.wait(PATIENCE)
    assert completions.errors == []


def plain(connection: Connection, pair: Pair) -> None:
    """Sends that wait for the broker, a few of them with other headers."""
    session = connection.create_session()
    producer = session.create_producer(session.create_queue(pair.name))
    for number in range(EACH):
        producer.send(pair.message(session.create_text_message, number), time_to_live=3600 if number % 7 else None)


def in_transactions(connection: Connection, pair: Pair) -> None:
    """Batches; every tenth is rolled back once and sent again."""
    session = connection.create_session(transacted=True)
    producer = session.create_producer(session.create_queue(pair.name))
    for batch in range(EACH // BATCH):
        messages = [pair.message(session.create_text_message, batch * BATCH + place) for place in range(BATCH)]
        if batch % 10 == 0:
            for message in messages:
                producer.send(message)
            session.rollback()
        for message in messages:
            producer.send(message)
        session.commit()


def to_topic(connection: Connection, pair: Pair) -> None:
    """Publishes to the durable subscription of the pair."""
    session = connection.create_session()
    producer = session.create_producer(session.create_topic(pair.name))
    for number in range(EACH):
        producer.send(pair.message(session.create_text_message, number))


def listening(consumer: MessageConsumer, pair: Pair) -> None:
    """A listener in AUTO."""
    done, errors = threading.Event(), list[BaseException]()

    def heard(message: Message) -> None:
        try:
            pair.check(message)
        except BaseException as error:
            errors.append(error)
        if errors or pair.received == EACH:
            done.set()

    consumer.message_listener = heard
    assert done.wait(1000)
    assert errors == []


def receiving(consumer: MessageConsumer, pair: Pair) -> None:
    """receive() in AUTO."""
    for _ in range(EACH):
        pair.check(consumer.receive(timeout=PATIENCE))


def taking(connection: Connection, pair: Pair) -> None:
    """Transactions; every tenth is rolled back and redelivered."""
    session = connection.create_session(transacted=True)
    consumer = session.create_consumer(session.create_queue(pair.name))
    for batch in range(EACH // BATCH):
        if batch % 10 == 0:
            assert consumer.receive(timeout=PATIENCE) is not None
            session.rollback()
        for _ in range(BATCH):
            pair.check(consumer.receive(timeout=PATIENCE))
        session.commit()


def subscribing(connection: Connection, pair: Pair, ready: threading.Event) -> None:
    """A durable subscription in CLIENT mode, left and taken up again a hundred times."""
    for part in range(100):
        session = connection.create_session(acknowledge_mode=CLIENT_ACKNOWLEDGE)
        consumer = session.create_durable_consumer(session.create_topic(pair.name), "soak")
        ready.set()
        for place in range(EACH // 100):
            message = consumer.receive(timeout=PATIENCE)
            pair.check(message)
            if message is not None and place % 50 == 49:
                message.acknowledge()
        assert pair.received == (part + 1) * EACH // 100
        session.close()


@pytest.mark.long
@pytest.mark.timeout(1500)
def test_two_million_messages_and_memory_stays_flat() -> None:
    pairs = [Pair(name) for name in ("listener", "receive", "transacted", "durable")]
    heard, taken, batched, kept = pairs
    subscribed, sizes = threading.Event(), list[float]()
    with jmsbridge.connect("embedded:?broker=soak", client_id="soak") as connection, ThreadPoolExecutor(8) as threads:
        connection.start()
        session = connection.create_session()
        other = connection.create_session()
        running = [
            threads.submit(listening, session.create_consumer(session.create_queue(heard.name)), heard),
            threads.submit(receiving, other.create_consumer(other.create_queue(taken.name)), taken),
            threads.submit(taking, connection, batched),
            threads.submit(subscribing, connection, kept, subscribed),
        ]
        assert subscribed.wait(PATIENCE)
        for pair, produce in zip(pairs, (asynchronous, plain, in_transactions, to_topic), strict=True):
            running.append(threads.submit(produce, connection, pair))
        pause = threading.Event()
        while not all(future.done() for future in running):
            pause.wait(0.2)
            if sum(pair.received for pair in pairs) >= (len(sizes) + 1) * TOTAL / 10:
                gc.collect()
                sizes.append(resident())
                print(f"{len(sizes) * 10} %: {sizes[-1]:.1f} MiB")
        for future in running:
            future.result()
    assert [pair.received for pair in pairs] == [EACH] * 4
    assert len(sizes) >= 9
    assert max(sizes[2:]) - sizes[1] < FLAT, sizes
