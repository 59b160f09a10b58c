"""pika's connection as this backend drives it: what a batch of work writes is one write, and messages are ``Content``.

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

    What arrives on a channel goes to the functions that ``listen`` named for it.
    """

    _batch: list[bytes] | None = None
    _size = 0  # of the batch
    _last: list[Callable[[], None]] | None = None
    asked: float | None = None
    """Since when the broker owes an answer and has not said anything at all; a monotonic time. Any thread may read it.
    """

    # -- silence

    def expect(self) -> None:
        """The broker is being asked something."""
        if self.asked is None:
            self.asked = time.monotonic()

    # -- batches

    def begin(self) -> bool:
        """Keep what is written until ``flush``; false when a batch is open already."""
        if self._batch is not None:
            return False
        self._batch, self._last = [], []
        return True

    def at_flush(self, task: Callable[[], None]) -> None:
        """Let this write at the end of the batch, when all that belongs together is known; at once outside of one."""
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
        if self._size >= _WRITE:  # the broker may begin, and the transport copies what a full socket leaves over
            self._write_batch()

    def received(self, data: bytes) -> None:
        """The socket brought this; what it makes us write is one write."""
        self.asked = None
        first = self.begin()
        try:
            self.read(data)
        finally:
            if first:
                self.flush()

    def read(self, data: bytes) -> None:
        """Parse it, and give messages to their channels."""
        self.let_pika_read(data)

    def open_channel(self, opened: Callable[[Any], None]) -> bool:
        """Open a channel; false where the connection has as many as it may have."""
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
        """Say who gets the messages, returns and confirmations of a channel, and its fetches that found nothing."""
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
        """Start a consumer; its tag."""
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
        """Ask for one message; it comes as content, or ``on_empty`` of ``listen`` is called."""
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
        """Publish one message; Unencodable where its header exceeds a frame."""
        self.check_header(properties)
        self.expect()
        channel.basic_publish(exchange, routing_key, body, RawProperties(properties), mandatory=mandatory)

    def check_header(self, properties: bytes) -> None:
        """A header cannot be spread over frames: what is larger would cost the connection."""
        room = (self.params.frame_max or _FRAME_MAX) - 20
        if len(properties) > room:
            raise Unencodable(f"headers and properties take {len(properties)} bytes; a frame here has room for {room}")

    def ack(self, channel: Any, tag: int, multiple: bool) -> None:
        """Acknowledge."""
        channel.basic_ack(tag, multiple)

    def give_back(self, channel: Any, tag: int) -> None:
        """Hand a message back to its queue."""
        channel.basic_nack(tag, requeue=True)


def listen_for_empty(channel: Any, on_empty: Callable[[Any], None] | None) -> None:
    """Let this be called when a fetch on the channel finds nothing."""
    if on_empty is not None:
        channel.add_callback(on_empty, [spec.Basic.GetEmpty], one_shot=False)
