"""Asks a broker whether it refuses to commit a transaction of which it refused a frame. For the I/O thread.

If so, the frames of a transaction need no receipts, and ActiveMQ Classic, which writes each message with a receipt to
the disk by itself, writes only the commit. An option of the broker can switch the rule off, and then it would commit
the others and perhaps report the refused one later than the commit.
"""

from collections.abc import Callable
from typing import Final

from jmsbridge.spi import BackendError
from jmsbridge.transport.network.io_thread import IoThread
from jmsbridge_stomp.connection.errors import Refusal
from jmsbridge_stomp.connection.stomp_socket import StompSocket

__all__ = ["CommitRule"]

_NAME: Final = "jb-rule"
_TRANSACTION: Final = ("transaction", _NAME)
_REFUSED: Final = (
    b"destination:/remote-temp-queue/ID:jmsbridge-tries-a-refusal-1-1\ntransaction:%b\n\n\0" % _NAME.encode()
)
"""To a temporary queue of a connection that never was."""
_PATIENCE: Final = 1.0  # seconds for the report of the refused message, which may follow the answer to the commit


class CommitRule:
    """Of one link. ``holds`` is None until the broker was asked, and False where it is not to be asked."""

    def __init__(self, thread: IoThread, *, asks: bool) -> None:
        self.holds: bool | None = None if asks else False
        self._thread = thread

    def ask(self, socket: StompSocket, done: Callable[[], None]) -> None:
        """Ask over this socket, unless the answer is known; if the socket is lost, the next one is asked."""
        if self.holds is not None:
            done()
            return
        has_begun = is_over = False

        def began(error: Refusal | BackendError | None) -> None:
            nonlocal has_begun
            has_begun = error is None

        def committed(error: Refusal | BackendError | None) -> None:
            if error is not None and not isinstance(error, Refusal):
                end()
                return
            self.holds = has_begun and error is not None
            if self.holds and socket.stray is not None:  # the report would count for the next transaction
                self._thread.call_later(_PATIENCE, end)
            else:
                end()

        def reported(_: Refusal) -> None:
            socket.stray = None
            if self.holds:
                end()

        def end() -> None:
            nonlocal is_over
            if not is_over:
                is_over, socket.stray = True, None
                socket.forget_refusal()
                done()

        socket.stray = reported
        socket.ask("BEGIN", [_TRANSACTION], began)
        socket.send(_REFUSED, None)
        socket.ask("COMMIT", [_TRANSACTION], committed)
