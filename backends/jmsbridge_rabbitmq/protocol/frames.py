"""AMQP 0-9-1 frames as bytes: writes publishes and settlements, reads deliveries and confirms.

Pure: no socket, no pika. All other frames are passed on unread (``Raw``).
"""

import struct
from typing import Final

import msgspec

from jmsbridge_rabbitmq.protocol.cache import Cache
from jmsbridge_rabbitmq.protocol.fields import Malformed, Unencodable, text
from jmsbridge_rabbitmq.protocol.properties import shortstr

__all__ = [
    "DELIVER",
    "GET_OK",
    "RETURN",
    "Confirm",
    "Content",
    "Event",
    "FrameReader",
    "PublishFrames",
    "Raw",
    "ack",
    "nack",
]

RETURN: Final = 50
DELIVER: Final = 60
GET_OK: Final = 71

_END: Final = b"\xce"
_DELIVERS: Final = b"\0\x3c\0\x3c"
_BARE: Final = 8  # octets of a frame apart from its payload
_HEAD: Final = 19  # octets of a header frame up to its flags
_ADDED: Final = 65_536  # by so much the broker's own headers may exceed the agreed frame size
_pack_header: Final = struct.Struct(">BHIHHQ").pack
_pack_body: Final = struct.Struct(">BHI").pack
_pack_tag: Final = struct.Struct(">BHIHHQBB").pack
_read_frame: Final = struct.Struct(">BHI").unpack_from
_read_method: Final = struct.Struct(">HH").unpack_from
_read_content: Final = struct.Struct(">HHQ").unpack_from
_read_header: Final = struct.Struct(">BHIHHQ").unpack_from
_read_tag: Final = struct.Struct(">QB").unpack_from
_read_code: Final = struct.Struct(">H").unpack_from


class Content(msgspec.Struct, frozen=True, gc=False):
    """A message with its method: ``method`` is DELIVER, GET_OK or RETURN.

    ``properties`` is the raw property list (flags and values) as ``properties.decode`` and ``wire.decode`` take it.
    ``consumer_tag`` is set for DELIVER, ``delivery_tag`` for DELIVER and GET_OK, code and text for RETURN.
    """

    method: int
    channel: int
    consumer_tag: str
    delivery_tag: int
    redelivered: bool
    exchange: str
    routing_key: str
    reply_code: int
    reply_text: str
    properties: bytes
    body: bytes


class Confirm(msgspec.Struct, frozen=True, gc=False):
    """The broker's basic.ack (``accepted``) or basic.nack of publishes."""

    channel: int
    tag: int
    multiple: bool
    accepted: bool


class Raw(msgspec.Struct, frozen=True, gc=False):
    """One complete frame for pika, including the end octet."""

    frame: bytes


Event = Content | Confirm | Raw


class PublishFrames:
    """Builds the frames of basic.publish on one channel; caches the constant part per destination, bounded."""

    def __init__(self, channel: int, frame_max: int) -> None:
        self._channel = channel
        self._room = (frame_max or 131072) - _BARE
        self._methods = Cache(self._method)

    def frames(self, exchange: str, routing_key: str, mandatory: bool, properties: bytes, body: bytes) -> bytes:
        """Method, header and body frames of one message, joined; Unencodable if the header exceeds a frame."""
        method = self._methods[exchange, routing_key, mandatory]
        channel = self._channel
        size = len(body)
        head = 12 + len(properties)
        if head > self._room:
            raise Unencodable(
                f"headers and properties take {head} bytes, but a frame of this connection has room for {self._room}"
            )
        header = _pack_header(2, channel, head, 60, 0, size)
        if not size:
            return b"".join((method, header, properties, _END))
        if size <= self._room:
            return b"".join((method, header, properties, _END, _pack_body(3, channel, size), body, _END))
        parts: list[bytes | memoryview] = [method, header, properties, _END]
        view = memoryview(body)
        for start in range(0, size, self._room):
            piece = view[start : start + self._room]
            parts += (_pack_body(3, channel, len(piece)), piece, _END)
        return b"".join(parts)

    def _method(self, to: tuple[str, str, bool]) -> bytes:
        exchange, routing_key, mandatory = to
        payload = b"".join(
            (
                b"\0\x3c\0\x28\0\0",
                shortstr(exchange, "exchange's name"),
                shortstr(routing_key, "destination's name"),
                b"\1" if mandatory else b"\0",
            )
        )
        return _pack_body(1, self._channel, len(payload)) + payload + _END


def ack(channel: int, tag: int, multiple: bool = False) -> bytes:
    """A basic.ack frame."""
    return _pack_tag(1, channel, 13, 60, 80, tag, multiple, 0xCE)


def nack(channel: int, tag: int, multiple: bool = False) -> bytes:
    """A basic.nack frame that requeues."""
    return _pack_tag(1, channel, 13, 60, 120, tag, 2 | multiple, 0xCE)


class _Pending:
    """A message whose frames are still arriving on one channel."""

    __slots__ = ("body", "found", "missing", "payload", "properties")

    def __init__(self, found: int, payload: bytes) -> None:
        self.found = found
        self.payload = payload
        self.properties: bytes | None = None
        self.missing = 0
        self.body: list[bytes] = []


class FrameReader:
    """Splits the received bytes into events.

    It may be fed from the first byte that the broker sends: the handshake comes out as ``Raw``. It stores at most one
    frame and, per channel, one message of at most ``max_body``.
    """

    def __init__(self, frame_max: int = 131072, max_body: int = 512 * 1024 * 1024) -> None:
        self._frame_max = frame_max or 131072
        self._max_body = max_body
        self._room = min(self._frame_max - _BARE, max_body)
        self._rest = bytearray()
        self._need = 0
        self._pending: dict[int, _Pending] = {}

    def feed(self, data: bytes) -> list[Event]:
        """The events completed by these bytes, in wire order; Malformed ends the connection: feed no more."""
        if self._rest:
            self._rest += data
            if len(self._rest) < self._need:
                return []
            data = bytes(self._rest)
            self._rest.clear()
        events: list[Event] = []
        try:
            offset = self._read(data, events)
        except (IndexError, struct.error) as error:
            raise Malformed("a method of the broker is cut off within its frame") from error
        if offset < len(data):
            self._rest += memoryview(data)[offset:]
        return events

    def _read(self, data: bytes, events: list[Event]) -> int:
        """Read all complete frames; return the offset after the last. ``_need`` is the size of the next one."""
        offset, end = 0, len(data)
        pending = self._pending
        while end - offset >= 7:
            kind, channel, size = _read_frame(data, offset)
            if size > self._frame_max - _BARE + (_ADDED if kind == 2 else 0):
                raise Malformed(f"a frame has {size} bytes, but {self._frame_max} were agreed")
            start = offset + 7
            stop = start + size
            if stop >= end:
                self._need = size + 8
                return offset
            if data[stop] != 0xCE:
                raise Malformed("a frame does not end with the end octet")
            if kind == 1:
                if channel in pending:
                    raise Malformed(f"a method on channel {channel} interrupts a message")
                last = self._on_delivery(data, start, stop, channel, events)
                if last:
                    stop = last
                else:
                    self._on_method(data, start, stop, channel, events)
            elif kind == 2:
                self._on_header(data, start, stop, channel, events)
            elif kind == 3:
                self._on_body(data, start, stop, channel, events)
            else:
                events.append(Raw(data[offset : stop + 1]))
            offset = stop + 1
        self._need = 7
        return offset

    def _on_delivery(self, data: bytes, start: int, stop: int, channel: int, events: list[Event]) -> int:
        """Read a delivery whose three frames are complete, the common case; return the offset after them.

        Return 0 for anything else, which is then read frame by frame.
        """
        end = len(data)
        if data[start : start + 4] != _DELIVERS or end - stop <= _HEAD:
            return 0
        kind, number, size, family, _, length = _read_header(data, stop + 1)
        body = stop + 16 + size
        last: int = body + length
        if kind != 2 or number != channel or family != 60 or not 14 <= size <= self._room or last >= end:
            return 0
        kind, number, room = _read_frame(data, body - 7)
        if kind != 3 or number != channel or not 0 < room == length <= self._room:
            return 0
        if data[body - 8] != 0xCE or data[last] != 0xCE:
            return 0
        consumer_tag, tag, redelivered, (exchange, routing_key) = _delivered(data[start + 4 : stop])
        properties = data[stop + 20 : body - 8]
        events.append(
            Content(
                DELIVER,
                channel,
                consumer_tag,
                tag,
                redelivered,
                exchange,
                routing_key,
                0,
                "",
                properties,
                data[body:last],
            )
        )
        return last

    def _on_method(self, data: bytes, start: int, stop: int, channel: int, events: list[Event]) -> None:
        family, number = _read_method(data, start)
        if family == 60:
            if number in (DELIVER, GET_OK, RETURN):
                self._pending[channel] = _Pending(number, data[start + 4 : stop])
                return
            if number in (80, 120) and stop - start == 13:
                tag, flags = _read_tag(data, start + 4)
                events.append(Confirm(channel, tag, flags & 1 != 0, number == 80))
                return
        events.append(Raw(data[start - 7 : stop + 1]))

    def _on_header(self, data: bytes, start: int, stop: int, channel: int, events: list[Event]) -> None:
        pending = self._pending.get(channel)
        if pending is None or pending.properties is not None:
            raise Malformed(f"an unexpected content header on channel {channel}")
        family, _, size = _read_content(data, start)
        if family != 60 or stop - start < 14:
            raise Malformed("a content header without a message")
        if size > self._max_body:
            raise Malformed(f"a message of {size} bytes exceeds the limit of {self._max_body}")
        pending.properties = data[start + 12 : stop]
        pending.missing = size
        if not size:
            self._complete(pending, channel, b"", events)

    def _on_body(self, data: bytes, start: int, stop: int, channel: int, events: list[Event]) -> None:
        pending = self._pending.get(channel)
        if pending is None or pending.properties is None:
            raise Malformed(f"an unexpected body frame on channel {channel}")
        pending.missing -= stop - start
        if start == stop:
            raise Malformed(f"an empty body frame on channel {channel}")
        if pending.missing < 0:
            raise Malformed(f"a body on channel {channel} is longer than announced")
        piece = data[start:stop]
        if pending.missing:
            pending.body.append(piece)
        else:
            self._complete(pending, channel, b"".join((*pending.body, piece)) if pending.body else piece, events)

    def _complete(self, pending: _Pending, channel: int, body: bytes, events: list[Event]) -> None:
        del self._pending[channel]
        properties = pending.properties or b""
        payload = pending.payload
        number = pending.found
        consumer_tag, tag, redelivered, code, reason = "", 0, False, 0, ""
        if number == DELIVER:
            consumer_tag, tag, redelivered, (exchange, routing_key) = _delivered(payload)
        elif number == RETURN:
            code = _read_code(payload)[0]
            reason, offset = _short(payload, 2)
            exchange, routing_key = _routes[payload[offset:]]
        else:
            tag, flags = _read_tag(payload)
            redelivered = flags & 1 != 0
            exchange, routing_key = _routes[payload[9:-4]]  # the last 4 bytes are the number of messages left
        events.append(
            Content(
                number, channel, consumer_tag, tag, redelivered, exchange, routing_key, code, reason, properties, body
            )
        )


def _route(payload: bytes) -> tuple[str, str]:
    exchange, offset = _short(payload, 0)
    routing_key, offset = _short(payload, offset)
    if offset != len(payload):
        raise Malformed("the length of a method differs from that of its frame")
    return exchange, routing_key


_routes: Final = Cache(_route)  # exchange and routing key by the last bytes of a method
_texts: Final = Cache(text)  # consumer tags and names, which recur with every message


def _delivered(payload: bytes) -> tuple[str, int, bool, tuple[str, str]]:
    """Consumer tag, delivery tag, redelivered flag, and exchange and routing key of a basic.deliver."""
    consumer_tag, offset = _short(payload, 0)
    tag, flags = _read_tag(payload, offset)
    return consumer_tag, tag, flags & 1 != 0, _routes[payload[offset + 9 :]]


def _short(payload: bytes, offset: int) -> tuple[str, int]:
    start = offset + 1
    end = start + payload[offset]
    return _texts[payload[start:end]], end
