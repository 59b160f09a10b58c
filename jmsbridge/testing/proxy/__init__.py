"""A bad network in front of a broker: delay, bandwidth, cuts, half-open and refused connections.

``python -m jmsbridge.testing.proxy HOST:PORT`` runs one by hand. In a program or a test::

    with FaultProxy("127.0.0.1", 5672) as proxy:
        connection = jmsbridge.connect(proxy.through("rabbitmq://127.0.0.1"))
        proxy.delay = 0.02  # 20 ms per round trip
        proxy.cut()

It does not interpret the traffic, so it works with any broker and with TLS. One thread serves all connections. The
pytest fixture ``fault_proxy`` creates a proxy for one test, and ``ProxiedHarness`` runs the compliance suite through
one.
"""

from jmsbridge.testing.proxy.fault_proxy import FaultProxy
from jmsbridge.testing.proxy.harness import ProxiedHarness
from jmsbridge.testing.proxy.relay import Direction, End

__all__ = ["Direction", "End", "FaultProxy", "ProxiedHarness"]
