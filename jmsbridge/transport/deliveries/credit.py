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
    expired while it was held. With ``size_of``, which gets a token, ``held_size`` is the size of what was held by
    ``hold``.
    """

    def __init__(
        self,
        inbox: Inbox,
        accept: Callable[[Any], object] | None,
        expire: Callable[[Any], None],
        size_of: Callable[[Any], int] | None = None,
    ) -> None:
        self.credit = 0
        self.held: deque[Arrival] = deque()
        self.held_size = 0
        self._inbox = inbox
        self._accept = accept
        self._expire = expire
        self._size_of = size_of

    def hold(self, arrival: Arrival) -> None:
        """Take an arrival; ``hand_up`` passes it on."""
        self.held.append(arrival)
        if self._size_of is not None:
            self.held_size += self._size_of(arrival.token)

    def clear(self) -> None:
        """Forget what is held."""
        self.held.clear()
        self.held_size = 0

    def hand_up(self) -> None:
        """Pass on as many arrivals as the credit allows."""
        held, inbox, accept, size_of = self.held, self._inbox, self._accept, self._size_of
        while held and self.credit > 0:
            arrival = held.popleft()
            if size_of is not None:
                self.held_size -= size_of(arrival.token)
            if is_expired(arrival.envelope):
                self._expire(arrival.token)
                continue
            self.credit -= 1
            if accept is not None:  # only now, so that messages still held when the link is lost are not lost with it
                accept(arrival.token)
            inbox.put(arrival)
