"""Many threads at once, and constant memory."""

import gc
import threading
import tracemalloc
from queue import SimpleQueue

from jmsbridge.spi import Arrival, Interest, Outcome
from jmsbridge_embedded.memory.broker import Broker
from jmsbridge_embedded.memory.link import Link
from tests.embedded.memory.support import DEADLINE, Events, Reply, World, message, queue

COUNT = 2000


def produce(link: Link, start: int, transacted: bool) -> None:
    channel = link.channel(transacted)
    for number in range(start, start + COUNT):
        channel.send(message(number), None)
        if transacted and number % 10 == 0:
            channel.commit(Reply())
    if transacted:
        channel.commit(Reply())


class Line(SimpleQueue[Arrival]):
    """An inbox that threads share."""

    def put_again(self, arrival: Arrival) -> None:
        raise AssertionError("nothing interrupts")


def consume(link: Link, taken: "SimpleQueue[int]", done: threading.Event) -> None:
    """Fail every message once, then accept it."""
    inbox = Line()
    subscription = link.channel(False).subscribe(Interest(address=queue()), inbox)
    subscription.grant(20)
    while not done.is_set():
        if inbox.empty():
            done.wait(0.001)
            continue
        arrival = inbox.get()
        accepted = arrival.delivery_count > 1
        subscription.settle([arrival.token], Outcome.ACCEPTED if accepted else Outcome.FAILED)
        subscription.grant(1)
        if accepted:
            taken.put(arrival.envelope.body)
            if taken.qsize() >= 2 * COUNT:
                done.set()


def test_four_threads_lose_nothing_and_repeat_nothing() -> None:
    broker, done = Broker("busy"), threading.Event()
    taken: SimpleQueue[int] = SimpleQueue()
    link = broker.open(None, Events())
    threads = [
        threading.Thread(target=produce, args=(link, 0, False), daemon=True),
        threading.Thread(target=produce, args=(link, 100_001, True), daemon=True),
        *(threading.Thread(target=consume, args=(link, taken, done), daemon=True) for _ in range(2)),
    ]
    for thread in threads:
        thread.start()
    finished = done.wait(DEADLINE)
    done.set()
    for thread in threads:
        thread.join(DEADLINE)
    got = sorted(taken.get() for _ in range(taken.qsize()))
    assert finished
    assert got == [*range(COUNT), *range(100_001, 100_001 + COUNT)]
    assert broker.state.stored == 0


class Last:
    """An inbox of one message."""

    arrival: Arrival

    def put(self, arrival: Arrival) -> None:
        self.arrival = arrival

    def put_again(self, arrival: Arrival) -> None:
        self.arrival = arrival


def test_consumed_messages_leave_no_memory_behind(world: World) -> None:
    last = Last()
    subscription = world.channel.subscribe(Interest(address=queue()), last)

    def pass_through(count: int) -> None:
        for number in range(count):
            world.channel.send(message(number, expiration=world.now + 60_000), None)
            subscription.grant(1)
            if number % 50 == 0:
                subscription.settle([last.arrival.token], Outcome.RELEASED)
                subscription.grant(1)
            subscription.settle([last.arrival.token], Outcome.ACCEPTED)

    pass_through(1000)
    gc.collect()
    tracemalloc.start()
    try:
        pass_through(1000)
        before = tracemalloc.get_traced_memory()[0]
        pass_through(20_000)
        after = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert (world.stored, after - before < 20_000) == (0, True)
