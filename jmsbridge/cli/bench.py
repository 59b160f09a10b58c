"""``jmsbridge bench``: a quick measurement of a broker's speed from this machine."""

import statistics
import threading
import time
from collections.abc import Callable
from typing import Annotated

import typer

from jmsbridge import Connection, DeliveryMode, JMSException, Message, Queue, Session, TemporaryQueue
from jmsbridge.cli.printing import print_json
from jmsbridge.cli.progress import counting
from jmsbridge.cli.running import OK
from jmsbridge.cli.tables import print_rows
from jmsbridge.cli.target import Broker, PositionalTarget, queue_named, seconds
from jmsbridge.errors import ConfigurationError

__all__ = ["Bench", "bench"]

_PATIENCE = 30.0
_TRIPS = 200


def bench(
    broker: Broker,
    target: PositionalTarget = None,
    messages: Annotated[
        int, typer.Option("--messages", "-n", min=1, help="At most this many messages per measurement.")
    ] = 5000,
    duration: Annotated[
        str, typer.Option("--time", metavar="DURATION", help="At most this long per measurement.")
    ] = "5s",
    size: Annotated[int, typer.Option("--size", min=0, help="Bytes of text per message.")] = 256,
    non_persistent: Annotated[bool, typer.Option("--non-persistent", help="Send NON_PERSISTENT.")] = False,
    queue: Annotated[
        str | None, typer.Option("--queue", metavar="NAME", help="Use this empty queue instead of a temporary one.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> int:
    """Measure sending, receiving and round trips of messages, through the whole library.

    Uses a temporary queue, which is deleted at the end. Brokers do not store temporary queues as safely as others: to
    measure durable sends, give an empty queue of your own with --queue.

    Examples:

      jmsbridge bench rabbitmq://broker

      jmsbridge bench -t embedded:orders.db --queue bench --json
    """
    deadline = seconds(duration, "--time")
    with broker.at(target).connect() as connection, counting("messages") as show:
        where = None if queue is None else _own(connection, queue)
        run = Bench(connection, where, messages, deadline, "x" * size, non_persistent, show)
        figures = run.figures()
        product = connection.meta_data.broker
    if as_json:
        document = {"broker": product, "size": size, "persistent": not non_persistent, "figures": figures}
        print_json(document, indent=2)
    else:
        print_rows(("measurement", "figure"), list(figures.items()), title=f"{product}, {size} bytes")
    return OK


def _own(connection: Connection, name: str) -> Queue:
    where = queue_named(name, "--queue must be a queue")
    session = connection.create_session()
    if next(iter(session.create_browser(where)), None) is not None:
        raise ConfigurationError(f"{where.address} is not empty; its messages would be lost")
    session.close()
    return where


class _Answers:
    """A completion listener that can wait for the last completion."""

    def __init__(self) -> None:
        self._changed = threading.Condition()  # guards the next two
        self._answered = 0
        self.error: Exception | None = None

    def __call__(self, message: Message, error: Exception | None) -> None:
        with self._changed:
            self._answered += 1
            self.error = self.error or error
            self._changed.notify()

    def wait(self, count: int) -> None:
        """Wait for that many completions; JMSException if a send failed, or after a timeout."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._answered >= count or self.error, _PATIENCE):
                raise JMSException(f"{count - self._answered} sends were not confirmed within {_PATIENCE:.0f} s")
            if self.error:
                raise self.error


class Bench:
    """The measurements of one run, each with its own session."""

    def __init__(
        self,
        connection: Connection,
        queue: Queue | None,
        messages: int,
        deadline: float,
        body: str,
        non_persistent: bool,
        show: Callable[[int], None],
    ) -> None:
        self._connection = connection
        self._messages = messages
        self._deadline = deadline
        self._body = body
        self._mode = DeliveryMode.NON_PERSISTENT if non_persistent else DeliveryMode.PERSISTENT
        self._show = show
        self._session = connection.create_session()
        self._queue: Queue = self._session.create_temporary_queue() if queue is None else queue
        self._done = self._sent = 0

    def figures(self) -> dict[str, float]:
        """Messages per second, and milliseconds per round trip."""
        self._connection.start()
        try:
            sync = self._rate(self._send_each)
            received = self._rate(self._receive)
            pipelined = self._rate(self._send_pipelined)
            self._rate(self._receive)
            trips = self._trips()
        finally:
            self._tidy()
        return {
            "sends_each_confirmed_per_second": sync,
            "sends_pipelined_per_second": pipelined,
            "receives_auto_per_second": received,
            "there_and_back_median_ms": round(statistics.median(trips) * 1000, 3),
            "there_and_back_p99_ms": round(sorted(trips)[int(len(trips) * 0.99)] * 1000, 3),
        }

    def _rate(self, work: Callable[[Session], int]) -> int:
        session = self._connection.create_session()
        started = time.perf_counter()
        count = work(session)
        elapsed = time.perf_counter() - started
        session.close()
        return round(count / elapsed)

    def _over(self, started: float) -> bool:
        self._done += 1
        self._show(self._done)
        return time.perf_counter() - started > self._deadline

    def _send_each(self, session: Session) -> int:
        producer = session.create_producer(self._queue)
        started = time.perf_counter()
        self._sent = 0
        while self._sent < self._messages and not self._over(started):
            producer.send(session.create_text_message(self._body), delivery_mode=self._mode)
            self._sent += 1
        return self._sent

    def _send_pipelined(self, session: Session) -> int:
        producer = session.create_producer(self._queue)
        answers = _Answers()
        started = time.perf_counter()
        self._sent = 0
        while self._sent < self._messages and not self._over(started):
            message = session.create_text_message(self._body)
            producer.send(message, delivery_mode=self._mode, completion_listener=answers)
            self._sent += 1
        answers.wait(self._sent)
        return self._sent

    def _receive(self, session: Session) -> int:
        """Receive everything that was sent; no time limit, since leftovers would distort the next measurement."""
        consumer = session.create_consumer(self._queue)
        for number in range(self._sent):
            if consumer.receive(timeout=_PATIENCE) is None:
                raise JMSException(f"only {number} of {self._sent} messages came back")
            self._over(0.0)
        return self._sent

    def _trips(self) -> list[float]:
        session = self._connection.create_session()
        consumer, producer = session.create_consumer(self._queue), session.create_producer(self._queue)
        trips: list[float] = []
        begun = time.perf_counter()
        for _ in range(min(_TRIPS, self._messages)):
            started = time.perf_counter()
            producer.send(session.create_text_message(self._body), delivery_mode=self._mode)
            if consumer.receive(timeout=_PATIENCE) is None:
                raise JMSException(f"a message did not come back within {_PATIENCE:.0f} s")
            trips.append(time.perf_counter() - started)
            if self._over(begun):
                break
        session.close()
        return trips

    def _tidy(self) -> None:
        if isinstance(self._queue, TemporaryQueue):
            self._queue.delete()
        self._session.close()
