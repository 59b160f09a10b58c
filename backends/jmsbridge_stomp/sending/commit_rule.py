"""Asks a broker whether it refuses to commit a transaction of which it refused a frame. For the I/O thread.

If so, the frames of a transaction need no receipts, and ActiveMQ Classic, which writes each message with a receipt to
the disk by itself, writes only the commit. An option of the broker can switch the rule off, and then it would commit
the others and perhaps report the refused one later than the commit.
"""

from collections.abc import Callable
from typing import Final

from jmsbridge.spi import BackendError
from jmsbridge_stomp.connection.errors import Refusal
from jmsbridge_stomp.connection.stomp_socket import StompSocket

__all__ = ["CommitRule"]

_NAME: Final = "jb-rule"
_TRANSACTION: Final = ("transaction", _NAME)
_NOWHERE: Final = "ID:jmsbridge-tries-a-refusal-1-1"
"""A temporary queue of a connection that never was; the broker's report names it."""
_REFUSED: Final = f"destination:/remote-temp-queue/{_NOWHERE}\ntransaction:{_NAME}\n\n\0".encode()


class CommitRule:
    """Of one link. ``holds`` is None until the broker was asked, and False where it is not to be asked."""

    def __init__(self, *, asks: bool) -> None:
        self.holds: bool | None = None if asks else False

    def ask(self, socket: StompSocket, done: Callable[[], None]) -> None:
        """Ask over this socket, unless the answer is known; if the socket is lost, the next one is asked."""
        if self.holds is not None:
            done()
            return
        has_begun = False

        def began(error: Refusal | BackendError | None) -> None:
            nonlocal has_begun
            has_begun = error is None

        def committed(error: Refusal | BackendError | None) -> None:
            if error is None or isinstance(error, Refusal):
                self.holds = has_begun and error is not None
                socket.forget_refusal()
            done()

        socket.provoked = _NOWHERE
        socket.ask("BEGIN", [_TRANSACTION], began)
        socket.send(_REFUSED, None)
        socket.ask("COMMIT", [_TRANSACTION], committed)
