"""How the compliance suite reaches RabbitMQ: the shared broker of the run, through a fault proxy for each test."""

from collections.abc import Iterator

import pytest

import jmsbridge_rabbitmq
from integration.brokers import Broker
from integration.brokers.external import External
from integration.brokers.fixtures import rabbitmq
from jmsbridge import Queue
from jmsbridge.spi import registry
from jmsbridge.testing import Harness
from jmsbridge.testing.proxy import ProxiedHarness

__all__ = ["harness", "rabbitmq"]

if "rabbitmq" not in registry.names():  # a bare checkout: nothing is installed, so there is no entry point
    registry.register("rabbitmq", jmsbridge_rabbitmq.backend)


class RabbitHarness(ProxiedHarness):
    """Each test has a dead-letter queue of its own."""

    def __init__(self, url: str) -> None:
        self.dead_letters = Queue(self.name("dlq"))
        super().__init__(f"{url}?dead_letter_queue={self.dead_letters.queue_name}")


@pytest.fixture
def harness(rabbitmq: Broker | External) -> Iterator[Harness]:
    """What every case of the suite asks for."""
    with RabbitHarness(rabbitmq.url()) as made:
        yield made
