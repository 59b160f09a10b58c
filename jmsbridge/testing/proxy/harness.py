"""The compliance suite through a fault proxy."""

import copy
from typing import Self

from jmsbridge.testing.harness import Harness
from jmsbridge.testing.proxy.fault_proxy import FaultProxy
from jmsbridge.testing.proxy.relay import Direction

__all__ = ["ProxiedHarness"]


class ProxiedHarness(Harness):
    """The harness of a networked broker: all of it goes through a fault proxy, ``proxy``, and ``cut`` cuts there.

    ``url`` is the broker's own, with its port.
    """

    def __init__(self, url: str) -> None:
        self._direct = url
        self.proxy = FaultProxy.to(url)
        super().__init__(self.proxy.through(url))

    def cut(self) -> None:
        """Reset every connection; new ones are let through."""
        self.proxy.cut()

    def freeze(self, direction: Direction | None = None) -> None:
        """The connections that there are pass nothing on any more, and stay until they are cut."""
        self.proxy.freeze(direction)

    def aside(self) -> Self:
        """The same broker by way of a proxy of its own."""
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
