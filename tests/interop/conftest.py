"""Brokers and Java programs for tests across the languages."""

import itertools
import os

import pytest

from integration.brokers.errors import BrokerUnavailable
from integration.brokers.fixtures import rabbitmq, unavailable
from integration.java.program import Program, build

__all__ = ["interop", "name", "rabbitmq"]

_numbers = itertools.count(1)


@pytest.fixture(scope="session", params=["jakarta", "javax"])
def interop(request: pytest.FixtureRequest) -> Program:
    """The Java side with RabbitMQ's own client, in both flavours of the API."""
    try:
        return build("rabbitmq", "Interop", request.param)
    except BrokerUnavailable as error:
        unavailable(str(error))
        raise


@pytest.fixture
def name() -> str:
    """A name that nobody used before."""
    return f"interop-{os.getpid()}-{os.urandom(3).hex()}-{next(_numbers)}"
