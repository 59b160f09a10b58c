"""Real brokers on this machine, for tests, benchmarks and users.

    with start("rabbitmq") as broker:                  # after: python -m integration.brokers fetch rabbitmq
        url = broker.url()                             # rabbitmq://jb:jbpass@127.0.0.1:23672
        broker.restart(kill=True)                      # also kill(), purge(), admin.get("/api/queues"), ctl(…), stop()

In pytest: `from integration.brokers.fixtures import own_broker, rabbitmq` in a conftest.py. On the command
line: `python -m integration.brokers --help`. For users: `docs/brokers.md`.
"""

from integration.brokers.broker import SERVERS, Broker
from integration.brokers.errors import BrokerError, BrokerFailed, BrokerUnavailable
from integration.brokers.starting import fetch, find, start

__all__ = ["SERVERS", "Broker", "BrokerError", "BrokerFailed", "BrokerUnavailable", "fetch", "find", "start"]
