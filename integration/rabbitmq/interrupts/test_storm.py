"""Real signals at random moments, on a real RabbitMQ: see ``tests/core/interrupts/test_storm.py``."""

import pytest

from integration.lab.broker import Broker
from tests.core.interrupts.runs import SHORT, run_storm

QUEUES = pytest.mark.parametrize("queue_type", ["classic", "quorum"])


@pytest.mark.timeout(180)
@QUEUES
def test_interrupted_calls_lose_nothing(broker: Broker, queue_type: str) -> None:
    run_storm(f"{broker.url()}?queue_type={queue_type}", SHORT)


@pytest.mark.long
@pytest.mark.timeout(900)
@QUEUES
def test_interrupted_calls_lose_nothing_for_minutes(broker: Broker, queue_type: str) -> None:
    run_storm(f"{broker.url()}?queue_type={queue_type}", 600.0)
