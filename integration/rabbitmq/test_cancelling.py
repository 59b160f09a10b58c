"""Programs of asyncio that are cancelled at every ``await``, on RabbitMQ."""

import os

import pytest

from integration.lab.broker import Broker
from jmsbridge import Queue
from tests.aio.test_cancelled_programs import (
    test_a_receive_loses_and_marks_nothing,
    test_sends_are_in_doubt_or_not_sent_and_keep_their_order,
    test_transactions_move_each_message_once,
)

__all__ = [
    "test_a_receive_loses_and_marks_nothing",
    "test_sends_are_in_doubt_or_not_sent_and_keep_their_order",
    "test_transactions_move_each_message_once",
]

pytestmark = [
    pytest.mark.broker("rabbitmq"),
    pytest.mark.server,
    pytest.mark.filterwarnings("ignore:.*transaction:jmsbridge.EmulationWarning"),
]


@pytest.fixture
def target(rabbitmq: Broker) -> str:
    """Its URL."""
    return rabbitmq.url()


@pytest.fixture
def queue() -> Queue:
    """A queue of the test's own."""
    return Queue(f"cancelled-{os.urandom(6).hex()}")
