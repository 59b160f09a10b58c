"""Brokers and Java programs for tests across the languages."""

import itertools
import os

import pytest

from integration.interop.program import Program, build
from integration.lab.errors import BrokerUnavailable
from integration.lab.fixtures import unavailable

__all__ = ["interop", "name"]

_numbers = itertools.count(1)


def pytest_itemcollected(item: pytest.Item) -> None:
    """A JDK is needed, which ``make test`` does not ask for."""
    item.add_marker(pytest.mark.server)


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
