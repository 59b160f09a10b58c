"""RabbitMQ 4 with classic queues: the shared broker of the run."""

from collections.abc import Iterator

import pytest

from integration.brokers import Broker
from integration.brokers.external import External
from integration.brokers.fixtures import rabbitmq
from jmsbridge.testing import Harness
from tests.suite_rabbitmq.support import RabbitHarness

__all__ = ["harness", "rabbitmq"]


@pytest.fixture
def harness(rabbitmq: Broker | External) -> Iterator[Harness]:
    """What every case of the suite asks for."""
    with RabbitHarness(rabbitmq.url()) as made:
        yield made
