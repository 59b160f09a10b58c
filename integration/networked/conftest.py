"""Fixtures for each networked backend: its broker, and connections that are checked for leaks."""

import importlib.util
import itertools
import os
from collections.abc import Callable, Iterator

import pytest

from integration.lab.broker import Broker
from integration.lab.external import External
from integration.lab.fixtures import unavailable
from integration.networked.connecting import connections
from integration.networked.schemes import Scheme, rows
from jmsbridge import Connection

_numbers = itertools.count(1)


@pytest.fixture(scope="session", params=rows())
def scheme(request: pytest.FixtureRequest) -> Scheme:
    """The backend under test; every test of this folder runs once for each."""
    row: Scheme = request.param
    if row.module is not None and importlib.util.find_spec(row.module) is None:
        unavailable(f"{row.name}: its client library {row.module} is not installed: pip install jmsbridge[brokers]")
    return row


@pytest.fixture(scope="session")
def broker(scheme: Scheme, request: pytest.FixtureRequest) -> Broker:
    """The broker of the scheme, shared by all tests, with its administration."""
    shared: Broker | External = request.getfixturevalue(scheme.broker)
    if isinstance(shared, External):
        unavailable(f"these tests administer the broker: unset {shared.kind.variable}")
    assert isinstance(shared, Broker)
    return shared


@pytest.fixture
def name() -> str:
    """A new name."""
    return f"networked-{os.getpid()}-{os.urandom(3).hex()}-{next(_numbers)}"


@pytest.fixture
def connect(scheme: Scheme, broker: Broker) -> Iterator[Callable[..., Connection]]:
    """``connections`` of the scheme."""
    with connections(scheme.plain, **scheme.chosen(broker)) as begin:
        yield begin
