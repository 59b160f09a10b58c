"""Brokers and Java programs for tests across the languages."""

import itertools
import os
from collections.abc import Iterator

import pytest

from integration.interop.clients import CLIENTS
from integration.interop.program import Program, build
from integration.lab.errors import BrokerUnavailable
from integration.lab.fixtures import unavailable

__all__ = ["interop", "name"]

_numbers = itertools.count(1)


def pytest_itemcollected(item: pytest.Item) -> None:
    """A JDK is needed, which ``make test`` does not ask for."""
    item.add_marker(pytest.mark.server)


def _rows() -> Iterator[object]:
    for client in CLIENTS:
        for flavour in client.flavours:
            yield pytest.param((client, flavour), id=flavour)


@pytest.fixture(scope="session", params=list(_rows()))
def interop(request: pytest.FixtureRequest) -> Program:
    """The Java side with a broker's own client, in each flavour of the API."""
    try:
        client, flavour = request.param
        return build(client.folder, client.program, flavour)
    except BrokerUnavailable as error:
        unavailable(str(error))
        raise


@pytest.fixture
def name() -> str:
    """A name that nobody used before."""
    return f"interop-{os.getpid()}-{os.urandom(3).hex()}-{next(_numbers)}"
