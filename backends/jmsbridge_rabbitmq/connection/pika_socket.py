"""pika's connection as this backend drives it: headers stay bytes, and what a batch of work writes is one write.

pika decodes floats as integers and has no small integers, so content headers must pass it unread. Everything here
belongs to the I/O thread.
"""

import logging
import struct
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import pika
from pika import frame as pika_frame
from pika import spec
from pika.channel import Channel as PikaChannel
from pika.exceptions import NoFreeChannels

from jmsbridge_rabbitmq.protocol.fields import Unencodable
from jmsbridge_rabbitmq.protocol.frames import DELIVER, GET_OK, RETURN, Confirm, Content

__all__ = ["AmqpSocket", "Names", "RawProperties", "check_pika", "lacking", "quiet_pika"]

_HEADER = struct.Struct(">BHI")
_END_SIZE = 1
_FRAME_MAX = 131072
_WRITE = 64 * 1024

Names = tuple[tuple[Any, tuple[str, ...]], ...]
"""Classes and modules of pika, and what is used of the inside of each."""

_NEEDED: Names = (
    (
        pika.SelectConnection,
        (
            "_adapter_emit_data",
            "_on_data_available",
            "_output_marshaled_frames",
            "_read_frame",
            "_terminate_stream",
        ),
    ),
    (PikaChannel, ("_rpc",)),
)


class RawProperties:
    """A property list as bytes, in the place of pika's BasicProperties."""

    INDEX = spec.BasicProperties.INDEX
    __slots__ = ("raw",)

    def __init__(self, raw: bytes) -> None:
        self.raw = raw

    def encode(self) -> list[bytes]:
        """For pika's ``frame.Header``."""
        return [self.raw]


class AmqpSocket(pika.SelectConnection):  # type: ignore[misc]
    """A connection whose content headers are ``RawProperties``, and which writes in batches.

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
            self._adapter_emit_data(b"".join(batch))

    def _output_marshaled_frames(self, marshaled_frames: Sequence[bytes]) -> None:
        self._put(b"".join(marshaled_frames))

    def _put(self, data: bytes) -> None:
        """Write whole frames, or add them to the batch."""
        size = len(data)
        self.bytes_sent += size
        if self._batch is None:
            self._adapter_emit_data(data)
            return
        self._batch.append(data)
        self._size += size
        if self._size >= _WRITE:  # the broker may begin, and the transport copies what a full socket leaves over
            self._write_batch()

    def _on_data_available(self, data_in: bytes) -> None:
        self.asked = None
        first = self.begin()
        try:
            self._take(data_in)
        finally:
            if first:
                self.flush()

    def _take(self, data: bytes) -> None:
        super()._on_data_available(data)

    # -- headers as bytes

    def _read_frame(self) -> tuple[int, Any]:
        data = self._frame_buffer
        if len(data) < 7 or data[0] != spec.FRAME_HEADER:
            return self._read_other()
        _, channel, size = _HEADER.unpack_from(data)
        end = 7 + size
        if len(data) <= end or data[end] != spec.FRAME_END:
            return self._read_other()  # not all here yet, or broken: pika says so
        body_size = int.from_bytes(data[11:19], "big")
        return end + _END_SIZE, pika_frame.Header(channel, body_size, RawProperties(bytes(data[19:end])))

    def _read_other(self) -> tuple[int, Any]:
        read: tuple[int, Any] = super()._read_frame()
        return read

    def open_channel(self, opened: Callable[[Any], None]) -> bool:
        """Open a channel; false where the connection has as many as it may have."""
        try:
            self.channel(on_open_callback=opened)
        except NoFreeChannels:
            return False
        return True

    # -- messages

    def listen(
        self, channel: Any, on_content: Callable[[Content], None], on_confirm: Callable[[Confirm], None] | None = None
    ) -> None:
        """Say who gets the messages, returns and confirmations of a channel."""
        number = channel.channel_number
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
        """Ask for one message; it comes as content, or ``empty`` that ``on_empty`` registered is called."""
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

    # -- ends

    def break_off(self, error: Exception) -> None:
        """Close the socket without a word; the close callback follows."""
        if not self.is_closed:
            self._terminate_stream(error)


class _Ours(logging.Filter):
    """pika reports refusals and lost connections as errors of its own; here they reach the caller as exceptions."""

    def filter(self, record: logging.LogRecord) -> bool:
        name = threading.current_thread().name
        if not (name.startswith("jmsbridge-rabbitmq") and name.endswith("-io")):
            return True
        log = logging.getLogger("jmsbridge.rabbitmq.pika")
        if log.isEnabledFor(logging.DEBUG):
            log.debug("%s", record.getMessage())
        return False


_LOGGERS = (
    "pika.adapters.base_connection",
    "pika.adapters.select_connection",
    "pika.adapters.utils.connection_workflow",
    "pika.adapters.utils.io_services_utils",
    "pika.adapters.utils.selector_ioloop_adapter",
    "pika.callback",
    "pika.channel",
    "pika.connection",
    "pika.heartbeat",
)


def quiet_pika() -> None:
    """Let pika log nothing from threads of this backend; other users of pika are not affected."""
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        if not any(isinstance(each, _Ours) for each in logger.filters):
            logger.addFilter(_Ours())


def lacking(names: Names) -> list[str]:
    """Which of these this pika does not have."""
    return [f"{owner.__name__}.{name}" for owner, inside in names for name in inside if not hasattr(owner, name)]


def _reads_its_buffer() -> bool:
    """Whether pika takes frames from where ``_read_frame`` looks for them here."""
    sign = pika_frame.Heartbeat().marshal()
    unconnected = AmqpSocket.__new__(AmqpSocket)
    unconnected._frame_buffer = sign
    try:
        size, read = pika.SelectConnection._read_frame(unconnected)
    except Exception:
        return False
    return size == len(sign) and isinstance(read, pika_frame.Heartbeat)


def check_pika() -> None:
    """ImportError where this pika lacks what no way can do without."""
    missing = lacking(_NEEDED)
    if not missing and not _reads_its_buffer():
        missing = ["SelectConnection._frame_buffer"]
    if missing:
        raise ImportError(f"pika {pika.__version__} has no {', '.join(missing)} inside; 1.3.0 to 1.4.4 have")


check_pika()
