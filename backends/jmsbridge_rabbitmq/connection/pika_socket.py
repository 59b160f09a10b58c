"""pika's connection with writes joined into batches, and with messages past pika.

pika does the handshake, the heart-beats and the channels. Messages, confirms and acknowledgements are written and read
by ``protocol.frames``: pika would write three frames per message, build three objects per delivery, and decode floats
as integers. Everything here belongs to the I/O thread.
"""

import time
from collections.abc import Callable
from typing import Any

from pika import frame, spec
from pika.exceptions import NoFreeChannels

from jmsbridge_rabbitmq.connection.pika_inside import PikaInside
from jmsbridge_rabbitmq.protocol import frames
from jmsbridge_rabbitmq.protocol.frames import Confirm, Content, FrameReader, PublishFrames

__all__ = ["AmqpSocket"]

_WRITE = 64 * 1024


class AmqpSocket(PikaInside):
    """A connection that writes in batches. The callbacks of ``listen`` get what arrives on a channel."""

    _batch: list[bytes] | None = None
    _size = 0  # bytes of the batch
    _last: list[Callable[[], None]] | None = None
    asked: float | None = None
    """The monotonic time since which an answer is due and the broker is silent; any thread may read it."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._reader = FrameReader()
        self._publishers: dict[int, PublishFrames] = {}
        self._on_content: dict[int, Callable[[Content], None]] = {}
        self._on_confirm: dict[int, Callable[[Confirm], None]] = {}
        super().__init__(*arguments, **options)

    # -- silence

    def expect(self) -> None:
        """Note that an answer of the broker is due."""
        if self.asked is None:
            self.asked = time.monotonic()

    # -- batches

    def begin(self) -> bool:
        """Collect writes until ``flush``; False if a batch is open already."""
        if self._batch is not None:
            return False
        self._batch, self._last = [], []
        return True

    def at_flush(self, task: Callable[[], None]) -> None:
        """Call ``task``, which writes, at the end of the batch; at once outside a batch."""
        if self._last is None:
            task()
        else:
            self._last.append(task)

    def flush(self) -> None:
        """Write the batch."""
        last, self._last = self._last, None
        if last and not self.is_closed:
            for task in last:
                task()
        self._write_batch()
        self._batch = None

    def _write_batch(self) -> None:
        batch, self._batch, self._size = self._batch, [], 0
        if batch and not self.is_closed:
            self.emit(b"".join(batch))

    def put(self, data: bytes) -> None:
        """Write whole frames, or add them to the batch."""
        size = len(data)
        self.bytes_sent += size
        if self._batch is None:
            self.emit(data)
            return
        self._batch.append(data)
        self._size += size
        if self._size >= _WRITE:  # so that the broker can start, and a full socket leaves pika less to copy
            self._write_batch()

    def received(self, data: bytes) -> None:
        """Pass messages and confirms to their channels, the rest to pika, and join the resulting writes."""
        self.asked = None
        self.bytes_received += len(data)  # pika's heart-beats look whether it grows
        first = self.begin()
        try:
            contents = self._on_content
            for event in self._reader.feed(data):
                if isinstance(event, Content):
                    contents[event.channel](event)
                elif isinstance(event, Confirm):
                    self._on_confirm[event.channel](event)
                else:
                    self.let_pika_read(event.frame)
        finally:
            if first:
                self.flush()

    # -- channels

    def open_channel(self, opened: Callable[[Any], None]) -> bool:
        """Open a channel; False if the connection has reached its limit of channels."""
        try:
            self.channel(on_open_callback=opened)
        except NoFreeChannels:
            return False
        return True

    def listen(
        self,
        channel: Any,
        on_content: Callable[[Content], None],
        on_confirm: Callable[[Confirm], None] | None = None,
        on_empty: Callable[[Any], None] | None = None,
    ) -> None:
        """Set the callbacks for a channel's messages and returns, its confirms, and an empty basic.get."""
        number = channel.channel_number
        channel.add_on_close_callback(lambda *_: self._forget(number))
        if on_empty is not None:
            channel.add_callback(on_empty, [spec.Basic.GetEmpty], one_shot=False)
        self._on_content[number] = on_content
        if on_confirm is not None:
            self._on_confirm[number] = on_confirm
            self._publishers[number] = PublishFrames(number, self.params.frame_max)

    def _forget(self, number: int) -> None:
        self._on_content.pop(number, None)
        self._on_confirm.pop(number, None)
        self._publishers.pop(number, None)

    # -- messages

    def consume(self, channel: Any, queue: str, exclusive: bool, tag: str, done: Callable[[Any], None]) -> None:
        """Start a consumer with this tag."""
        channel.basic_consume(queue, _never, exclusive=exclusive, consumer_tag=tag, callback=done)

    def confirm_select(self, channel: Any, done: Callable[[Any], None]) -> None:
        """Put a channel into confirm mode."""
        channel.confirm_delivery(_never, done)

    def get(self, channel: Any, queue: str) -> None:
        """Send basic.get; the message arrives as content, or ``on_empty`` of ``listen`` is called."""
        self.put(frame.Method(channel.channel_number, spec.Basic.Get(queue=queue)).marshal())

    def publish(
        self, channel: Any, exchange: str, routing_key: str, mandatory: bool, properties: bytes, body: bytes
    ) -> None:
        """Publish one message; Unencodable if its header exceeds a frame."""
        if self.asked is None:
            self.expect()
        publisher = self._publishers[channel.channel_number]
        self.put(publisher.frames(exchange, routing_key, mandatory, properties, body))

    def ack(self, channel: Any, tag: int, multiple: bool) -> None:
        """Acknowledge."""
        self.put(frames.ack(channel.channel_number, tag, multiple))

    def requeue(self, channel: Any, tag: int, multiple: bool) -> None:
        """Requeue (basic.nack)."""
        self.put(frames.nack(channel.channel_number, tag, multiple))

    def begin_transactions(self, channel: Any) -> None:
        """Let settlements on this channel take effect with ``commit``, from now on."""
        channel.add_callback(_never, [spec.Tx.SelectOk, spec.Tx.CommitOk], one_shot=False)
        self.put(frame.Method(channel.channel_number, spec.Tx.Select()).marshal())

    def commit(self, channel: Any) -> None:
        """Let what was settled since the last commit take effect."""
        self.put(frame.Method(channel.channel_number, spec.Tx.Commit()).marshal())


def _never(*_: Any) -> None:
    """For pika, which asks for a callback: deliveries and confirms do not reach it."""
