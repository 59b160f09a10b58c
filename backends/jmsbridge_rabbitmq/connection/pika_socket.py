"""pika's connection with writes joined into batches, and with messages as ``Content``.

Everything here belongs to the I/O thread.
"""

import time
from collections.abc import Callable
from typing import Any

from pika import spec
from pika.exceptions import NoFreeChannels

from jmsbridge_rabbitmq.connection.pika_inside import PikaInside, RawProperties
from jmsbridge_rabbitmq.protocol.fields import Unencodable
from jmsbridge_rabbitmq.protocol.frames import DELIVER, GET_OK, RETURN, Confirm, Content

__all__ = ["AmqpSocket", "listen_for_empty"]

_FRAME_MAX = 131072
_WRITE = 64 * 1024


class AmqpSocket(PikaInside):
    """A connection that writes in batches.

    The callbacks of ``listen`` get what arrives on a channel.
    """

    _batch: list[bytes] | None = None
    _size = 0  # bytes of the batch
    _last: list[Callable[[], None]] | None = None
    asked: float | None = None
    """The monotonic time since which an answer is due and the broker is silent; any thread may read it."""

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
        if self._size >= _WRITE:  # let the broker start; and pika's transport copies what a full socket does not take
            self._write_batch()

    def received(self, data: bytes) -> None:
        """Handle received bytes, and join the resulting writes."""
        self.asked = None
        first = self.begin()
        try:
            self.read(data)
        finally:
            if first:
                self.flush()

    def read(self, data: bytes) -> None:
        """Parse bytes, and pass messages to their channels."""
        self.let_pika_read(data)

    def open_channel(self, opened: Callable[[Any], None]) -> bool:
        """Open a channel; False if the connection has reached its limit of channels."""
        try:
            self.channel(on_open_callback=opened)
        except NoFreeChannels:
            return False
        return True

    # -- messages

    def listen(
        self,
        channel: Any,
        on_content: Callable[[Content], None],
        on_confirm: Callable[[Confirm], None] | None = None,
        on_empty: Callable[[Any], None] | None = None,
    ) -> None:
        """Set the callbacks for a channel's messages and returns, its confirms, and an empty basic.get."""
        number = channel.channel_number
        listen_for_empty(channel, on_empty)
        channel.jmsbridge_content = on_content
        channel.add_on_return_callback(
            lambda _, method, properties, body: on_content(
                Content(
                    method=RETURN, channel=number, consumer_tag="", delivery_tag=0, redelivered=False,
                    exchange=method.exchange, routing_key=method.routing_key, reply_code=method.reply_code,
                    reply_text=method.reply_text, properties=properties.raw, body=body,
                )
            )
        )  # fmt: skip
        if on_confirm is not None:

            def confirmed(frame: Any) -> None:
                method = frame.method
                accepted = method.INDEX == spec.Basic.Ack.INDEX
                on_confirm(Confirm(number, method.delivery_tag, method.multiple, accepted))

            channel.add_callback(confirmed, [spec.Basic.Ack, spec.Basic.Nack], one_shot=False)

    def consume(self, channel: Any, queue: str, exclusive: bool, done: Callable[[Any], None]) -> str:
        """Start a consumer and return its tag."""
        tag: str = channel.basic_consume(queue, self._delivered, exclusive=exclusive, callback=done)
        return tag

    def _delivered(self, channel: Any, method: Any, properties: Any, body: bytes) -> None:
        channel.jmsbridge_content(
            Content(
                method=DELIVER, channel=channel.channel_number, consumer_tag=method.consumer_tag,
                delivery_tag=method.delivery_tag, redelivered=method.redelivered, exchange=method.exchange,
                routing_key=method.routing_key, reply_code=0, reply_text="", properties=properties.raw, body=body,
            )
        )  # fmt: skip

    def get(self, channel: Any, queue: str) -> None:
        """Send basic.get; the message arrives as content, or ``on_empty`` of ``listen`` is called."""
        channel.basic_get(queue, self._got)

    def _got(self, channel: Any, method: Any, properties: Any, body: bytes) -> None:
        channel.jmsbridge_content(
            Content(
                method=GET_OK, channel=channel.channel_number, consumer_tag="", delivery_tag=method.delivery_tag,
                redelivered=method.redelivered, exchange=method.exchange, routing_key=method.routing_key,
                reply_code=0, reply_text="", properties=properties.raw, body=body,
            )
        )  # fmt: skip

    def publish(
        self, channel: Any, exchange: str, routing_key: str, mandatory: bool, properties: bytes, body: bytes
    ) -> None:
        """Publish one message; Unencodable if its header exceeds a frame."""
        self.check_header(properties)
        self.expect()
        channel.basic_publish(exchange, routing_key, body, RawProperties(properties), mandatory=mandatory)

    def check_header(self, properties: bytes) -> None:
        """Unencodable if a header exceeds a frame, for which the broker would close the connection."""
        room = (self.params.frame_max or _FRAME_MAX) - 20
        if len(properties) > room:
            raise Unencodable(f"headers and properties take {len(properties)} bytes, but a frame has room for {room}")

    def ack(self, channel: Any, tag: int, multiple: bool) -> None:
        """Acknowledge."""
        channel.basic_ack(tag, multiple)

    def requeue(self, channel: Any, tag: int) -> None:
        """Requeue a message (basic.nack)."""
        channel.basic_nack(tag, requeue=True)


def listen_for_empty(channel: Any, on_empty: Callable[[Any], None] | None) -> None:
    """Set the callback for an empty basic.get on the channel."""
    if on_empty is not None:
        channel.add_callback(on_empty, [spec.Basic.GetEmpty], one_shot=False)
