"""All private names of pika that this backend uses, which a new version of pika may change.

Every connection uses ``NEEDED``, the fast path also ``NEEDED_FAST``. pika decodes floats as integers and has no small
integers, so it must pass content headers on unread.
"""

import struct
from collections.abc import Callable, Sequence
from typing import Any, Final

import pika
from pika import frame as pika_frame
from pika import spec
from pika.channel import Channel as PikaChannel

__all__ = ["NEEDED", "NEEDED_FAST", "Names", "PikaInside", "RawProperties", "check_pika", "lacking"]

Names = tuple[tuple[Any, tuple[str, ...]], ...]
"""Classes and modules of pika, with the private names that are used of each."""

NEEDED: Names = (
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
NEEDED_FAST: Names = (
    (pika.SelectConnection, ("_proto_connection_made", "_process_frame", "_send_method")),
    (pika_frame, ("decode_frame",)),
)

_RECEIVE: Final = 64 * 1024
_HEADER: Final = struct.Struct(">BHI")
_END_SIZE: Final = 1


class RawProperties:
    """A property list as bytes, in place of pika's BasicProperties."""

    INDEX = spec.BasicProperties.INDEX
    __slots__ = ("raw",)

    def __init__(self, raw: bytes) -> None:
        self.raw = raw

    def encode(self) -> list[bytes]:
        """For pika's ``frame.Header``."""
        return [self.raw]


class PikaInside(pika.SelectConnection):  # type: ignore[misc]
    """pika's connection, with public names for its private methods that are used or overridden.

    A subclass overrides ``put``, which gets the frames that pika writes, and ``received``, which gets what the socket
    received. Content headers are ``RawProperties``.
    """

    is_fast = False
    """Whether writes bypass pika's transport, and each read event does one large read."""
    _is_direct = False

    # -- out

    def put(self, data: bytes) -> None:
        """Write whole frames."""
        self.emit(data)

    def emit(self, data: bytes) -> None:
        """Write at once what the socket takes, if ``is_fast``; pika would wait for a write event first."""
        transport = self._transport if self._is_direct else None
        if transport is not None and not transport._tx_buffers and transport._sock is not None:
            try:
                sent = transport._sock.send(data)
            except OSError:  # full, or broken: pika gets the same error and handles it
                sent = 0
            if sent == len(data):
                return
            data = data[sent:]
        self._adapter_emit_data(data)

    def send_method(self, channel: int, method: Any) -> None:
        """Send a method without content."""
        self._send_method(channel, method)

    def confirm_select(self, channel: Any, done: Callable[[Any], None]) -> None:
        """Put a channel into confirm mode."""
        channel._rpc(spec.Confirm.Select(False), done, [spec.Confirm.SelectOk])

    def _output_marshaled_frames(self, marshaled_frames: Sequence[bytes]) -> None:
        self.put(b"".join(marshaled_frames))

    def _proto_connection_made(self, transport: Any) -> None:
        if self.is_fast:
            if hasattr(transport, "_MAX_RECV_BYTES"):
                transport._MAX_RECV_BYTES = _RECEIVE
            if type(transport).__name__ == "_AsyncPlaintextTransport" and hasattr(transport, "_MAX_CONSUME_BYTES"):
                transport._MAX_CONSUME_BYTES = 1  # one read for each read event
                self._is_direct = all(hasattr(transport, name) for name in ("_sock", "_tx_buffers"))
        super()._proto_connection_made(transport)

    # -- in

    def received(self, data: bytes) -> None:
        """Handle received bytes."""
        self.let_pika_read(data)

    def let_pika_read(self, data: bytes) -> None:
        """Let pika parse bytes."""
        super()._on_data_available(data)

    def let_pika_process(self, frame: bytes) -> None:
        """Let pika handle one frame."""
        self._process_frame(pika_frame.decode_frame(frame)[1])

    def _on_data_available(self, data_in: bytes) -> None:
        self.received(data_in)

    def _read_frame(self) -> tuple[int, Any]:
        data = self._frame_buffer
        if len(data) < 7 or data[0] != spec.FRAME_HEADER:
            return self._read_other()
        _, channel, size = _HEADER.unpack_from(data)
        end = 7 + size
        if len(data) <= end or data[end] != spec.FRAME_END:
            return self._read_other()  # incomplete or malformed: left to pika
        body_size = int.from_bytes(data[11:19], "big")
        return end + _END_SIZE, pika_frame.Header(channel, body_size, RawProperties(bytes(data[19:end])))

    def _read_other(self) -> tuple[int, Any]:
        read: tuple[int, Any] = super()._read_frame()
        return read

    # -- ends

    def break_off(self, error: Exception) -> None:
        """Close the socket without the protocol's close; the close callback follows."""
        if not self.is_closed:
            self._terminate_stream(error)


def lacking(names: Names) -> list[str]:
    """The names that this pika does not have."""
    return [f"{owner.__name__}.{name}" for owner, inside in names for name in inside if not hasattr(owner, name)]


def _reads_its_buffer() -> bool:
    """Whether pika's parser uses the buffer that ``_read_frame`` reads here."""
    sign = pika_frame.Heartbeat().marshal()
    unconnected = PikaInside.__new__(PikaInside)
    unconnected._frame_buffer = sign
    try:
        size, read = pika.SelectConnection._read_frame(unconnected)
    except Exception:
        return False
    return size == len(sign) and isinstance(read, pika_frame.Heartbeat)


def check_pika() -> None:
    """ImportError if this pika lacks a name of ``NEEDED``."""
    missing = lacking(NEEDED)
    if not missing and not _reads_its_buffer():
        missing = ["SelectConnection._frame_buffer"]
    if missing:
        raise ImportError(f"pika {pika.__version__} has no {', '.join(missing)}; install pika 1.3.0 to 1.4.4")


check_pika()
