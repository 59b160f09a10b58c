"""The consuming connection, its channel and the loop, as a consumer sees them; the test answers."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from pika.exceptions import ChannelWrongStateError

from jmsbridge_rabbitmq.protocol.frames import DELIVER, GET_OK, Content

__all__ = ["Wire", "pair_over"]


class Wire:
    """The consuming connection, its channel, and the loop: requests are kept until the test answers them."""

    is_open = True
    channel_number = 1
    ended = None
    bytes_received = 0

    def __init__(self) -> None:
        self.questions: list[tuple[str, Callable[..., Any]]] = []
        self.written: list[tuple[Any, ...]] = []
        self.at_end: list[Callable[[], None]] = []
        self.timers: list[Callable[[], None]] = []
        self.on_empty: Callable[[Any], None] = lambda _: None
        self.on_content: Callable[[Content], None] = lambda _: None
        self.tags = 0

    def _check(self) -> None:
        """As pika does."""
        if not self.is_open:
            raise ChannelWrongStateError("Channel is closing.")

    # -- the connection

    def open_channel(self, opened: Callable[[Any], None]) -> bool:
        opened(self)
        return True

    def listen(self, channel: Any, on_content: Callable[[Content], None], on_empty: Callable[[Any], None]) -> None:
        self.on_content = on_content
        self.on_empty = on_empty

    def consume(self, channel: Any, queue: str, exclusive: bool, tag: str, done: Callable[[Any], None]) -> None:
        self._check()
        self.questions.append(("consume", done))

    def get(self, channel: Any, queue: str) -> None:
        self.questions.append(("get", self.on_empty))

    def at_flush(self, task: Callable[[], None]) -> None:
        self.at_end.append(task)

    def ack(self, channel: Any, tag: int, multiple: bool) -> None:
        self.written.append(("ack", tag, multiple))

    def requeue(self, channel: Any, tag: int, multiple: bool) -> None:
        self.written.append(("nack", tag, multiple))

    def begin_transactions(self, channel: Any) -> None:
        self.written.append(("begin",))

    def commit(self, channel: Any) -> None:
        self.written.append(("commit",))

    # -- the channel

    def close(self) -> None:
        self._check()
        self.is_open = False

    def add_on_close_callback(self, callback: Any) -> None:
        self.on_close = callback

    def add_on_cancel_callback(self, callback: Any) -> None:
        self.on_cancel = callback

    def basic_qos(self, prefetch_count: int) -> None:
        self._check()
        self.written.append(("qos", prefetch_count))

    def basic_cancel(self, tag: str, callback: Callable[[Any], None]) -> None:
        self._check()
        frame = SimpleNamespace(method=SimpleNamespace(consumer_tag=tag))
        self.questions.append(("cancel", lambda _: callback(frame)))

    def expect(self) -> None:
        """Record a request."""

    def queue_declare(self, queue: str, passive: bool, callback: Callable[[Any], None]) -> None:
        self._check()
        self.questions.append(("fence", callback))

    # -- the loop

    def post(self, task: Callable[[], None]) -> None:
        task()

    def call_later(self, seconds: float, task: Callable[[], None]) -> Any:
        self.timers.append(task)
        return task

    def cancel(self, timer: Any) -> None:
        self.timers.remove(timer)

    # -- what the test calls

    def answer(self, expected: str, waiting: int = 0) -> None:
        """Answer the oldest request; ``waiting`` messages are in the queue."""
        question, callback = self.questions.pop(0)
        assert question == expected
        callback(SimpleNamespace(method=SimpleNamespace(message_count=waiting)))

    def deliver(self, consumer: str, method: int = DELIVER) -> int:
        """A message arrives; its number."""
        self.tags += 1
        tag = consumer if method == DELIVER else ""
        self.on_content(Content(method, 1, tag, self.tags, False, "", "q", 0, "", b"\0\0", b""))
        return self.tags

    def fetched(self) -> int:
        """Answer the oldest request, which must be a fetch, with a message."""
        assert self.questions.pop(0)[0] == "get"
        return self.deliver("", GET_OK)

    def end_batch(self) -> None:
        """Run the tasks that wait for the end of a batch."""
        tasks, self.at_end = self.at_end, []
        for task in tasks:
            task()


def pair_over(wire: Wire, **life: Any) -> Any:
    """A pair of connections; the wire is one of them, and also the I/O thread."""
    life = {"thread": wire, "broker": "RabbitMQ", "is_over": False, **life}
    endpoint = SimpleNamespace(close_timeout=10.0)
    return SimpleNamespace(consuming=wire, blocked=False, endpoint=endpoint, life=SimpleNamespace(**life))
