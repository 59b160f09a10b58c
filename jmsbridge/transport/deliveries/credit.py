"""Credit for a broker that only counts unsettled messages: messages that it pushes beyond the credit are held.

For the I/O thread only.
"""

from collections import deque
from collections.abc import Callable
from typing import Any

from jmsbridge.spi import Arrival, Inbox
from jmsbridge.transport.deliveries.expiry import is_expired

__all__ = ["CreditGate"]


class CreditGate:
    """Passes arrivals to the inbox in order, as far as the credit allows; the rest waits in ``held``.

    ``accept`` gets the token of each presettled message that is passed on, ``expire`` the token of each message that
    expired while it was held.
    """

    def __init__(self, inbox: Inbox, accept: Callable[[Any], None] | None, expire: Callable[[Any], None]) -> None:
        self.credit = 0
        self.held: deque[Arrival] = deque()
        self._inbox = inbox
        self._accept = accept
        self._expire = expire

    def hand_up(self) -> None:
        """Pass on as many arrivals as the credit allows."""
        held, inbox, accept = self.held, self._inbox, self._accept
        while held and self.credit > 0:
            arrival = held.popleft()
            if is_expired(arrival.envelope):
                self._expire(arrival.token)
                continue
            self.credit -= 1
            if accept is not None:  # only now, so that messages still held when the link is lost are not lost with it
                accept(arrival.token)
            inbox.put(arrival)
