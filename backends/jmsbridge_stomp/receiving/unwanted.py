"""What a consumer is not to get, although the broker sends it. For the I/O thread."""

from jmsbridge.selectors import compile_selector
from jmsbridge.spi import Interest
from jmsbridge_stomp.messages.wire import Inbound

__all__ = ["Unwanted"]


class Unwanted:
    """``sender`` is the link's own name, for ``no_local``.

    In a transaction, what the facade would drop because of its selector is dropped here: it would fill the window until
    a commit.
    """

    def __init__(self, interest: Interest, sender: str, *, transacted: bool) -> None:
        self._own = sender if interest.no_local else None
        text = interest.selector if transacted and not interest.select else None
        self._selector = None if text is None else compile_selector(text)

    def has(self, inbound: Inbound) -> bool:
        """Whether the consumer is not to get it; it is then settled outside any transaction."""
        if self._own is not None and inbound.sender == self._own:
            return True
        return self._selector is not None and not self._selector.matches_envelope(inbound.envelope)
