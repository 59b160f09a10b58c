"""A shared subscription that is not durable outlives its consumers for a minute, so that a reconnect finds it."""

from collections.abc import Callable

from integration.lab.broker import Broker
from integration.rabbitmq.support import Client
from jmsbridge.spi import Address
from jmsbridge.testing.proxy import FaultProxy
from jmsbridge.testing.suite.support import eventually

Clients = Callable[..., Client]


def test_the_subscription_exists_for_a_minute_without_consumers(broker: Broker, clients: Clients, name: str) -> None:
    topic, queue = Address(f"{name}-topic", topic=True), f"/api/queues/%2F/jms-cons-shared-.{name}"
    with FaultProxy.to(broker.url()) as proxy:
        first = clients(None, url=proxy.through(broker.url()))
        first.consume(topic, key=name, shared=True)
        made = broker.admin.get(queue)
        assert made["arguments"]["x-expires"] == 60_000
        assert (made["durable"], made["auto_delete"], made["exclusive"]) == (True, False, False)
        proxy.cut()
        eventually(lambda: first.log.losses, 10.0)
    second = clients(broker)
    eventually(lambda: second.link.describe(Address(f"jms-cons-shared-.{name}")).consumers == 0, 10.0)
    second.send(topic, "meanwhile")
    subscription, box = second.consume(topic, 1, key=name, shared=True)
    assert box.wait(1, 10.0)[0].envelope.body == "meanwhile"
    subscription.close()
