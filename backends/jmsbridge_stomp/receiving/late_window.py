"""How much of a queue a subscription takes in advance whose settlements come late. For the I/O thread.

The broker stops when the window is full of unsettled messages, however many more the application wants. So the window
is large, and when it is exhausted another subscription takes as much again. What the application has not asked for is
held, up to a number of bytes: then the socket is not read, and the broker waits. An answer that is waited for lets in
what lies before it. If that adds up on a broker that counts messages, the subscription is replaced, once the
application holds none of its messages, by one that asks for as many as fit.
"""

from typing import Final

from jmsbridge.spi import Interest
from jmsbridge.transport.deliveries.credit import CreditGate
from jmsbridge_stomp.connection.products import Product
from jmsbridge_stomp.receiving.receiver import Receiver

__all__ = ["LateWindow"]

_MOST: Final = 1 << 26  # bytes that are held before the socket is not read any more


class LateWindow:
    """For one subscription, and one receiver after the other. ``size`` is what the next one asks for."""

    def __init__(self, product: Product, interest: Interest, gate: CreditGate) -> None:
        self.size = product.late_window
        self._counts = product.window_unit == 1
        self._widens = not interest.address.topic or interest.shared  # another one at a topic would get copies
        self._gate = gate
        self._is_full = False
        self._came = self._came_size = 0

    def arrived(self, size: int) -> None:
        """A message has arrived; once it was handed up or held, ``look``."""
        self._came += 1
        self._came_size += size

    def look(self, receiver: Receiver) -> None:
        """What is held, unsettled or wanted has changed."""
        gate = self._gate
        if self._widens and gate.credit > 0 and receiver.is_exhausted:
            receiver.widen()
        is_full = gate.held_size >= (_MOST // 2 if self._is_full else _MOST)
        if is_full != self._is_full:
            self._is_full = is_full
            receiver.hold_back(is_full)

    @property
    def is_too_large(self) -> bool:
        """Whether to replace the receiver as soon as that is possible."""
        return self._counts and self._gate.held_size >= 2 * _MOST

    def ended(self) -> None:
        """The receiver is replaced."""
        self._is_full = False
        if self.is_too_large:
            self.size = max(1, min(self.size, self._came * _MOST // self._came_size))
