"""The cost of deep queues, for their users and for another thread that sends to another queue."""

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from itertools import islice

import jmsbridge
from bench.measuring import WINDOWS, Figure, figure_of, message, read
from jmsbridge import Connection, Queue
from jmsbridge.spi import Address
from jmsbridge_embedded import discard

__all__ = ["DEPTHS", "figures"]

DEPTHS = (10_000, 100_000, 1_000_000)
TRIES = 9
LONGEST = 5.0
"""Milliseconds for which the other thread may be delayed."""

TIMES = 2.0
"""The cost per message on the deepest queue, relative to the shallowest one."""

_DEEP = Queue("deep")
_PACE = 0.0002
"""Seconds between two sends of the other thread, so that it does not compete for the processor."""

_names = itertools.count(1)


def figures(depths: tuple[int, ...] = DEPTHS) -> Iterator[Figure]:
    """The figures of each depth, one after another, because the memory of one slows down the others."""
    costs: dict[str, list[list[float]]] = {"send": [], "receive()": []}
    for depth in depths:
        with _Deep(depth) as deep:
            costs["send"].append([deep.send() for _ in range(WINDOWS)])
            yield deep.bystander("send", deep.send_slowly)
            costs["receive()"].append([deep.receive() for _ in range(WINDOWS)])
            yield deep.bystander("receive()", deep.receive_slowly)
            yield deep.bystander("selecting consumer comes and goes", deep.select)
            yield deep.bystander("browser starts", deep.browse)
            yield deep.bystander("browser finds nothing", deep.browse_all)
        with _Deep(depth, time_to_live=True) as expiring:
            yield expiring.sweep()
    for name, windows in costs.items():
        ratios = [last / first for first, last in zip(windows[0], windows[-1], strict=True)]
        unit = f"× at {depths[0]:,}"
        yield figure_of(f"CPU of {name}, {depths[-1]:,}", unit, ratios, TIMES, more=False)


class _Bystander:
    """A thread that sends to another queue at regular intervals, and records the longest call."""

    def __init__(self, connection: Connection) -> None:
        self._session = connection.create_session()
        self._queue = Queue(f"elsewhere-{next(_names)}")
        self._producer = self._session.create_producer(self._queue)
        self.longest = 0.0
        self._sent = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> "_Bystander":
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._done.set()
        self._thread.join()
        consumer = self._session.create_consumer(self._queue)
        while consumer.receive_no_wait() is not None:
            pass
        self._session.close()

    def _work(self) -> None:
        while not self._done.wait(_PACE):
            made = message(self._session)
            started = time.perf_counter()
            self._producer.send(made)
            self.longest = max(self.longest, time.perf_counter() - started)
            self._sent += 1

    def wait_sent(self, more: int) -> None:
        """Wait until it has sent ``more`` further messages."""
        wanted = self._sent + more
        while self._sent < wanted:
            time.sleep(_PACE)  # sleep: lets the other thread run


class _Deep:
    """A broker with ``depth`` messages in one queue."""

    def __init__(self, depth: int, *, time_to_live: bool = False) -> None:
        self._depth = depth
        self._lives = time_to_live
        self._broker = f"depth-{next(_names)}"

    def __enter__(self) -> "_Deep":
        self._connection = jmsbridge.connect(f"embedded:?broker={self._broker}&max_messages=5000000")
        self._connection.start()
        self._session = self._connection.create_session()
        self._producer = self._session.create_producer(_DEEP)
        end = time.monotonic() + 2 + self._depth * 5e-5
        for number in range(self._depth):
            lives = None
            if self._lives and number % 3:  # two thirds expire, one after the other, when all have been sent
                lives = max(1.0, end - time.monotonic()) + number % 50 / 10
            self._producer.send(message(self._session), time_to_live=lives)
        return self

    def __exit__(self, *error: object) -> None:
        self._connection.close()
        discard(self._broker)

    def bystander(self, name: str, act: Callable[[], object]) -> Figure:
        """Milliseconds of the other thread's longest send while ``act`` runs."""
        longest = []
        for _ in range(TRIES):
            with _Bystander(self._connection) as bystander:
                bystander.wait_sent(10)
                bystander.longest = 0.0
                act()
                bystander.wait_sent(1)
            longest.append(bystander.longest * 1000)
        return self._figure(name, longest)

    def _figure(self, name: str, longest: list[float]) -> Figure:
        # a wait caused by the broker occurs in every try, one caused by the machine does not
        quartile = sorted(longest)[(len(longest) - 1) // 4]
        name = f"{name}, {self._depth:,}"
        return Figure(name, "ms", quartile, min(longest), max(longest), LONGEST, more_is_better=False)

    def send(self) -> float:
        """Seconds of CPU per message."""
        started = time.process_time()
        for _ in range(5000):
            self._producer.send(message(self._session))
        return (time.process_time() - started) / 5000

    def receive(self) -> float:
        """The same."""
        with self._session.create_consumer(_DEEP) as consumer:
            started = time.process_time()
            for _ in range(5000):
                read(consumer.receive(timeout=10))
            return (time.process_time() - started) / 5000

    def send_slowly(self) -> None:
        for _ in range(200):
            self._producer.send(message(self._session))
            time.sleep(_PACE)  # sleep: lets the other thread run

    def receive_slowly(self) -> None:
        with self._session.create_consumer(_DEEP) as consumer:
            for _ in range(200):
                read(consumer.receive(timeout=10))
                time.sleep(_PACE)  # sleep: lets the other thread run

    def select(self) -> None:
        with self._session.create_consumer(_DEEP, "number > 1000 OR customer LIKE 'd%'") as consumer:
            if consumer.receive_no_wait() is not None:
                raise RuntimeError("nothing matches")
        with self._session.create_consumer(_DEEP, "number > 0 OR customer LIKE 'd%'") as consumer:
            read(consumer.receive(timeout=10))

    def browse(self) -> None:
        with self._session.create_browser(_DEEP) as browser:
            if len(list(islice(browser, 10))) != 10:
                raise RuntimeError("the browser shows nothing")

    def browse_all(self) -> None:
        with self._session.create_browser(_DEEP, "number > 1000 OR customer LIKE 'd%'") as browser:
            if list(browser):
                raise RuntimeError("nothing matches")

    def sweep(self) -> Figure:
        """The same while messages expire: the longest wait during each sweep."""
        longest = []
        depth = self._depth
        with _Bystander(self._connection) as bystander:
            while depth > self._depth // 3 + 1:
                bystander.longest = 0.0
                bystander.wait_sent(200)
                before, depth = depth, self._connection.admin.depth(Address("deep"))
                if depth < before:
                    longest.append(bystander.longest * 1000)
        return self._figure("expiry sweeps", longest)
