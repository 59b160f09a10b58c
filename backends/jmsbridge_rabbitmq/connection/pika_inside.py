"""All private names of pika that this backend uses, which a new version of pika may change."""

from collections.abc import Sequence
from typing import Any, Final

import pika

__all__ = ["NEEDED", "PikaInside", "check_pika"]

NEEDED: Final = (
    "_adapter_emit_data",
    "_on_data_available",
    "_output_marshaled_frames",
    "_proto_connection_made",
    "_terminate_stream",
)
"""The private methods of pika's ``SelectConnection`` that are called or overridden."""

_RECEIVE: Final = 64 * 1024


class PikaInside(pika.SelectConnection):  # type: ignore[misc]
    """pika's connection, with public names for its private methods that are used or overridden.

    A subclass overrides ``put``, which gets the frames that pika writes, and ``received``, which gets what the socket
    received.
    """

    _is_direct = False

    # -- out

    def put(self, data: bytes) -> None:
        """Write whole frames."""
        self.emit(data)

    def emit(self, data: bytes) -> None:
        """Write at once what the socket takes; pika would wait for a write event first."""
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

    def _output_marshaled_frames(self, marshaled_frames: Sequence[bytes]) -> None:
        self.put(b"".join(marshaled_frames))

    def _proto_connection_made(self, transport: Any) -> None:
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
        """Let pika handle whole frames."""
        super()._on_data_available(data)

    def _on_data_available(self, data_in: bytes) -> None:
        self.received(data_in)

    # -- ends

    def break_off(self, error: Exception) -> None:
        """Close the socket without the protocol's close; the close callback follows."""
        if not self.is_closed:
            self._terminate_stream(error)


def check_pika() -> None:
    """ImportError if this pika lacks a name of ``NEEDED``."""
    missing = [f"SelectConnection.{name}" for name in NEEDED if not hasattr(pika.SelectConnection, name)]
    if missing:
        raise ImportError(f"pika {pika.__version__} has no {', '.join(missing)}; install pika 1.3.0 to 1.4.4")


check_pika()
