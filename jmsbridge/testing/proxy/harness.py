"""The compliance suite through a fault proxy."""

import copy
from typing import Self

from jmsbridge.testing.harness import Harness
from jmsbridge.testing.proxy.fault_proxy import FaultProxy
from jmsbridge.testing.proxy.relay import Direction

__all__ = ["ProxiedHarness"]


class ProxiedHarness(Harness):
    """A harness that reaches a networked broker through a fault proxy, ``proxy``, and cuts links there.

    ``url`` is the URL of the broker itself, with its port.
    """

    def __init__(self, url: str) -> None:
        self._direct = url
        self.proxy = FaultProxy.to(url)
        super().__init__(self.proxy.through(url))

    def cut(self) -> None:
        """Reset every connection; new ones pass."""
        self.proxy.cut()

    def freeze(self, direction: Direction | None = None) -> None:
        """Stop forwarding on the existing connections, in this direction or in both; they stay open until cut."""
        self.proxy.freeze(direction)

    def aside(self) -> Self:
        """A harness of the same broker through another proxy."""
        other = copy.copy(self)
        ProxiedHarness.__init__(other, self._direct)
        self.closing(other.close)
        return other

    def close(self) -> None:
        """Close what the test opened, then the proxy."""
        try:
            super().close()
        finally:
            self.proxy.close()
