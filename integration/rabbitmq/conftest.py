"""A real RabbitMQ that these tests may administer."""

import itertools
import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from integration.lab.broker import Broker
from integration.lab.external import External
from integration.lab.fixtures import unavailable
from integration.networked.connecting import connect
from integration.rabbitmq.support import Client

__all__ = ["broker", "client", "clients", "connect", "name"]

_numbers = itertools.count(1)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark all of these tests, also those that start their own broker."""
    item.add_marker(pytest.mark.broker("rabbitmq"))


@pytest.fixture
def name() -> str:
    """A new name."""
    return f"live-{os.getpid()}-{os.urandom(3).hex()}-{next(_numbers)}"


@pytest.fixture
def broker(rabbitmq: Broker | External) -> Broker:
    """The shared broker, with its administration."""
    if isinstance(rabbitmq, External):
        unavailable("these tests administer the broker: unset JMSBRIDGE_RABBITMQ_URL")
    assert isinstance(rabbitmq, Broker)
    return rabbitmq


@pytest.fixture
def clients() -> Iterator[Callable[..., Client]]:
    """Make clients that are closed at the end of the test."""
    made: list[Client] = []

    def begin(broker: Broker, **options: Any) -> Client:
        made.append(Client(broker, **options))
        return made[-1]

    yield begin
    for each in reversed(made):
        each.close()


@pytest.fixture
def client(broker: Broker, clients: Callable[..., Client]) -> Client:
    """One client of the shared broker."""
    return clients(broker)
