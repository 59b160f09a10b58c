"""RabbitMQ 3.10, the old generation: the shared broker of the run."""

from collections.abc import Iterator

import pytest

from integration.brokers import Broker
from integration.brokers.external import External
from integration.brokers.fixtures import rabbitmq3
from jmsbridge.testing import Harness
from tests.suite_rabbitmq.support import RabbitHarness

__all__ = ["harness", "rabbitmq3"]


@pytest.fixture
def harness(rabbitmq3: Broker | External) -> Iterator[Harness]:
    """What every case of the suite asks for."""
    with RabbitHarness(rabbitmq3.url()) as made:
        yield made
