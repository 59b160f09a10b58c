"""A real RabbitMQ, and fixtures for what goes wrong with it as an application sees it."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import jmsbridge
from integration.lab.broker import Broker
from integration.lab.fixtures import own_broker, rabbitmq
from integration.rabbitmq.conftest import broker, name
from jmsbridge import Connection
from jmsbridge.testing.suite.support import eventually

__all__ = ["broker", "connect", "name", "own_broker", "rabbitmq"]


@pytest.fixture
def connect(request: pytest.FixtureRequest) -> Iterator[Callable[..., Connection]]:
    """Makes started connections; at the end they close, and no thread of theirs is left."""
    before = set(threading.enumerate())
    made: list[Connection] = []

    def begin(to: Broker | str, **options: Any) -> Connection:
        url = to if isinstance(to, str) else to.url()
        made.append(jmsbridge.connect(url, **{"reconnect_delay": 0.05, "send_timeout": 20.0, **options}))
        made[-1].start()
        return made[-1]

    yield begin
    for each in made:
        each.close()
    eventually(lambda: not [one for one in threading.enumerate() if one not in before and "jmsbridge-" in one.name], 15)
