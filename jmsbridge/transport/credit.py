"""Credit for a broker that only counts unsettled messages: what it pushes beyond the credit is held.

Everything here belongs to the I/O thread.
"""

from collections import deque
from collections.abc import Callable
from typing import Any

from jmsbridge.spi import Arrival, Inbox
from jmsbridge.transport.expiry import is_expired

__all__ = ["CreditGate"]


class CreditGate:
    """Hands arrivals to the inbox as far as credit allows, in order; the rest waits in ``held``.

    ``accept`` gets the token of each message that is handed over and presettled, ``expire`` that of each message that
    expired while it was held.
    """

    def __init__(self, inbox: Inbox, accept: Callable[[Any], None] | None, expire: Callable[[Any], None]) -> None:
        self.credit = 0
        self.held: deque[Arrival] = deque()
        self._inbox = inbox
        self._accept = accept
        self._expire = expire

    def hand_up(self) -> None:
        """Hand over what credit allows."""
        held, inbox, accept = self.held, self._inbox, self._accept
        while held and self.credit > 0:
            arrival = held.popleft()
            if is_expired(arrival.envelope):
                self._expire(arrival.token)
                continue
            self.credit -= 1
            if accept is not None:  # at hand-over: what is still held when the link dies is not lost
                accept(arrival.token)
            inbox.put(arrival)
