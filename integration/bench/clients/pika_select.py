"""pika's SelectConnection used as fast as its public API allows: a separate thread, a window, batches."""

import threading
from collections import deque
from typing import Any

import pika

from integration.bench.clients.protocol import BODY, PREFETCH, WINDOW, Arguments, arguments, check, headers, serve

__all__ = ["main"]


class _Link:
    """A SelectConnection on a separate thread, with one channel."""

    def __init__(self, url: str) -> None:
        self._ready = threading.Event()
        self.channel: Any = None
        self.connection = pika.SelectConnection(pika.URLParameters(url), on_open_callback=self._opened)
        self._thread = threading.Thread(target=self.connection.ioloop.start, daemon=True)
        self._thread.start()
        if not self._ready.wait(30):
            raise RuntimeError("no channel within 30 s")

    def _opened(self, connection: Any) -> None:
        connection.channel(on_open_callback=self._usable)

    def _usable(self, channel: Any) -> None:
        self.channel = channel
        self._ready.set()

    def call(self, function: Any) -> None:
        """Run on the link's thread."""
        self.connection.ioloop.add_callback_threadsafe(function)


class _Sender:
    def __init__(self, link: _Link, queue: str, **marks: str) -> None:
        self._link = link
        self._queue = queue
        self._marks = marks
        self._waiting: deque[Any] = deque()
        self._drain_is_due = False
        self._room = threading.Semaphore(WINDOW)
        self._open: deque[int] = deque()
        self._early: set[int] = set()
        self._tag = 0
        self._left = 0
        self._done = threading.Event()
        confirming = threading.Event()
        link.call(lambda: link.channel.confirm_delivery(self._confirmed, lambda frame: confirming.set()))
        confirming.wait(30)

    def send(self, count: int) -> None:
        """Send, with at most a window without confirmation; return after the last confirmation."""
        self._left = count
        self._done.clear()
        for _ in range(count):
            self._room.acquire()
            made = {**headers(), **self._marks}
            self._waiting.append(pika.BasicProperties(content_type="text/plain", delivery_mode=2, headers=made))
            if not self._drain_is_due:
                self._drain_is_due = True
                self._link.call(self._drain)
        self._done.wait()

    def _drain(self) -> None:
        self._drain_is_due = False
        while self._waiting:
            properties = self._waiting.popleft()
            self._tag += 1
            self._open.append(self._tag)
            self._link.channel.basic_publish("", self._queue, BODY.encode(), properties, mandatory=True)

    def _confirmed(self, frame: Any) -> None:
        answered = 0
        tag = frame.method.delivery_tag
        if frame.method.multiple:
            while self._open and self._open[0] <= tag:
                if self._open.popleft() not in self._early:
                    answered += 1
        else:
            self._early.add(tag)
            answered = 1
        while self._open and self._open[0] in self._early:
            self._early.discard(self._open.popleft())
        self._room.release(answered) if answered else None
        self._left -= answered
        if not self._left:
            self._done.set()


class _Receiver:
    """Acknowledges each message in the callback, on the link's thread."""

    def __init__(self, link: _Link, queue: str) -> None:
        self._link = link
        self._queue = queue
        self._left = 0
        self._done = threading.Event()
        link.call(lambda: link.channel.basic_qos(prefetch_count=PREFETCH))

    def receive(self, count: int) -> None:
        """Receive ``count`` messages."""
        self._left = count
        self._done.clear()
        self._link.call(lambda: self._link.channel.basic_consume(self._queue, self._got, consumer_tag="bench"))
        self._done.wait()

    def _got(self, channel: Any, method: Any, properties: Any, body: bytes) -> None:
        check(len(body.decode()), properties.headers["number"])
        channel.basic_ack(method.delivery_tag)
        self._left -= 1
        if not self._left:
            channel.basic_cancel("bench", callback=lambda frame: self._done.set())


def main(wanted: Arguments) -> None:
    """Roles ``send``, ``receive``, and ``load``, which marks texts in the way of the Java client."""
    link = _Link(wanted.url)
    if wanted.role == "receive":
        serve(_Receiver(link, wanted.queue).receive)
    elif wanted.role == "load":
        serve(_Sender(link, wanted.queue, JMSType="TextMessage").send)
    else:
        serve(_Sender(link, wanted.queue).send)


if __name__ == "__main__":
    main(arguments())
