"""Sessions of one connection that end at the same time: Artemis may keep its answer back for 2 seconds."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from integration.lab.broker import Broker
from integration.networked.conftest import name
from integration.networked.connecting import connect
from jmsbridge import Connection, MessageConsumer, Queue

__all__ = ["connect", "name"]

pytestmark = [pytest.mark.broker("artemis"), pytest.mark.server]


def test_consumers_that_close_at_the_same_time_close_soon(
    artemis: Broker, connect: Callable[..., Connection], name: str
) -> None:
    connection = connect(artemis.url("amqp"))

    def close(consumer: MessageConsumer) -> float:
        begun = time.monotonic()
        consumer.close()
        return time.monotonic() - begun

    took = list[float]()
    with ThreadPoolExecutor(4) as threads:
        for _ in range(10):
            consumers = [connection.create_session().create_consumer(Queue(name)) for _ in range(4)]
            took.extend(threads.map(close, consumers))
    assert max(took) < 0.7
