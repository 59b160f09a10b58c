"""The fast path, which bypasses pika with the frames and the parser of ``protocol.frames``.

pika writes three frames per message and builds three objects per delivery. Here a publish is one byte string, and the
parser passes deliveries and confirms to their channel; pika does everything else. Used only if ``is_sound``: pika has
the private names that this needs, and writes the same bytes.
"""

import functools
import logging
from collections.abc import Callable
from typing import Any

import pika
from pika import frame as pika_frame
from pika import spec

from jmsbridge_rabbitmq.connection.pika_inside import NEEDED_FAST, lacking
from jmsbridge_rabbitmq.connection.pika_socket import AmqpSocket, listen_for_empty
from jmsbridge_rabbitmq.protocol import frames
from jmsbridge_rabbitmq.protocol.frames import Confirm, Content, FrameReader

__all__ = ["FastSocket", "is_sound", "socket_class"]

log = logging.getLogger("jmsbridge.rabbitmq")

_FRAME_MAX = 131072


class FastSocket(AmqpSocket):
    """An ``AmqpSocket`` with the fast path."""

    is_fast = True

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._reader = FrameReader(_FRAME_MAX)
        self._publishers: dict[int, frames.PublishFrames] = {}
        self._on_content: dict[int, Callable[[Content], None]] = {}
        self._on_confirm: dict[int, Callable[[Confirm], None]] = {}
        super().__init__(*arguments, **options)

    def read(self, data: bytes) -> None:
        """Parse with ``FrameReader``; frames that it does not read go to pika."""
        self.bytes_received += len(data)
        contents = self._on_content
        for event in self._reader.feed(data):
            if isinstance(event, Content):
                contents[event.channel](event)
            elif isinstance(event, Confirm):
                self._on_confirm[event.channel](event)
            else:
                self.let_pika_process(event.frame)

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
        channel.add_on_close_callback(lambda *_: self._forget(number))
        self._on_content[number] = on_content
        if on_confirm is not None:
            self._on_confirm[number] = on_confirm
            self._publishers[number] = frames.PublishFrames(number, self.params.frame_max or _FRAME_MAX)

    def _forget(self, number: int) -> None:
        self._on_content.pop(number, None)
        self._on_confirm.pop(number, None)
        self._publishers.pop(number, None)

    def get(self, channel: Any, queue: str) -> None:
        """Send basic.get."""
        self.send_method(channel.channel_number, spec.Basic.Get(queue=queue))

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

    def requeue(self, channel: Any, tag: int) -> None:
        """Requeue a message (basic.nack)."""
        self.put(frames.nack(channel.channel_number, tag))


def is_sound() -> bool:
    """Whether this pika has the private names that are used, and writes and reads the same bytes as our frames."""
    return not lacking(NEEDED_FAST) and _writes_alike() and _reads_alike()


def _message(method: Any, properties: Any, body: bytes) -> bytes:
    parts = (
        pika_frame.Method(7, method),
        pika_frame.Header(7, len(body), properties),
        pika_frame.Body(7, body),
    )
    return b"".join(part.marshal() for part in parts)


def _writes_alike() -> bool:
    properties = spec.BasicProperties(message_id="ID:1", delivery_mode=2)
    theirs = _message(spec.Basic.Publish(exchange="e", routing_key="k", mandatory=True), properties, b"body")
    ours = frames.PublishFrames(7, _FRAME_MAX).frames("e", "k", True, b"".join(properties.encode()), b"body")
    ack = pika_frame.Method(7, spec.Basic.Ack(9, True)).marshal()
    nack = pika_frame.Method(7, spec.Basic.Nack(9, requeue=True)).marshal()
    return ours == theirs and frames.ack(7, 9, True) == ack and frames.nack(7, 9) == nack


def _reads_alike() -> bool:
    properties = spec.BasicProperties(message_id="ID:1")
    method = spec.Basic.Deliver(consumer_tag="c", delivery_tag=3, exchange="e", routing_key="k")
    close = pika_frame.Method(7, spec.Channel.CloseOk()).marshal()
    confirm = pika_frame.Method(7, spec.Basic.Ack(9, True)).marshal()
    events = FrameReader(_FRAME_MAX).feed(_message(method, properties, b"body") + confirm + close)
    raw = b"".join(properties.encode())
    content = Content(frames.DELIVER, 7, "c", 3, False, "e", "k", 0, "", raw, b"body")
    return events == [content, Confirm(7, 9, True, True), frames.Raw(close)]


@functools.cache
def socket_class() -> type[AmqpSocket]:
    """The class with the fast path if it is sound with this pika, else the plain one; checked once."""
    try:
        if is_sound():
            return FastSocket
        log.warning("pika %s differs from known versions: the fast path is not used", pika.__version__)
    except Exception:
        log.warning("pika %s cannot be checked: the fast path is not used", pika.__version__, exc_info=True)
    return AmqpSocket
