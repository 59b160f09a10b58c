"""The compliance suite through a fault proxy."""

from jmsbridge.testing.harness import Harness
from jmsbridge.testing.proxy.fault_proxy import FaultProxy

__all__ = ["ProxiedHarness"]


class ProxiedHarness(Harness):
    """The harness of a networked broker: all of it goes through a fault proxy, ``proxy``, and ``cut`` cuts there.

    ``url`` is the broker's own, with its port.
    """

    def __init__(self, url: str) -> None:
        self.proxy = FaultProxy.to(url)
        super().__init__(self.proxy.through(url))

    def cut(self) -> None:
        """Reset every connection; new ones are let through."""
        self.proxy.cut()

    def close(self) -> None:
        """Close what the test opened, then the proxy."""
        try:
            super().close()
        finally:
            self.proxy.close()
