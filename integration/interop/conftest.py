"""Each row with its broker and its Java program, in each flavour of the API that the client has."""

import importlib.util
import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

import jmsbridge
from integration.interop.program import build
from integration.interop.way import Way, ways
from integration.lab.broker import Broker
from integration.lab.errors import BrokerUnavailable
from integration.lab.external import External
from integration.lab.fixtures import unavailable

__all__ = ["connect", "name", "way"]

_numbers = itertools.count(1)


def pytest_itemcollected(item: pytest.Item) -> None:
    """A JDK is needed, which ``make test`` does not ask for; the first test of a client compiles."""
    item.add_marker(pytest.mark.server)
    item.add_marker(pytest.mark.timeout(500))


@pytest.fixture(scope="session", params=ways())
def way(request: pytest.FixtureRequest) -> Way:
    """One row, with the client in one flavour of the API."""
    row, flavour = request.param
    if row.module is not None and importlib.util.find_spec(row.module) is None:
        unavailable(
            f"{row.name}: the client library {row.module} is not installed: pip install jmsbridge[{row.python}]"
        )
    broker: Broker | External = request.getfixturevalue(row.broker)
    try:
        return Way(row, broker, build(row.client.folder, flavour))
    except BrokerUnavailable as error:
        unavailable(str(error))
        raise


@pytest.fixture
def connect(way: Way) -> Iterator[Callable[..., jmsbridge.Connection]]:
    """Opens started connections by the row's scheme, with more options, which end with the test."""
    with ExitStack() as stack:

        def begin(**options: Any) -> jmsbridge.Connection:
            connection = stack.enter_context(jmsbridge.connect(way.url(**options)))
            connection.start()
            return connection

        yield begin


@pytest.fixture
def name() -> str:
    """A new name."""
    return f"interop-{os.getpid()}-{os.urandom(3).hex()}-{next(_numbers)}"
