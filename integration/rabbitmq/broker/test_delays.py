"""Delays that the broker cannot implement: refused with their value, without leaving queues behind."""

import time
from collections.abc import Callable

import pytest

from integration.lab.broker import Broker
from integration.rabbitmq.support import Client
from jmsbridge.spi import AccessDenied, Address, NotSupported
from jmsbridge_rabbitmq.broker import delay_queues

Clients = Callable[..., Client]


def due(milliseconds: int) -> int:
    """The delivery time."""
    return time.time_ns() // 1_000_000 + milliseconds


def there(broker: Broker, part: str) -> list[str]:
    """Queues and exchanges with this in their names."""
    found = [*broker.admin.get("/api/queues/%2F"), *broker.admin.get("/api/exchanges/%2F")]
    return [each["name"] for each in found if part in each["name"]]


@pytest.mark.parametrize("topic", [False, True])
@pytest.mark.parametrize("delay", [delay_queues.LONGEST + 60_000, 10**15])
def test_a_delay_over_the_brokers_longest(broker: Broker, client: Client, name: str, delay: int, topic: bool) -> None:
    address = Address(name, topic=topic)
    error = client.ask(address, "too long", delivery_time=due(delay)).outcome()
    assert isinstance(error, NotSupported)
    assert str(address) in str(error)
    assert "exceeds the limit of RabbitMQ" in str(error)
    assert not there(broker, name)
    assert not there(broker, delay_queues.name_of(delay_queues.bucket(delay), ""))
    client.send(address, "the channel lives")


def test_the_longest_delay_is_accepted(broker: Broker, client: Client, name: str) -> None:
    client.send(Address(name), "in ten years or so", delivery_time=due(delay_queues.LONGEST))
    place = delay_queues.name_of(delay_queues.LONGEST, "")
    assert there(broker, place) == [place, place]
    broker.admin.delete(f"/api/queues/%2F/{place}")
    assert not there(broker, place)


def test_a_delay_without_permission(broker: Broker, clients: Clients, name: str) -> None:
    broker.admin.put(f"/api/users/{name}", {"password": "pw", "tags": ""})
    broker.admin.put(f"/api/permissions/%2F/{name}", {"configure": f"^{name}", "write": ".*", "read": ".*"})
    client = clients(broker, user=name, password="pw")
    client.send(Address(name), "may be made")
    delay = 7_950_000  # a delay that no other test uses
    error = client.ask(Address(name), "may not wait", delivery_time=due(delay)).outcome()
    assert isinstance(error, AccessDenied)
    assert str(error).startswith(f"delaying a message for queue '{name}' by 8,000,000 ms: RabbitMQ")
    place = delay_queues.name_of(8_000_000, "")
    assert f"'{place}'" in str(error)
    assert not there(broker, place)
