"""jmsbridge with all framing left to pika: what the backend's own frames are worth."""

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

from pika import frame, spec

from integration.bench.clients import ours
from integration.bench.clients.protocol import Arguments, arguments
from jmsbridge_rabbitmq.connection import pair
from jmsbridge_rabbitmq.connection.pika_socket import AmqpSocket
from jmsbridge_rabbitmq.protocol.frames import DELIVER, Confirm, Content

__all__ = ["main"]


class _RawProperties:
    """A property list as bytes: pika's own decodes floats as integers."""

    INDEX = spec.BasicProperties.INDEX

    def __init__(self, raw: bytes) -> None:
        self.raw = raw

    def encode(self) -> list[bytes]:
        """For pika's ``frame.Header``."""
        return [self.raw]


class _PlainSocket(AmqpSocket):
    """Sends, deliveries, acknowledgements and confirms as methods of pika."""

    def received(self, data: bytes) -> None:
        """Let pika parse, and join the resulting writes."""
        self.asked = None
        first = self.begin()
        try:
            self.let_pika_read(data)
        finally:
            if first:
                self.flush()

    def _read_frame(self) -> tuple[int, Any]:
        """pika's parser, with content headers unread."""
        data = self._frame_buffer
        end = 7 + int.from_bytes(data[3:7], "big")
        if data[:1] == bytes((spec.FRAME_HEADER,)) and len(data) > end:
            size, channel = int.from_bytes(data[11:19], "big"), int.from_bytes(data[1:3], "big")
            return end + 1, frame.Header(channel, size, _RawProperties(bytes(data[19:end])))
        read: tuple[int, Any] = super()._read_frame()
        return read

    def listen(
        self,
        channel: Any,
        on_content: Callable[[Content], None],
        on_confirm: Callable[[Confirm], None] | None = None,
        on_empty: Callable[[Any], None] | None = None,
    ) -> None:
        """Register the callbacks with pika; nothing is returned or fetched in a benchmark."""
        number = channel.channel_number
        self._on_content[number] = on_content
        if on_empty is not None:
            channel.add_callback(on_empty, [spec.Basic.GetEmpty], one_shot=False)
        if on_confirm is not None:

            def confirmed(answer: Any) -> None:
                method = answer.method
                accepted = method.INDEX == spec.Basic.Ack.INDEX
                on_confirm(Confirm(number, method.delivery_tag, method.multiple, accepted))

            channel.add_callback(confirmed, [spec.Basic.Ack, spec.Basic.Nack], one_shot=False)

    def consume(self, channel: Any, queue: str, exclusive: bool, tag: str, done: Callable[[Any], None]) -> None:
        """Start a consumer with this tag."""
        channel.basic_consume(queue, self._delivered, exclusive=exclusive, consumer_tag=tag, callback=done)

    def _delivered(self, channel: Any, method: Any, properties: Any, body: bytes) -> None:
        number, tag = channel.channel_number, method.consumer_tag
        route = method.exchange, method.routing_key
        self._on_content[number](
            Content(DELIVER, number, tag, method.delivery_tag, method.redelivered, *route, 0, "", properties.raw, body)
        )

    def publish(
        self, channel: Any, exchange: str, routing_key: str, mandatory: bool, properties: bytes, body: bytes
    ) -> None:
        """Publish one message."""
        self.expect()
        channel.basic_publish(exchange, routing_key, body, _RawProperties(properties), mandatory=mandatory)

    def ack(self, channel: Any, tag: int, multiple: bool) -> None:
        """Acknowledge."""
        channel.basic_ack(tag, multiple)


def main(wanted: Arguments) -> None:
    """The roles of ``ours``."""
    with patch.object(pair, "AmqpSocket", _PlainSocket):
        ours.main(wanted)


if __name__ == "__main__":
    main(arguments())
